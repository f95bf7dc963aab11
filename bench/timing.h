#pragma once

#include <ctime>

#include <algorithm>
#include <chrono>
#include <vector>

namespace blindfl::bench {

/// This thread's processor time in seconds: waiting does not count, other processes hardly.
inline double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Of an odd number of values the middle one, of an even number the upper of the two.
inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

class Stopwatch {
 public:
  /// Notes the milliseconds since the last lap, and begins the next.
  void lap() {
    const auto now = Clock::now();
    laps_.push_back(std::chrono::duration<double, std::milli>(now - last_).count());
    last_ = now;
  }
  /// Begins a lap here; what went before is not counted.
  void restart() { last_ = Clock::now(); }
  [[nodiscard]] double median_lap() const { return median(laps_); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_ = Clock::now();
  std::vector<double> laps_;
};

}  // namespace blindfl::bench

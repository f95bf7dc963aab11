#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace blindfl {

/// Adds up time, of all threads that it is used by.
class Stopwatch {
 public:
  /// Runs until the end of its scope, also where that is an exception.
  class Lap {
   public:
    explicit Lap(Stopwatch& watch) : watch_(watch), begin_(Clock::now()) {}
    Lap(const Lap&) = delete;
    Lap& operator=(const Lap&) = delete;
    ~Lap() {
      watch_.nanoseconds_ += std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin_).count();
    }

   private:
    using Clock = std::chrono::steady_clock;
    Stopwatch& watch_;
    Clock::time_point begin_;
  };

  [[nodiscard]] double seconds() const { return static_cast<double>(nanoseconds_) * 1e-9; }

 private:
  std::atomic<std::int64_t> nanoseconds_ = 0;
};

}  // namespace blindfl

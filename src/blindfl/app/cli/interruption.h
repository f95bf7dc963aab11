#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

namespace blindfl::app {

/// While it exists, Ctrl-C and SIGTERM call a function instead of ending the process, whatever threads there are. Of
/// several, each hears of every signal.
class Interruption {
 public:
  Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  ~Interruption();

  /// What to call, on a thread of its own. At once, if the signal came before.
  void on_interrupt(std::function<void()> stop);
  /// No longer what was set, whose objects may go now.
  void ignore();
  [[nodiscard]] bool happened() const { return happened_; }

 private:
  void wait();

  std::mutex mutex_;
  std::function<void()> stop_;
  std::atomic<bool> happened_ = false;
  std::atomic<bool> over_ = false;
  unsigned seen_ = 0;  ///< signals that were acted on
  std::thread thread_;
};

}  // namespace blindfl::app

#pragma once

#include <csignal>

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

namespace blindfl::app {

/// While it exists, Ctrl-C and SIGTERM call a function instead of ending the process. To be made before other threads
/// are, which then leave these signals alone too.
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

  sigset_t signals_{};
  sigset_t before_{};
  std::mutex mutex_;
  std::function<void()> stop_;
  std::atomic<bool> happened_ = false;
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

}  // namespace blindfl::app

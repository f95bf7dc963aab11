#include "blindfl/app/cli/interruption.h"

#include <csignal>

#include <chrono>
#include <utility>

namespace blindfl::app {

namespace {

constexpr auto kTick = std::chrono::milliseconds(50);

// All that a handler may do is count. Blocking the signals instead would not do: libraries start threads when they are
// loaded, before anybody could tell them to block anything, and a signal goes to any thread that takes it.
std::atomic<unsigned> signals_so_far = 0;
static_assert(std::atomic<unsigned>::is_always_lock_free);

extern "C" void count_signal(int /*signal*/) {
  signals_so_far.fetch_add(1, std::memory_order_relaxed);
}

/// The handlers, from the first object that wants them to the last.
class Handlers {
 public:
  void take() {
    const std::lock_guard lock(mutex_);
    if (users_++ > 0) return;
    struct sigaction counting {};
    counting.sa_handler = count_signal;
    counting.sa_flags = SA_RESTART;
    sigemptyset(&counting.sa_mask);
    sigaction(SIGINT, &counting, &before_int_);
    sigaction(SIGTERM, &counting, &before_term_);
  }

  void give_back() {
    const std::lock_guard lock(mutex_);
    if (--users_ > 0) return;
    sigaction(SIGINT, &before_int_, nullptr);
    sigaction(SIGTERM, &before_term_, nullptr);
  }

 private:
  std::mutex mutex_;
  unsigned users_ = 0;
  struct sigaction before_int_ {};
  struct sigaction before_term_ {};
};

Handlers& handlers() {
  static Handlers only;
  return only;
}

}  // namespace

Interruption::Interruption() : seen_(signals_so_far) {
  handlers().take();
  thread_ = std::thread([this] { wait(); });
}

Interruption::~Interruption() {
  over_ = true;
  thread_.join();
  handlers().give_back();
}

void Interruption::on_interrupt(std::function<void()> stop) {
  const std::lock_guard lock(mutex_);
  stop_ = std::move(stop);
  if (happened_) stop_();
}

void Interruption::ignore() {
  const std::lock_guard lock(mutex_);
  stop_ = nullptr;
}

void Interruption::wait() {
  for (; !over_; std::this_thread::sleep_for(kTick)) {
    for (; seen_ != signals_so_far; ++seen_) {
      const std::lock_guard lock(mutex_);
      happened_ = true;
      if (stop_) stop_();
    }
  }
}

}  // namespace blindfl::app

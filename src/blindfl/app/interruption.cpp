#include "blindfl/app/interruption.h"

#include <ctime>
#include <utility>

namespace blindfl::app {

Interruption::Interruption() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  // Signals that every thread blocks wait for the one that asks for them: a handler could not take locks.
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  thread_ = std::thread([this] { wait(); });
}

Interruption::~Interruption() {
  over_ = true;
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
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
  const timespec tick{0, 50'000'000};
  while (!over_) {
    if (sigtimedwait(&signals_, nullptr, &tick) < 0) continue;
    const std::lock_guard lock(mutex_);
    happened_ = true;
    if (stop_) stop_();
  }
}

}  // namespace blindfl::app

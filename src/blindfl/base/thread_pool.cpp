#include "blindfl/base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <utility>

#include "blindfl/base/error.h"

namespace blindfl {

ThreadPool::ThreadPool(std::size_t threads) {
  require<InvalidArgument>(threads >= 1, "a thread pool needs at least 1 thread");
  try {
    for (std::size_t i = 1; i < threads; ++i) {
      workers_.emplace_back([this] { work(); });
    }
  } catch (...) {
    stop();  // the system has no thread left to give: join those there are
    throw;
  }
}

ThreadPool::~ThreadPool() {
  stop();
}

void ThreadPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::work() {
  while (true) {
    std::function<void()> task;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop();
    }
    task();
  }
}

namespace {

// One loop in flight. Whoever takes part draws piece after piece; the caller waits for the pieces, not for the
// workers, so a worker that wakes up late finds nothing left and touches nothing but this.
struct Loop {
  std::size_t count;
  std::size_t piece;
  std::size_t pieces;
  const std::function<void(std::size_t, std::size_t)>* body;
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> done{0};
  std::mutex mutex;
  std::condition_variable finished;
  std::exception_ptr error;

  void run() {
    for (std::size_t i = next.fetch_add(1); i < pieces; i = next.fetch_add(1)) {
      try {
        (*body)(i * piece, std::min(count, (i + 1) * piece));
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
      }
      if (done.fetch_add(1) + 1 == pieces) {
        const std::lock_guard lock(mutex);
        finished.notify_all();
      }
    }
  }
};

}  // namespace

void ThreadPool::parallel_for(std::size_t count, std::size_t grain,
                              const std::function<void(std::size_t, std::size_t)>& body) {
  if (count == 0) return;
  // A few pieces per thread even out the load without many hand-overs.
  const std::size_t most = 4 * size();
  const std::size_t piece = std::min(count, std::max({std::size_t{1}, grain, (count - 1) / most + 1}));
  const std::size_t pieces = (count - 1) / piece + 1;
  if (workers_.empty() || pieces == 1) {
    body(0, count);
    return;
  }

  const auto loop = std::make_shared<Loop>();
  loop->count = count;
  loop->piece = piece;
  loop->pieces = pieces;
  loop->body = &body;
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < std::min(workers_.size(), pieces - 1); ++i) {
      tasks_.emplace([loop] { loop->run(); });
    }
  }
  wake_.notify_all();
  loop->run();
  std::unique_lock lock(loop->mutex);
  loop->finished.wait(lock, [&] { return loop->done.load() == pieces; });
  // Taken out first: a worker that lets go of the loop later must not be the one to free the exception.
  if (const std::exception_ptr error = std::exchange(loop->error, nullptr)) std::rethrow_exception(error);
}

}  // namespace blindfl

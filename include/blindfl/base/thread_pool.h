#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

namespace blindfl {

/// A fixed set of threads that share out loops.
class ThreadPool {
 public:
  /// `threads` counts the calling thread: 1 does all work in the caller, and starts nothing.
  explicit ThreadPool(std::size_t threads = 1);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool();

  [[nodiscard]] std::size_t size() const { return workers_.size() + 1; }

  /// Runs `body(begin, end)` over pieces that cover [0, count) once; returns when all are done.
  /// Pieces but the last hold at least `grain` items. What a piece throws is thrown here, the first of them.
  void parallel_for(std::size_t count, std::size_t grain, const std::function<void(std::size_t, std::size_t)>& body);

 private:
  void work();
  void stop();

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::queue<std::function<void()>> tasks_;
  bool stopping_ = false;
};

}  // namespace blindfl

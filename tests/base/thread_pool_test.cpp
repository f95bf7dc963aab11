#include "blindfl/base/thread_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"

namespace blindfl::thread_pool_test {
namespace {

using ::testing::StrEq;
using ::testing::ThrowsMessage;
using Piece = std::pair<std::size_t, std::size_t>;

std::vector<Piece> pieces_of(ThreadPool& pool, std::size_t count, std::size_t grain) {
  std::mutex mutex;
  std::vector<Piece> pieces;
  pool.parallel_for(count, grain, [&](std::size_t begin, std::size_t end) {
    const std::lock_guard lock(mutex);
    pieces.emplace_back(begin, end);
  });
  std::ranges::sort(pieces);
  return pieces;
}

std::size_t sum_below(ThreadPool& pool, std::size_t count) {
  std::atomic<std::size_t> sum = 0;
  pool.parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) sum += i;
  });
  return sum;
}

class ThreadPoolOf : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolOf, ::testing::Values(1, 2, 3, 4));

TEST_P(ThreadPoolOf, CoversTheRangeExactlyOnce) {
  ThreadPool pool(GetParam());
  for (const std::size_t count : {0, 1, 2, 3, 4, 7, 15, 16, 17, 31, 100, 1000, 4097}) {
    for (const std::size_t grain : {0, 1, 2, 3, 16, 64, 999, 1000, 5000}) {
      const std::vector<Piece> pieces = pieces_of(pool, count, grain);
      std::size_t covered = 0;
      for (const auto& [begin, end] : pieces) {
        ASSERT_EQ(begin, covered) << count << " items, grain " << grain;
        ASSERT_LT(begin, end) << count << " items, grain " << grain;
        covered = end;
        if (end != count) {
          ASSERT_GE(end - begin, grain) << count << " items";
        }
      }
      ASSERT_EQ(covered, count) << "grain " << grain;
    }
  }
}

TEST_P(ThreadPoolOf, HasItsSize) {
  EXPECT_EQ(ThreadPool(GetParam()).size(), GetParam());
}

TEST_P(ThreadPoolOf, PassesOnAnErrorAndGoesOnWorking) {
  ThreadPool pool(GetParam());
  for (std::size_t bad = 0; bad < 20; ++bad) {
    std::atomic<int> running = 0;
    EXPECT_THAT(
        [&] {
          pool.parallel_for(20, 1, [&](std::size_t begin, std::size_t end) {
            ++running;
            const bool found = begin <= bad && bad < end;
            --running;
            require<DataError>(!found, "item ", bad);
          });
        },
        ThrowsMessage<DataError>(StrEq("item " + std::to_string(bad))));
    EXPECT_EQ(running, 0);
    EXPECT_EQ(sum_below(pool, 100), 4950U);
  }
}

TEST_P(ThreadPoolOf, ThrowsOneErrorIfAllPiecesFail) {
  ThreadPool pool(GetParam());
  EXPECT_THROW(pool.parallel_for(100, 1, [](std::size_t, std::size_t) { fail<DataError>("all"); }), DataError);
  EXPECT_EQ(sum_below(pool, 100), 4950U);
}

TEST_P(ThreadPoolOf, ServesManyShortLoops) {
  ThreadPool pool(GetParam());
  for (std::size_t i = 0; i < 500; ++i) ASSERT_EQ(sum_below(pool, i), i < 2 ? 0 : i * (i - 1) / 2);
}

TEST(ThreadPool, NeedsAThread) {
  EXPECT_THROW(ThreadPool(0), InvalidArgument);
}

TEST(ThreadPool, HasOneThreadUnlessAsked) {
  EXPECT_EQ(ThreadPool().size(), 1U);
}

TEST(ThreadPool, OfOneThreadRunsInTheCaller) {
  ThreadPool pool(1);
  const std::thread::id caller = std::this_thread::get_id();
  int calls = 0;
  pool.parallel_for(1000, 1, [&](std::size_t, std::size_t) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    ++calls;
  });
  EXPECT_GE(calls, 1);
}

TEST(ThreadPool, OfSeveralThreadsRunsPiecesAtTheSameTime) {
  constexpr std::size_t kThreads = 3;
  ThreadPool pool(kThreads);
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t inside = 0;
  // Nobody leaves before all are inside.
  pool.parallel_for(kThreads, 1, [&](std::size_t, std::size_t) {
    std::unique_lock lock(mutex);
    ++inside;
    changed.notify_all();
    EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return inside == kThreads; }));
  });
  EXPECT_EQ(inside, kThreads);
}

TEST(ThreadPool, ReturnsOnlyWhenAllPiecesAreDone) {
  ThreadPool pool(4);
  for (int round = 0; round < 200; ++round) {
    const std::thread::id caller = std::this_thread::get_id();
    std::atomic<std::size_t> done = 0;
    pool.parallel_for(16, 1, [&](std::size_t begin, std::size_t end) {
      // The other threads dawdle, so that the caller is ready before them.
      for (int i = 0; i < 20 && std::this_thread::get_id() != caller; ++i) std::this_thread::yield();
      done += end - begin;
    });
    ASSERT_EQ(done, 16U) << "round " << round;
  }
}

TEST(ThreadPool, WorksBesideAnother) {
  const auto use_a_pool = [] {
    ThreadPool pool(3);
    for (std::size_t i = 0; i < 200; ++i) EXPECT_EQ(sum_below(pool, 100), 4950U);
  };
  std::thread first(use_a_pool);
  std::thread second(use_a_pool);
  first.join();
  second.join();
}

}  // namespace
}  // namespace blindfl::thread_pool_test

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "blindfl/base/aligned.h"

namespace blindfl::he::lattice {

/// Memory for polynomials that are needed for a moment: lent, given back, lent again, because fresh memory costs as
/// much as the work on it. It may hold secrets, and is cleared when the pool is destroyed. For any thread.
class ScratchPool {
 public:
  using Memory = AlignedSecret<std::uint64_t>;
  /// Between two pieces of a lease: at distances of a power of two, polynomials would compete for the same lines of the
  /// caches.
  static constexpr std::size_t kGap = 64;
  static constexpr std::size_t kMostSpare = 64;

  class Lease {
   public:
    Lease(ScratchPool& pool, Memory memory) : pool_(&pool), memory_(std::move(memory)) {}
    Lease(Lease&& other) noexcept : pool_(std::exchange(other.pool_, nullptr)), memory_(std::move(other.memory_)) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (pool_ != nullptr) pool_->give_back(std::move(memory_));
    }

    /// The next `n` numbers, with no particular values. Together no more than the lease has.
    [[nodiscard]] std::span<std::uint64_t> take(std::size_t n) {
      const auto taken = std::span(memory_).subspan(used_, n);
      used_ += (n + 7) / 8 * 8 + kGap;
      return taken;
    }
    /// The same, seen as signed numbers.
    [[nodiscard]] std::span<std::int64_t> take_signed(std::size_t n) {
      return {reinterpret_cast<std::int64_t*>(take(n).data()), n};
    }
    /// And as reals.
    [[nodiscard]] std::span<double> take_reals(std::size_t n) { return {reinterpret_cast<double*>(take(n).data()), n}; }

   private:
    ScratchPool* pool_;
    Memory memory_;
    std::size_t used_ = 0;
  };

  /// Memory for `pieces` to take, of together at most `words` numbers.
  [[nodiscard]] Lease lease(std::size_t words, std::size_t pieces = 1) {
    words += pieces * (kGap + 8);
    const std::lock_guard lock(mutex_);
    const auto fits = std::ranges::find_if(spare_, [&](const Memory& m) { return m.size() >= words; });
    if (fits != spare_.end()) {
      Lease lease(*this, std::move(*fits));
      spare_.erase(fits);
      return lease;
    }
    if (spare_.size() > kMostSpare) spare_.erase(spare_.begin());
    return {*this, Memory(words)};
  }

 private:
  void give_back(Memory memory) noexcept try {
    const std::lock_guard lock(mutex_);
    const auto larger = std::ranges::find_if(spare_, [&](const Memory& m) { return m.size() >= memory.size(); });
    spare_.insert(larger, std::move(memory));
  } catch (const std::bad_alloc&) {
    // Then it is freed instead, which is as good when there is none.
  }

  std::mutex mutex_;
  std::vector<Memory> spare_;  // the smallest first
};

}  // namespace blindfl::he::lattice

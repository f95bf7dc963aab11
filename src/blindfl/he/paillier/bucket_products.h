#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "blindfl/base/int128.h"
#include "blindfl/he/paillier/scalar_task.h"

// Rows in groups of g, and exponents bit by bit (Lupanov). An element is a base to the power of 2^b, for each bit b of
// its exponents; which rows of the group have the bit set is its pattern. Elements with the same pattern are multiplied
// in one bucket, one product each whatever the number of rows, and row k of the group is the product of the buckets
// whose pattern has bit k. With 2^g buckets this pays if rows are long and dense.
//
// Negative exponents are in two's complement: the highest bit's element is base^(-2^b).

namespace blindfl::he::paillier {

/// A row's exponents, those of the same base added up. One for many rows: what it keeps is as large as the bases.
class RowSums {
 public:
  explicit RowSums(std::size_t bases) : sums_(bases) {}

  /// Calls f(base, sum of its exponents) for each base whose sum is not 0.
  template <class F>
  void for_each(std::span<const Scalars::Entry> row, F&& f) {
    for (const auto& [base, exponent] : row) sums_[base] += exponent;
    for (const auto& entry : row) {
      Int128& sum = sums_[entry.base];
      if (sum != 0) f(entry.base, sum);
      sum = 0;
    }
  }

 private:
  std::vector<Int128> sums_;
};

/// Calls f(b) for each bit that is set.
template <class F>
void for_each_bit(UInt128 bits, F&& f) {
  for (auto low = low64(bits); low != 0; low &= low - 1) f(std::countr_zero(low));
  for (auto high = high64(bits); high != 0; high &= high - 1) f(64 + std::countr_zero(high));
}

/// The elements for given scalars.
class BucketPlan {
 public:
  explicit BucketPlan(const Scalars& scalars);

  struct Base {
    std::uint32_t first;  ///< number of its first element
    std::uint8_t width;   ///< its elements; at least 1 unless all its sums are 0
    bool negative;        ///< whether the last of them is the sign's
  };
  [[nodiscard]] const std::vector<Base>& bases() const { return bases_; }
  [[nodiscard]] std::size_t elements() const { return elements_; }
  [[nodiscard]] std::size_t negatives() const { return negatives_; }

  /// Calls f(element) for each bit that is set in a base's exponent.
  template <class F>
  void for_each_element(std::size_t base, Int128 exponent, F&& f) const {
    const Base& b = bases_[base];
    for_each_bit(static_cast<UInt128>(exponent) & ((UInt128{1} << b.width) - 1),
                 [&](int bit) { f(b.first + static_cast<std::uint32_t>(bit)); });
  }

 private:
  std::vector<Base> bases_;
  std::size_t elements_ = 0;
  std::size_t negatives_ = 0;
};

/// Which rows of a group of rows have an element. Keeps memory from one group to the next.
class Patterns {
 public:
  Patterns(const Scalars& scalars, const BucketPlan& plan)
      : scalars_(scalars), plan_(plan), sums_(scalars.bases), patterns_(plan.elements()) {}

  /// For each element, the rows from `first_row` on, `size` at most: the first is the lowest bit. Until the next call.
  [[nodiscard]] const std::vector<std::uint16_t>& of_rows(std::size_t first_row, std::size_t size);

 private:
  const Scalars& scalars_;
  const BucketPlan& plan_;
  RowSums sums_;
  std::vector<std::uint16_t> patterns_;
};

/// What buckets take with groups of `size` rows, 1 to 12, on average over matrices with elements in as many rows.
[[nodiscard]] ScalarChoice estimate_buckets(const Scalars& scalars, const BucketPlan& plan, std::size_t groups,
                                            int size);
/// The best size, and what it takes.
[[nodiscard]] ScalarChoice choose_buckets(const Scalars& scalars, std::size_t groups);

/// Does what `task` asks for, with groups of `size` rows, 1 to 12.
void multiply_by_buckets(const ScalarTask& task, const BucketPlan& plan, int size);

}  // namespace blindfl::he::paillier

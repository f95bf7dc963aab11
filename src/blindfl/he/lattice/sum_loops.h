#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "blindfl/he/lattice/kernels.h"
#include "blindfl/he/lattice/transform_loops.h"

namespace blindfl::he::lattice {

/// The inner products among the kernels' loops; kernel_loops.h says what `Lanes` is.
template <class Lanes>
class SumLoops {
 public:
  static void accumulate(std::uint64_t* out, const Terms& terms, std::size_t n, const Modulus& modulus) {
    accumulate_all(out, {}, terms, n, modulus);
  }

  static void multiply_accumulate(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b,
                                  const Terms& terms, std::size_t n, const Modulus& modulus) {
    accumulate_all(out, {a, b}, terms, n, modulus);
  }

  /// How many products of residues and right values, each of which has that many bits, may be added up before they are
  /// reduced: a sum must be below q * 2^(52 + kSumRoom), and that of the lower halves of 52 bits below 2^64.
  static std::size_t most_terms(int right_bits) {
    const int bits = 52 + Lanes::kSumRoom - right_bits;
    return std::size_t{1} << (bits < 12 ? bits : 12);
  }

 private:
  using Value = typename Lanes::Value;
  using Constants = typename Lanes::Constants;
  using Sum = typename Lanes::Sum;
  using LongSum = typename Lanes::LongSum;
  static constexpr std::size_t kLanes = Lanes::kLanes;

  /// A product that a sum begins with, or nothing: then the sum is added to what is there.
  struct First {
    const std::uint64_t* a = nullptr;
    const std::uint64_t* b = nullptr;
  };

  /// A term's right values, side by side in memory, as encrypted matrices have them.
  static constexpr std::size_t kRow = 64;
  /// How many terms ahead whole rows are fetched: registers that take part of a row would have memory see strides.
  static constexpr std::size_t kAhead = 32;
  static void fetch_row(const std::uint64_t* row) {
    BLINDFL_UNROLL
    for (std::size_t i = 0; i < kRow; i += 8) __builtin_prefetch(row + i);
  }

  /// `Vectors` registers at a time, so that the multipliers' latency is covered; `Repeat` tells whether they share
  /// their left value.
  template <class S, bool Repeat, std::size_t Vectors>
  static void accumulate_block(std::uint64_t* out, const First& first, const Terms& terms, std::size_t position,
                               std::size_t begin, std::size_t end, const Constants& c) {
    S sums[Vectors];
    if (first.a != nullptr) {
      BLINDFL_UNROLL
      for (std::size_t r = 0; r < Vectors; ++r) {
        const std::size_t p = position + kLanes * r;
        sums[r].add(S::left(Lanes::load(first.a + p)), S::right(first.b + p), c);
      }
    }
    const std::size_t place = Repeat ? position >> std::countr_zero(terms.repeat) : position;
    const std::uint64_t* left = terms.left + place + begin * terms.left_stride;
    const std::uint64_t* right = terms.right + position + begin * terms.right_stride;
    const std::size_t foreseen = position % kRow == 0 && end > kAhead ? end - kAhead : 0;
    for (std::size_t t = begin; t < end; ++t, left += terms.left_stride, right += terms.right_stride) {
      if (Vectors * kLanes < kRow && t < foreseen) fetch_row(right + kAhead * terms.right_stride);
      const auto shared = S::left(Lanes::load_shared(left));
      BLINDFL_UNROLL
      for (std::size_t r = 0; r < Vectors; ++r) {
        sums[r].add(Repeat ? shared : S::left(Lanes::load(left + kLanes * r)), S::right(right + kLanes * r), c);
      }
    }
    const std::size_t count = end - begin + (first.a != nullptr ? 1 : 0);
    BLINDFL_UNROLL
    for (std::size_t r = 0; r < Vectors; ++r) {
      std::uint64_t* p = out + position + kLanes * r;
      const Value before = first.a != nullptr ? Lanes::broadcast(0) : Lanes::load(p);
      Lanes::store(p, sums[r].added_to(before, count, c));
    }
  }

  /// Long sums at the positions of a row, which share their left values: these are made ready once, for a few terms at
  /// a time, so that each term's row is near when the next registers take their part of it.
  static void accumulate_row(std::uint64_t* out, const First& first, const Terms& terms, std::size_t position,
                             std::size_t begin, std::size_t end, const Constants& c) {
    constexpr std::size_t kWide = Lanes::kVectors * kLanes;
    constexpr std::size_t kNear = 32;
    LongSum sums[kRow / kLanes];
    if (first.a != nullptr) {
      for (std::size_t i = 0; i < kRow; i += kLanes) {
        sums[i / kLanes].add(LongSum::left(Lanes::load(first.a + position + i)), LongSum::right(first.b + position + i),
                             c);
      }
    }
    const std::uint64_t* left = terms.left + (position >> std::countr_zero(terms.repeat)) + begin * terms.left_stride;
    const std::uint64_t* right = terms.right + position + begin * terms.right_stride;
    typename LongSum::Left lefts[kNear];
    for (std::size_t t = begin; t < end;) {
      const std::size_t near = end - t < kNear ? end - t : kNear;
      for (std::size_t i = 0; i < near; ++i, left += terms.left_stride) {
        if (t + i + kNear < end) fetch_row(right + (i + kNear) * terms.right_stride);
        lefts[i] = LongSum::left(Lanes::load_shared(left));
      }
      for (std::size_t g = 0; g < kRow; g += kWide) {
        LongSum now[Lanes::kVectors];
        BLINDFL_UNROLL
        for (std::size_t r = 0; r < Lanes::kVectors; ++r) now[r].take(sums[g / kLanes + r]);
        const std::uint64_t* row = right + g;
        for (std::size_t i = 0; i < near; ++i, row += terms.right_stride) {
          BLINDFL_UNROLL
          for (std::size_t r = 0; r < Lanes::kVectors; ++r) {
            now[r].add(lefts[i], LongSum::right(row + kLanes * r), c);
          }
        }
        BLINDFL_UNROLL
        for (std::size_t r = 0; r < Lanes::kVectors; ++r) sums[g / kLanes + r].take(now[r]);
      }
      right += near * terms.right_stride;
      t += near;
    }
    const std::size_t count = end - begin + (first.a != nullptr ? 1 : 0);
    for (std::size_t i = 0; i < kRow; i += kLanes) {
      std::uint64_t* p = out + position + i;
      const Value before = first.a != nullptr ? Lanes::broadcast(0) : Lanes::load(p);
      Lanes::store(p, sums[i / kLanes].added_to(before, count, c));
    }
  }

  template <class S, bool Repeat>
  static void accumulate_terms(std::uint64_t* out, const First& first, const Terms& terms, std::size_t n,
                               std::size_t begin, std::size_t end, const Constants& c) {
    if constexpr (Repeat && !std::is_same_v<S, Sum>) {
      if (terms.repeat % kRow == 0 && n % kRow == 0) {
        for (std::size_t p = 0; p < n; p += kRow) accumulate_row(out, first, terms, p, begin, end, c);
        return;
      }
    }
    constexpr std::size_t kWide = Lanes::kVectors * kLanes;
    const std::size_t wide = !Repeat || terms.repeat % kWide == 0 ? n / kWide * kWide : 0;
    for (std::size_t p = 0; p < wide; p += kWide) {
      accumulate_block<S, Repeat, Lanes::kVectors>(out, first, terms, p, begin, end, c);
    }
    for (std::size_t p = wide; p < n; p += kLanes) {
      accumulate_block<S, Repeat, 1>(out, first, terms, p, begin, end, c);
    }
  }

  /// At most `most` products at a time.
  template <class S>
  static void accumulate_all(std::uint64_t* out, First first, const Terms& terms, std::size_t n, std::size_t most,
                             const Modulus& modulus) {
    const Constants c(modulus);
    for (std::size_t begin = 0; begin < terms.count || first.a != nullptr; first = {}) {
      const std::size_t room = first.a != nullptr ? most - 1 : most;
      const std::size_t end = terms.count - begin < room ? terms.count : begin + room;
      if (terms.repeat == 1) {
        accumulate_terms<S, false>(out, first, terms, n, begin, end, c);
      } else {
        accumulate_terms<S, true>(out, first, terms, n, begin, end, c);
      }
      begin = end;
    }
  }

  static void accumulate_all(std::uint64_t* out, const First& first, const Terms& terms, std::size_t n,
                             const Modulus& modulus) {
    if constexpr (!std::is_same_v<Sum, LongSum>) {
      if (terms.count >= Lanes::kLong) {
        return accumulate_all<LongSum>(out, first, terms, n, LongSum::kMostTerms, modulus);
      }
    }
    const int bits = terms.right_bits > modulus.bits() ? terms.right_bits : modulus.bits();
    accumulate_all<Sum>(out, first, terms, n, most_terms(bits), modulus);
  }
};

}  // namespace blindfl::he::lattice

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "blindfl/base/int128.h"
#include "blindfl/he/lattice/modulus.h"
#include "blindfl/he/lattice/sparse_inverse.h"

// The loops that take the time. Each set of kernels does the same, exactly; which one runs is chosen at run time. All
// residues are in [0, q); arrays are aligned to 64 bytes and hold a multiple of 8 values. No branch and no memory
// address depends on the values.

namespace blindfl::he::lattice {

/// What a lazy inner product adds up: `sum over terms of left[term] * right[term]`.
struct Terms {
  const std::uint64_t* left;  ///< term t, position p at left[t * left_stride + p / repeat]
  std::size_t left_stride;
  std::size_t repeat;          ///< 1, or a power of two from 8 on: how many positions share one left value
  const std::uint64_t* right;  ///< term t, position p at right[t * right_stride + p]
  std::size_t right_stride;
  std::size_t count;
  /// Right values that are not residues are at most 2^right_bits; 50 at most. 0: all of them are residues. The smaller,
  /// the fewer reductions.
  int right_bits = 48;
};

/// What becomes of results' fractions (share_rounding.h): each is the sum over primes of numerator / prime, plus noise,
/// rounded to `ring_bits` binary places, where 1 is 0 again. Numbers have 192 places: what is left out is below 2^-140,
/// and noise ends at 2^-128 or above.
struct ShareSum {
  static constexpr std::size_t kMostPrimes = 4;
  /// 1 / a prime, to so many places.
  struct Top {
    std::uint64_t low;
    std::uint64_t middle;
    std::uint64_t high;
  };
  std::size_t primes = 0;
  Top tops[kMostPrimes] = {};
  const std::uint64_t* numerators[kMostPrimes] = {};  ///< of each prime, one for each result
  static constexpr std::size_t kNoiseWords = 4;
  /// What these make: their sum, around 0.
  static Int128 noise_of(const std::uint64_t* words) {
    Int128 sum = -(static_cast<Int128>(kNoiseWords / 2) << 64);
    for (std::size_t i = 0; i < kNoiseWords; ++i) sum += static_cast<Int128>(words[i]);
    return sum;
  }
  const std::uint64_t* noise = nullptr;  ///< words of each result, in units of 2^-noise_places; null: none
  int noise_places = 0;                  ///< from ring_bits + 4 to 128: rings have up to 124 bits
  int ring_bits = 0;
};

/// Products come out divided by 2^52, as Montgomery's are: either one factor was multiplied by 2^52 before, or the
/// inverse transform makes up for it.
struct Kernels {
  std::string_view name;

  /// The number-theoretic transform of a polynomial modulo x^N + 1, in place, to bit-reversed order.
  void (*forward)(std::uint64_t* a, const Modulus& modulus);
  /// The transforms of 8 polynomials in x^(N / count), given by their `count` coefficients, a multiple of 8: the values
  /// that differ, each once; the whole transform repeats each of them N / count times. Polynomial k's coefficient i
  /// stands at a[8 * i + k], and so does value i afterwards.
  void (*forward_short)(std::uint64_t* a, std::size_t count, const Modulus& modulus);
  /// The inverse of `forward`, times what `last_stage` holds: 1 or 2^52 (the modulus' `last_stage()` or
  /// `last_stage_times_radix()`), or that times a constant.
  void (*inverse)(std::uint64_t* a, const Modulus& modulus, const Modulus::Factors& last_stage);
  /// Some of the coefficients that `inverse` gives, in a fraction of its time: out[k] is coefficient
  /// stride * k + stride - 1, times the table's scale, for its `count()` values of k. `out` may not be `a`.
  void (*inverse_sparse)(std::uint64_t* out, const std::uint64_t* a, const SparseInverse& table,
                         const Modulus& modulus);

  /// out[p] = a[p] * b[p] / 2^52.
  void (*multiply)(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b, std::size_t n,
                   const Modulus& modulus);
  /// out[p] = out[p] - a[p] * b[p] / 2^52.
  void (*multiply_subtract)(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b, std::size_t n,
                            const Modulus& modulus);
  /// out[p] = out[p] + (the sum of the terms at p) / 2^52, for n positions. Any number of terms.
  void (*accumulate)(std::uint64_t* out, const Terms& terms, std::size_t n, const Modulus& modulus);
  /// out[p] = (a[p] * b[p] + the sum of the terms at p) / 2^52.
  void (*multiply_accumulate)(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b, const Terms& terms,
                              std::size_t n, const Modulus& modulus);
  /// One step of dividing a number, given by its residues, by a prime of its modulus, rounding to the nearest:
  /// out[p] = (out[p] - d) / by, where d is dropped[p] as a signed residue modulo `by`, which has no more bits than
  /// `modulus`; `one_over_by` is 2^52 / by.
  void (*divide)(std::uint64_t* out, const std::uint64_t* dropped, const Modulus& by, std::uint64_t one_over_by,
                 std::size_t n, const Modulus& modulus);

  // A number given by its residues modulo q_0, q_1, ... is d_0 + q_0 * (d_1 + q_1 * (d_2 + ...)) with digits
  // 0 <= d_i < q_i (mixed radix; Garner): d_0 is its first residue; subtracted, and q_0 divided out, in the others, the
  // next one is d_1. And back, by Horner's rule.

  /// out[p] = (out[p] - digit[p]) * one_over_by / 2^52, for digits up to 2^50, whether below q or not; `one_over_by` is
  /// 2^52 / by.
  void (*subtract_divide)(std::uint64_t* out, const std::uint64_t* digit, std::uint64_t one_over_by, std::size_t n,
                          const Modulus& modulus);
  /// out[p] = out[p] * by / 2^52 + digit[p], for digits, and out before, up to 2^50, whether below q or not; `by` is a
  /// residue.
  void (*multiply_add)(std::uint64_t* out, std::uint64_t by, const std::uint64_t* digit, std::size_t n,
                       const Modulus& modulus);

  /// Signed numbers smaller than q in magnitude, as residues.
  void (*lift)(std::uint64_t* out, const std::int64_t* small, std::size_t n, const Modulus& modulus);
  /// Signed numbers of any size, as residues.
  void (*lift_wide)(std::uint64_t* out, const std::int64_t* wide, std::size_t n, const Modulus& modulus);
  /// out[p] = out[p] - a[p].
  void (*subtract)(std::uint64_t* out, const std::uint64_t* a, std::size_t n, const Modulus& modulus);
  /// out[p] = out[p] + small[p].
  void (*add_small)(std::uint64_t* out, const std::int64_t* small, std::size_t n, const Modulus& modulus);
  /// Values of `bits` bits to the wire: see packing.h. `n` must be a multiple of kPackedBlock.
  void (*pack)(std::uint64_t* words, const std::uint64_t* values, std::size_t n, int bits);
  /// And back, with groups of 64 values `stride` apart. Returns whether all of them are below the bound.
  bool (*unpack)(std::uint64_t* values, std::size_t stride, const std::uint64_t* words, std::size_t n, int bits,
                 std::uint64_t bound);
  /// Random words become, in place, the number of ones among their lowest 42 bits, minus 21: centred binomial.
  void (*centred_binomial)(std::uint64_t* words, std::size_t n);
  /// n / 2 random words become -1, 0, 1 with equal chance, but for a bias below 2^-31: the lower halves of the words
  /// make the first n / 2 of them, the upper halves the rest.
  void (*ternary)(std::int64_t* out, const std::uint64_t* words, std::size_t n);
  /// Shares of `count` results, any number, from numerators at any address.
  void (*round_shares)(UInt128* out, const ShareSum& sum, std::size_t count);
};

/// Works everywhere.
[[nodiscard]] const Kernels& portable_kernels();
/// Every set that this processor can run, the fastest first; the portable one is always among them.
[[nodiscard]] const std::vector<const Kernels*>& available_kernels();
/// The set of that name. Throws InvalidArgument, naming those there are, if this processor cannot run it.
[[nodiscard]] const Kernels& kernels_by_name(std::string_view name);

}  // namespace blindfl::he::lattice

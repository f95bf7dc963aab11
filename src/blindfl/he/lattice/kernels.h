#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "blindfl/he/lattice/modulus.h"

// The loops that take the time. Each set of kernels does the same, exactly; which one runs is chosen at run time. All
// residues are in [0, q); arrays are aligned to 64 bytes and hold a multiple of 8 values.

namespace blindfl::he::lattice {

/// What a lazy inner product adds up: `sum over terms of left[term] * right[term]`.
struct Terms {
  const std::uint64_t* left;  ///< in Montgomery form: term t, position p at left[t * left_stride + p / repeat]
  std::size_t left_stride;
  std::size_t repeat;          ///< 1, or a power of two from 8 on: how many positions share one left value
  const std::uint64_t* right;  ///< term t, position p at right[t * right_stride + p]
  std::size_t right_stride;
  std::size_t count;
};

struct Kernels {
  std::string_view name;
  /// The number-theoretic transform of a polynomial modulo x^N + 1, in place, to bit-reversed order.
  void (*forward)(std::uint64_t* a, const Modulus& modulus);
  /// Its inverse.
  void (*inverse)(std::uint64_t* a, const Modulus& modulus);
  /// out[p] = a[p] * b[p] / 2^52: with one of them in Montgomery form, the product.
  void (*multiply)(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b, std::size_t n,
                   const Modulus& modulus);
  /// out[p] = out[p] - a[p] * b[p] / 2^52.
  void (*multiply_subtract)(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b, std::size_t n,
                            const Modulus& modulus);
  /// out[p] = out[p] + (the sum of the terms at p) / 2^52, for n positions. Any number of terms.
  void (*accumulate)(std::uint64_t* out, const Terms& terms, std::size_t n, const Modulus& modulus);
};

/// Works everywhere.
[[nodiscard]] const Kernels& portable_kernels();
/// Every set that this processor can run, the fastest first; the portable one is always among them.
[[nodiscard]] const std::vector<const Kernels*>& available_kernels();
/// The set of that name. Throws InvalidArgument, naming those there are, if this processor cannot run it.
[[nodiscard]] const Kernels& kernels_by_name(std::string_view name);

}  // namespace blindfl::he::lattice

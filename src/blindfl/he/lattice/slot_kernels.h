#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "blindfl/he/lattice/kernels.h"
#include "blindfl/he/lattice/slot_tables.h"

// The loops of complex slots that take the time: as kernels.h, once for each kind of processor, all of which give the
// same, bit for bit. No branch and no memory address depends on the values. The order of slots is whatever falls out of
// the transforms: both directions agree, and nobody else sees it.

namespace blindfl::he::lattice {

/// A number as digits d_0, d_1, ... (mixed radix: see kernels.h) that is to become a fraction of q: the sum of
/// d_l * weights[l], where weights[l] is 1 / (q_l q_(l+1) ...).
struct DigitFraction {
  static constexpr std::size_t kMostDigits = 4;
  std::size_t digits = 0;
  const std::uint64_t* values[kMostDigits] = {};
  RealPair weights[kMostDigits] = {};
};

/// Where slots of about 106 bits are: slots() values each.
struct SlotValues {
  double* real;
  double* real_low;
  double* imag;
  double* imag_low;
};

struct SlotKernels {
  std::string_view name;

  /// e^(2 pi i angle / 2^32), each part within 2^-51. `n` must be a multiple of 8.
  void (*phases)(double* real, double* imag, const std::uint32_t* angles, std::size_t n);
  /// The coefficients of `scale` times the polynomial with these slots, rounded to the nearest: 2 slots() of them,
  /// below 2^50 in magnitude. The slots are destroyed.
  void (*encode)(const SlotTables& tables, double* real, double* imag, double scale, std::int64_t* out);
  /// The slots of a polynomial, coefficients given as fractions of q between -1/2 and 1/2: digits of 2 slots() numbers.
  void (*decode)(const SlotTables& tables, const DigitFraction& fraction, const SlotValues& out);
};

/// Those that go with `kernels`, of the same name; the portable ones where there are none.
[[nodiscard]] const SlotKernels& slot_kernels(std::string_view name);

[[nodiscard]] const SlotKernels& portable_slot_kernels();
/// Null where they were not compiled. What they need of the processor is what the kernels of that name need.
[[nodiscard]] const SlotKernels* avx2_slot_kernels();
[[nodiscard]] const SlotKernels* ifma_slot_kernels();

}  // namespace blindfl::he::lattice

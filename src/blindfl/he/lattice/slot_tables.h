#pragma once

#include <cstddef>

#include "blindfl/base/aligned.h"
#include "blindfl/he/lattice/double_pair.h"

namespace blindfl::he::lattice {

/// Complex numbers of about 106 bits, part by part, for vector units.
struct ComplexPairs {
  explicit ComplexPairs(std::size_t size) : real(size), real_low(size), imag(size), imag_low(size) {}

  AlignedVector<double> real;
  AlignedVector<double> real_low;
  AlignedVector<double> imag;
  AlignedVector<double> imag_low;
};

/// What the transforms between slots and coefficients multiply with, for one degree N.
///
/// A polynomial with real coefficients modulo x^N + 1 is known by its values at N / 2 of the 2N-th roots of unity, one
/// of each conjugate pair, and polynomials multiply value by value: these values are the slots. With z = e^(i pi / N),
/// slot k is the value at z^(4k + 1), the sum over j < N / 2 of (m_j + i m_(j + N/2)) z^j e^(2 pi i j k / (N/2)).
class SlotTables {
 public:
  /// The degree must be a power of two from 128 on. Throws InvalidArgument otherwise.
  explicit SlotTables(std::size_t degree);

  [[nodiscard]] std::size_t slots() const { return slots_; }
  /// e^(2 pi i j / (2 span)) at span + j, for j below a power of two `span` that is below slots().
  [[nodiscard]] const ComplexPairs& roots() const { return roots_; }
  /// z^j.
  [[nodiscard]] const ComplexPairs& twist() const { return twist_; }

 private:
  std::size_t slots_;
  ComplexPairs roots_;
  ComplexPairs twist_;
};

/// cos and sin of 2 pi * numerator / denominator, for 0 <= numerator < denominator, a power of two from 8 on; each
/// within 2^-102.
struct UnitPair {
  RealPair cosine;
  RealPair sine;
};
[[nodiscard]] UnitPair root_of_unity(std::size_t numerator, std::size_t denominator);

}  // namespace blindfl::he::lattice

#pragma once

// Double-double arithmetic: numbers of about 106 bits, as the unevaluated sum of two doubles (Dekker): a share is
// uniform modulo q, 100 bits and more, and what matters of it is far below what one double holds.
//
// `Real` is double or a vector of doubles, as the compilers know it. Every operation is one of IEEE 754, and what is
// compiled with these is compiled with -ffp-contract=off: the compiler must not fuse operations, and all processors
// give the same.

namespace blindfl::he::lattice {

template <class Real>
struct DoublePair {
  Real high;
  Real low;
};

/// a * b - p, exactly, where p is a * b rounded, without a fused multiply-add.
template <class Real>
[[gnu::always_inline]] inline Real product_error_by_splitting(Real a, Real b, Real p) {
  constexpr double kSplitter = 134217729;  // 2^27 + 1
  const Real a_scaled = a * kSplitter;
  const Real b_scaled = b * kSplitter;
  const Real a_high = a_scaled - (a_scaled - a);
  const Real b_high = b_scaled - (b_scaled - b);
  const Real a_low = a - a_high;
  const Real b_low = b - b_high;
  return ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low;
}

/// `Arithmetic::product_error(a, b, p)` is a * b - p, exactly.
template <class Arithmetic, class Real>
[[gnu::always_inline]] inline DoublePair<Real> times(const DoublePair<Real>& a, const DoublePair<Real>& b) {
  const Real p = a.high * b.high;
  const Real e = Arithmetic::product_error(a.high, b.high, p) + (a.high * b.low + a.low * b.high);
  const Real s = p + e;
  return {s, e - (s - p)};
}

template <class Real>
[[gnu::always_inline]] inline DoublePair<Real> plus(const DoublePair<Real>& a, const DoublePair<Real>& b) {
  const Real s = a.high + b.high;
  const Real v = s - a.high;
  const Real e = ((a.high - (s - v)) + (b.high - v)) + (a.low + b.low);
  const Real high = s + e;
  return {high, e - (high - s)};
}

template <class Real>
[[gnu::always_inline]] inline DoublePair<Real> minus(const DoublePair<Real>& a, const DoublePair<Real>& b) {
  return plus(a, DoublePair<Real>{-b.high, -b.low});
}

/// How one double at a time does it.
struct ScalarArithmetic {
  static double product_error(double a, double b, double p) { return product_error_by_splitting(a, b, p); }
};
using RealPair = DoublePair<double>;

}  // namespace blindfl::he::lattice

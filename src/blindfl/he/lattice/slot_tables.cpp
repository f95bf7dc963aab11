#include "blindfl/he/lattice/slot_tables.h"

#include <bit>
#include <utility>

#include "blindfl/base/error.h"

namespace blindfl::he::lattice {

namespace {

constexpr RealPair kTwoPi{6.283185307179586, 2.4492935982947064e-16};

RealPair product(const RealPair& a, const RealPair& b) {
  return times<ScalarArithmetic>(a, b);
}

RealPair quotient(const RealPair& a, double by) {
  const double high = a.high / by;
  const double p = high * by;
  const double rest = ((a.high - p) - ScalarArithmetic::product_error(high, by, p)) + a.low;
  return plus(RealPair{high, 0}, RealPair{rest / by, 0});
}

/// Taylor's series of cos and sin, for angles up to pi / 4: terms beyond the 28th are below 2^-106.
UnitPair series(const RealPair& angle) {
  UnitPair sums{{1, 0}, {0, 0}};
  RealPair term{1, 0};
  for (int k = 1; k <= 28; ++k) {
    term = quotient(product(term, angle), k);
    RealPair& sum = k % 2 == 0 ? sums.cosine : sums.sine;
    sum = k % 4 < 2 ? plus(sum, term) : minus(sum, term);
  }
  return sums;
}

RealPair negated(const RealPair& a) {
  return {-a.high, -a.low};
}

void put(ComplexPairs& to, std::size_t at, const UnitPair& value) {
  to.real[at] = value.cosine.high;
  to.real_low[at] = value.cosine.low;
  to.imag[at] = value.sine.high;
  to.imag_low[at] = value.sine.low;
}

}  // namespace

UnitPair root_of_unity(std::size_t numerator, std::size_t denominator) {
  // The octant nearest to a multiple of pi / 2.
  const std::size_t quarter = denominator / 4;
  const std::size_t turns = (numerator + quarter / 2) / quarter;
  const double rest = static_cast<double>(numerator) - static_cast<double>(turns * quarter);
  // A power of two: exact.
  const double fraction = rest / static_cast<double>(denominator);
  UnitPair unit = series(product(kTwoPi, RealPair{fraction, 0}));
  for (std::size_t i = 0; i < turns % 4; ++i) unit = {negated(unit.sine), unit.cosine};
  return unit;
}

SlotTables::SlotTables(std::size_t degree) : slots_(degree / 2), roots_(slots_), twist_(slots_) {
  require<InvalidArgument>(std::has_single_bit(degree) && degree >= 128, "slots need a degree that is a power of two, ",
                           "128 at least, not ", degree);
  put(roots_, 0, {{1, 0}, {0, 0}});
  for (std::size_t span = 1; span < slots_; span *= 2) {
    for (std::size_t j = 0; j < span; ++j) {
      // Angles of half a turn at most; denominators below 8 are those of 8.
      put(roots_, span + j, root_of_unity(8 * j, 16 * span));
    }
  }
  for (std::size_t j = 0; j < slots_; ++j) put(twist_, j, root_of_unity(j, 2 * degree));
}

}  // namespace blindfl::he::lattice

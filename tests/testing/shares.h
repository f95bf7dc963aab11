#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string_view>

#include "blindfl/base/int128.h"
#include "blindfl/share/share_matrix.h"

namespace blindfl::testing {

/// Whether shares under a scheme of the tests' list add up to the product itself, without noise.
inline bool is_exact(std::string_view scheme) {
  return scheme.starts_with("plain") || scheme.starts_with("paillier");
}

/// Two matrices of one shape, scale and ring, no two values of which differ by more than so many units.
inline ::testing::AssertionResult within(double units, const ShareMatrix& got, const ShareMatrix& wanted) {
  if (got.rows() != wanted.rows() || got.cols() != wanted.cols() || got.scale() != wanted.scale() ||
      got.ring_bits() != wanted.ring_bits()) {
    return ::testing::AssertionFailure() << got.rows() << " x " << got.cols() << " at scale " << got.scale()
                                         << " modulo 2^" << got.ring_bits() << ", not " << wanted.rows() << " x "
                                         << wanted.cols() << " at scale " << wanted.scale() << " modulo 2^"
                                         << wanted.ring_bits();
  }
  for (std::size_t i = 0; i < got.values().size(); ++i) {
    const UInt128 difference = low_bits(got.values()[i] - wanted.values()[i], got.ring_bits());
    const auto off = static_cast<double>(signed_low_bits(difference, got.ring_bits()));
    if (std::abs(off) > units) {
      return ::testing::AssertionFailure() << "value " << i << " is off by 2^" << std::log2(std::abs(off))
                                           << " units, and 2^" << std::log2(units) << " are allowed";
    }
  }
  return ::testing::AssertionSuccess();
}

/// Two matrices of outputs: equal under exact schemes, and elsewhere within a unit of what Z is opened at.
inline ::testing::AssertionResult same_output(std::string_view scheme, const ShareMatrix& got,
                                              const ShareMatrix& wanted) {
  constexpr int kOpened = 16;
  return within(is_exact(scheme) ? 0 : std::ldexp(1.0, got.scale() - kOpened), got, wanted);
}

}  // namespace blindfl::testing

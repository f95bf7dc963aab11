#include "blindfl/tensor/fixed_point.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include "blindfl/base/error.h"

namespace blindfl {

namespace {

/// Of an exponent from 0 to kMaxScale: its bits, without a call.
double power_of_two(int exponent) {
  constexpr int kBias = 1023;
  constexpr int kMantissaBits = 52;
  return std::bit_cast<double>(static_cast<std::uint64_t>(kBias + exponent) << kMantissaBits);
}

}  // namespace

FixedPoint::FixedPoint(const FixedPointSpec& spec)
    : scale_(spec.scale), largest_(spec.largest), bound_(0), clip_(spec.clip) {
  require<InvalidArgument>(spec.scale >= 0 && spec.scale <= kMaxScale, "fixed point: a scale of ", spec.scale,
                           " fractional bits is not between 0 and ", kMaxScale);
  require<InvalidArgument>(std::isfinite(spec.largest) && spec.largest > 0,
                           "fixed point: the largest value must be positive and finite");
  const double bound = std::round(std::ldexp(spec.largest, spec.scale));
  require<InvalidArgument>(bound >= 1 && bound <= static_cast<double>(kMaxBound), "fixed point: values up to ",
                           spec.largest, " at ", spec.scale, " fractional bits do not fit in 62 bits");
  bound_ = static_cast<std::uint64_t>(bound);
}

std::int64_t FixedPoint::encode(double x, std::size_t row, std::size_t column) const {
  require<DataError>(std::isfinite(x), "row ", row, ", column ", column, ": not a finite number");
  // Scaling by a power of two is exact, and so is rounding, half away from 0: no sum carries a half over to the next
  // integer.
  if (std::abs(x) > largest_) {
    require<DataError>(clip_, "row ", row, ", column ", column, ": outside the agreed range of +-", largest_,
                       "; raise the range, rescale the column, or ask for clipping");
    x = std::copysign(largest_, x);
  }
  const double scaled = x * power_of_two(scale_);
  const auto whole = static_cast<std::int64_t>(scaled);
  const double rest = scaled - static_cast<double>(whole);
  return whole + static_cast<std::int64_t>(2 * rest);
}

double FixedPoint::decode(std::int64_t value) const {
  return std::ldexp(static_cast<double>(value), -scale_);
}

}  // namespace blindfl

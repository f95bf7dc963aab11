#pragma once

#include <cstddef>
#include <cstdint>

namespace blindfl {

/// What a user asks of an encoding of reals as integers. Public: both parties know it.
struct FixedPointSpec {
  /// Fractional bits: `x` becomes `round(x * 2^scale)`. 0 suits binary and integer values.
  int scale = 16;
  /// Values lie in [-largest, largest]. A constant of the job, never a batch's maximum.
  double largest = 16.0;
  /// What happens to a value beyond `largest`: an error, or the nearest value that is allowed.
  bool clip = false;

  bool operator==(const FixedPointSpec&) const = default;
};

/// A checked encoding of reals as bounded integers.
class FixedPoint {
 public:
  static constexpr int kMaxScale = 60;
  static constexpr std::uint64_t kMaxBound = std::uint64_t{1} << 62;

  /// Throws InvalidArgument unless 0 <= scale <= 60, `largest` is positive and finite, and the largest integer is
  /// between 1 and 2^62.
  explicit FixedPoint(const FixedPointSpec& spec);

  [[nodiscard]] int scale() const { return scale_; }
  /// No encoded value exceeds this in magnitude.
  [[nodiscard]] std::uint64_t bound() const { return bound_; }

  /// `round(x * 2^scale)`, exactly; halves go away from zero. `row` and `column` serve the error only.
  /// Throws DataError, naming row and column but never the value, if `x` is not finite or too large.
  [[nodiscard]] std::int64_t encode(double x, std::size_t row, std::size_t column) const;
  [[nodiscard]] double decode(std::int64_t value) const;

 private:
  int scale_;
  double largest_;
  std::uint64_t bound_;
  bool clip_;
};

}  // namespace blindfl

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "blindfl/base/bytes.h"
#include "blindfl/he/slots.h"
#include "blindfl/mpc/smooth.h"

namespace blindfl::mpc {

/// What a fit is asked for.
struct FitSpec {
  std::vector<Smooth> functions{};
  double low = 0;
  double high = 0;
  /// No fit may be further off anywhere on the interval.
  double error = 1e-4;
  std::size_t most_harmonics = 64;
  /// What products of slots will add, as a standard deviation for coefficients whose squares sum up to 1: keeps
  /// coefficients small where they would cost more than they fit. 0: a hundredth or so of the error.
  double noise = 0;
  /// The most harmonics that cost no more than so many (`he::Slots::free_frequencies`): those above the needed ones
  /// make the interval wider. None: as many as needed.
  std::function<std::size_t(std::size_t harmonics)> free{};
};

/// Smooth functions of one variable as sums of waves (Fourier extensions), f(z) = c0 + c1 z + Re sum_j C_j e^(i w_j z)
/// on an interval, for shares of z modulo 2^32 at 20 fractional bits.
///
/// Every wave repeats after 4096, where shares wrap around: w_j = 2 pi m j / 4096, or 2 pi m (2j - 1) / 4096, for some
/// m. The latter suit functions that level off: half a period away they are the function's mirror image, and so come
/// close beyond the interval, too.
///
/// Public, and the same at both parties: made of operations that are defined to the last bit, and rounded.
class SmoothFunction {
 public:
  static constexpr int kFractionalBits = 20;
  static constexpr double kPeriod = 4096;
  /// Coefficients are multiples of 2^-40.
  static constexpr int kCoefficientBits = 40;

  /// With as few harmonics as were found to do. Cost: up to a second.
  /// Throws InvalidArgument, with the numbers, if `most_harmonics` do not do, or if a function is not defined there.
  [[nodiscard]] static SmoothFunction fit(const FitSpec& spec);

  /// One function.
  struct Part {
    Smooth function{};
    double constant = 0;
    double slope = 0;  ///< what a PublicFactor can be
    std::vector<he::ComplexNumber> coefficients{};
    double error = 0;  ///< largest on the interval, on a fine grid
  };

  [[nodiscard]] const std::vector<Part>& parts() const { return parts_; }
  /// At least as wide as asked for.
  [[nodiscard]] double low() const { return low_; }
  [[nodiscard]] double high() const { return high_; }
  [[nodiscard]] std::size_t harmonics() const { return frequencies_.size(); }
  [[nodiscard]] const std::vector<std::uint32_t>& frequencies() const { return frequencies_; }
  /// What comes out at z, a multiple of 2^-20, without errors of products.
  [[nodiscard]] double value(std::size_t part, double z) const;
  /// Whether a function has a linear term, which needs shares that are not modulo 2^32 only.
  [[nodiscard]] bool needs_wide_shares() const;
  /// What both parties compare before they use it.
  [[nodiscard]] Bytes digest() const;
  [[nodiscard]] std::string describe() const;

 private:
  SmoothFunction() = default;

  double low_ = 0;
  double high_ = 0;
  std::vector<std::uint32_t> frequencies_;
  std::vector<Part> parts_;
};

}  // namespace blindfl::mpc

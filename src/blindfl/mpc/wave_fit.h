#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "blindfl/mpc/least_squares.h"
#include "blindfl/mpc/smooth.h"

namespace blindfl::mpc {

/// Values of z as multiples of 2^-20.
constexpr double kWaveUnits = 1 << 20;
[[nodiscard]] inline std::int64_t to_units(double z) {
  return static_cast<std::int64_t>(std::floor(z * kWaveUnits + 0.5));
}
[[nodiscard]] inline double from_units(std::int64_t z) {
  return static_cast<double>(z) / kWaveUnits;
}

/// A choice of frequencies: m j, or m (2j - 1).
struct Waves {
  std::uint32_t m = 0;
  bool odd = false;
  bool slope = false;
  std::size_t count = 0;

  [[nodiscard]] std::uint32_t frequency(std::size_t j) const {
    return m * static_cast<std::uint32_t>(odd ? 2 * j + 1 : j + 1);
  }
};

/// Fits of functions by waves, at some points: least squares with a penalty on coefficients, then with more weight
/// where it was worst (Lawson).
///
/// By normal equations, whose matrix has few different numbers: products of waves are waves of sums and differences of
/// their frequencies. They square how ill-conditioned the problem is, which the penalty bounds; where that is too
/// small, and where they fail, it is by reflections (least_squares.h), which takes tens of times as long.
class WaveFit {
 public:
  /// The linear column is scaled down, and hardly penalised.
  static constexpr double kSlopeScale = 10;

  WaveFit(const Waves& waves, const std::vector<std::int64_t>& points, double ridge);

  /// Constant, slope if there is one, of cosines, of negated sines; and the largest error at the points.
  struct Solution {
    std::vector<double> x;
    double error = 0;
  };
  /// The best of the first solution and of `steps` more.
  [[nodiscard]] Solution best(Smooth function, int steps) const;
  /// With these weights of the points, both ways.
  [[nodiscard]] std::vector<double> by_reflections(const std::vector<double>& y,
                                                   const std::vector<double>& weights) const;
  [[nodiscard]] std::vector<double> by_normal_equations(const std::vector<double>& y,
                                                        const std::vector<double>& weights) const;

 private:
  [[nodiscard]] std::size_t first() const { return waves_.slope ? 2 : 1; }
  /// What is added to |a x - y|^2 for column c, as a factor of x_c before it is squared.
  [[nodiscard]] double penalty(std::size_t c) const;
  [[nodiscard]] RealMatrix products(const std::vector<double>& weights) const;
  [[nodiscard]] std::vector<double> differences(const std::vector<double>& x, const std::vector<double>& y) const;
  [[nodiscard]] std::vector<double> solve(const std::vector<double>& y, const std::vector<double>& weights) const;

  Waves waves_;
  const std::vector<std::int64_t>& points_;
  double ridge_;
  RealMatrix a_;        ///< values of all waves at all points
  RealMatrix cosines_;  ///< of what frequencies differ by, and add up to
  RealMatrix sines_;
};

}  // namespace blindfl::mpc

#include "blindfl/mpc/wave_fit.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "blindfl/he/phase.h"

namespace blindfl::mpc {

namespace {

constexpr double kSlopeRidge = 1e-2;
/// With a smaller penalty normal equations lose too much.
constexpr double kLeastRidge = 1e-6;

/// Constant, slope if there is one, cosines, negated sines.
RealMatrix basis(const Waves& waves, const std::vector<std::int64_t>& points) {
  const std::size_t first = waves.slope ? 2 : 1;
  RealMatrix a(points.size(), first + 2 * waves.count);
  for (std::size_t i = 0; i < points.size(); ++i) {
    a.column(0)[i] = 1;
    if (waves.slope) a.column(1)[i] = from_units(points[i]) / WaveFit::kSlopeScale;
  }
  for (std::size_t j = 0; j < waves.count; ++j) {
    double* cosines = a.column(first + j);
    double* sines = a.column(first + waves.count + j);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const auto u = he::phase_of(waves.frequency(j) * static_cast<std::uint32_t>(points[i]));
      cosines[i] = u.re;
      sines[i] = -u.im;
    }
  }
  return a;
}

double weighted_sum(const double* a, const double* weights, std::size_t count) {
  return inner_product(a, weights, 0, count);
}

}  // namespace

WaveFit::WaveFit(const Waves& waves, const std::vector<std::int64_t>& points, double ridge)
    : waves_(waves),
      points_(points),
      ridge_(ridge),
      a_(basis(waves, points)),
      cosines_(points.size(), 2 * waves.count + 1),
      sines_(points.size(), 2 * waves.count + 1) {
  if (ridge < kLeastRidge) return;
  // Differences of two frequencies, and sums, are multiples of this.
  const std::uint32_t unit = waves.odd ? 2 * waves.m : waves.m;
  for (std::size_t t = 0; t < cosines_.cols(); ++t) {
    double* cosines = cosines_.column(t);
    double* sines = sines_.column(t);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const auto u = he::phase_of(unit * static_cast<std::uint32_t>(t) * static_cast<std::uint32_t>(points[i]));
      cosines[i] = u.re;
      sines[i] = u.im;
    }
  }
}

WaveFit::Solution WaveFit::best(Smooth function, int steps) const {
  std::vector<double> y;
  y.reserve(points_.size());
  for (const std::int64_t z : points_) y.push_back(value_of(function, from_units(z)));
  std::vector<double> weights(y.size(), 1);
  Solution best{{}, std::numeric_limits<double>::infinity()};
  for (int i = 0; i <= steps; ++i) {
    Solution now{solve(y, weights), 0};
    std::vector<double> residuals = differences(now.x, y);
    double mean = 0;
    for (double& r : residuals) {
      r = std::fabs(r);
      now.error = std::max(now.error, r);
      mean += r / static_cast<double>(residuals.size());
    }
    if (now.error < best.error) best = std::move(now);
    if (mean == 0) break;
    double sum = 0;
    for (std::size_t k = 0; k < weights.size(); ++k) sum += weights[k] *= residuals[k] / mean + 1e-3;
    for (double& w : weights) w *= static_cast<double>(weights.size()) / sum;
  }
  return best;
}

std::vector<double> WaveFit::solve(const std::vector<double>& y, const std::vector<double>& weights) const {
  if (ridge_ >= kLeastRidge) {
    std::vector<double> x = by_normal_equations(y, weights);
    if (!x.empty()) return x;
  }
  return by_reflections(y, weights);
}

double WaveFit::penalty(std::size_t c) const {
  if (c == 0) return 0;
  if (waves_.slope && c == 1) return ridge_ * kSlopeRidge;
  return ridge_ * std::sqrt(static_cast<double>(points_.size()));
}

std::vector<double> WaveFit::by_reflections(const std::vector<double>& y, const std::vector<double>& weights) const {
  const std::size_t rows = a_.rows();
  const std::size_t cols = a_.cols();
  RealMatrix weighted(rows + cols, cols);
  std::vector<double> right(rows + cols);
  for (std::size_t i = 0; i < rows; ++i) {
    const double w = std::sqrt(weights[i]);
    for (std::size_t c = 0; c < cols; ++c) weighted.column(c)[i] = w * a_.column(c)[i];
    right[i] = w * y[i];
  }
  for (std::size_t c = 1; c < cols; ++c) weighted.column(c)[rows + c] = penalty(c);
  return least_squares(weighted, right);
}

// cos f cos g = (cos(f - g) + cos(f + g)) / 2, sin f sin g = (cos(f - g) - cos(f + g)) / 2,
// cos f sin g = (sin(f + g) - sin(f - g)) / 2.
RealMatrix WaveFit::products(const std::vector<double>& weights) const {
  const std::size_t n = waves_.count;
  const std::size_t rows = a_.rows();
  std::vector<double> cosines(cosines_.cols());
  std::vector<double> sines(cosines_.cols());
  for (std::size_t t = 0; t < cosines.size(); ++t) {
    cosines[t] = weighted_sum(cosines_.column(t), weights.data(), rows);
    sines[t] = weighted_sum(sines_.column(t), weights.data(), rows);
  }
  RealMatrix g(a_.cols(), a_.cols());
  const std::size_t more = waves_.odd ? 1 : 2;
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t apart = j > k ? j - k : k - j;
      const std::size_t sum = j + k + more;
      const double sine_apart = j > k ? sines[apart] : -sines[apart];
      g.column(first() + j)[first() + k] = (cosines[apart] + cosines[sum]) / 2;
      g.column(first() + n + j)[first() + n + k] = (cosines[apart] - cosines[sum]) / 2;
      const double mixed = -(sines[sum] - sine_apart) / 2;  // cosine of j, negated sine of k
      g.column(first() + j)[first() + n + k] = mixed;
      g.column(first() + n + k)[first() + j] = mixed;
    }
  }
  std::vector<double> weighted(rows);
  for (std::size_t c = 0; c < first(); ++c) {
    for (std::size_t i = 0; i < rows; ++i) weighted[i] = weights[i] * a_.column(c)[i];
    for (std::size_t other = 0; other < a_.cols(); ++other) {
      g.column(c)[other] = g.column(other)[c] = inner_product(weighted.data(), a_.column(other), 0, rows);
    }
  }
  for (std::size_t c = 0; c < a_.cols(); ++c) g.column(c)[c] += penalty(c) * penalty(c);
  return g;
}

std::vector<double> WaveFit::differences(const std::vector<double>& x, const std::vector<double>& y) const {
  std::vector<double> residuals(y.size());
  for (std::size_t i = 0; i < y.size(); ++i) residuals[i] = -y[i];
  for (std::size_t c = 0; c < a_.cols(); ++c) {
    const double* column = a_.column(c);
    for (std::size_t i = 0; i < y.size(); ++i) residuals[i] += x[c] * column[i];
  }
  return residuals;
}

std::vector<double> WaveFit::by_normal_equations(const std::vector<double>& y,
                                                 const std::vector<double>& weights) const {
  constexpr int kRefinements = 2;  // of what squaring lost
  RealMatrix g = products(weights);
  if (!factor_positive(g)) return {};
  std::vector<double> x(a_.cols());
  std::vector<double> change(a_.cols());
  for (int i = 0; i <= kRefinements; ++i) {
    std::vector<double> off = differences(x, y);
    for (std::size_t k = 0; k < off.size(); ++k) off[k] *= -weights[k];
    for (std::size_t c = 0; c < a_.cols(); ++c) {
      change[c] = inner_product(off.data(), a_.column(c), 0, off.size()) - penalty(c) * penalty(c) * x[c];
    }
    solve_factored(g, change);
    for (std::size_t c = 0; c < x.size(); ++c) x[c] += change[c];
  }
  return x;
}

}  // namespace blindfl::mpc

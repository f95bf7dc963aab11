#include "blindfl/run/loss_trend.h"

#include <algorithm>
#include <cmath>

namespace blindfl::run {

namespace {

constexpr std::size_t kFewestPoints = 8;
constexpr double kStandardErrors = 3;
// On tables of 300 to 1,000 rows, training that ended too early fell by 3 to 21 % of its whole fall between its last
// two quarters, and training that was as good as converged by 2 % or less. Where labels are far from 0, nearly all of
// the fall is the bias', and only what is left of the loss tells.
constexpr double kOfWholeFall = 0.03;
constexpr double kOfWhatIsLeft = 0.125;

struct Quarter {
  double mean = 0;
  double squared_error = 0;  ///< of the mean
};

Quarter quarter_of(std::span<const double> points) {
  const auto n = static_cast<double>(points.size());
  Quarter quarter;
  for (const double x : points) quarter.mean += x / n;
  double squares = 0;
  for (const double x : points) squares += (x - quarter.mean) * (x - quarter.mean);
  quarter.squared_error = squares / (n - 1) / n;
  return quarter;
}

}  // namespace

bool still_falling(std::span<const double> losses) {
  std::vector<double> points;
  std::ranges::copy_if(losses, std::back_inserter(points), [](double x) { return std::isfinite(x); });
  if (points.size() < kFewestPoints) return false;
  const std::size_t size = points.size() / 4;
  const auto all = std::span<const double>(points);
  const Quarter first = quarter_of(all.first(size));
  const Quarter before = quarter_of(all.last(2 * size).first(size));
  const Quarter last = quarter_of(all.last(size));
  const double fall = before.mean - last.mean;
  const double whole_fall = std::max(first.mean, all.front()) - last.mean;
  const bool beyond_chance = fall > kStandardErrors * std::sqrt(before.squared_error + last.squared_error);
  return beyond_chance && (fall > kOfWholeFall * whole_fall || fall > kOfWhatIsLeft * std::abs(last.mean));
}

std::vector<double> training_losses(const MetricsFile& metrics) {
  std::vector<double> losses;
  for (const MetricsLine& line : metrics.lines) {
    if (line.set != "train") continue;
    const auto loss = std::ranges::find(line.values, "loss", &Measure::name);
    if (loss != line.values.end()) losses.push_back(loss->value);
  }
  return losses;
}

}  // namespace blindfl::run

#include "blindfl/mpc/smooth_function.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"
#include "blindfl/he/phase.h"
#include "blindfl/mpc/wave_fit.h"
#include "blindfl/share/share_matrix.h"

namespace blindfl::mpc {

namespace {

static_assert(kWaveUnits == 1 << SmoothFunction::kFractionalBits);

/// Periods that are tried, as multiples of the interval's length.
constexpr std::array kPeriods{.52, .56, .6, .65, .7, .76, .82, .9, 1.02, 1.1, 1.2, 1.3, 1.4, 1.55, 1.7, 1.9, 2.2, 2.6};
/// Steps of Lawson's, towards the smallest largest error.
constexpr int kLawsonSteps = 25;
/// How many candidates of the first look get these steps.
constexpr std::size_t kSecondLook = 3;
constexpr double kDefaultNoise = 0.02;
constexpr double kLargestDefaultNoise = 3e-6;
constexpr std::array kWider{2.0, 1.7, 1.5, 1.35, 1.25, 1.15, 1.07};

struct Interval {
  double low;
  double high;
  [[nodiscard]] double length() const { return high - low; }
};

/// Points to fit at: evenly, and closer together at the ends, as Chebyshev's.
std::vector<std::int64_t> points_to_fit(const Interval& on, std::size_t harmonics) {
  const std::size_t m = std::max<std::size_t>(120, 5 * harmonics);
  std::vector<std::int64_t> points;
  for (std::size_t i = 0; i <= m; ++i) {
    const double t = static_cast<double>(i) / static_cast<double>(m);
    const double cosine = he::phase_of(static_cast<std::uint32_t>(t * 0x1p31)).re;
    points.push_back(to_units(on.low + on.length() * t));
    points.push_back(to_units(on.low + on.length() * (1 - cosine) / 2));
  }
  std::ranges::sort(points);
  points.erase(std::unique(points.begin(), points.end()), points.end());
  return points;
}

double rounded(double x) {
  return std::ldexp(std::floor(std::ldexp(x, SmoothFunction::kCoefficientBits) + 0.5),
                    -SmoothFunction::kCoefficientBits);
}

SmoothFunction::Part part_of(Smooth function, const Waves& waves, const std::vector<double>& x) {
  SmoothFunction::Part part{.function = function, .constant = rounded(x[0])};
  if (waves.slope) part.slope = PublicFactor(x[1] / WaveFit::kSlopeScale).value();
  const std::size_t first = waves.slope ? 2 : 1;
  for (std::size_t j = 0; j < waves.count; ++j) {
    part.coefficients.push_back({rounded(x[first + j]), rounded(x[first + waves.count + j])});
  }
  return part;
}

double value_at(const SmoothFunction::Part& part, const std::vector<std::uint32_t>& frequencies, std::int64_t z) {
  double sum = part.constant + part.slope * from_units(z);
  for (std::size_t j = 0; j < frequencies.size(); ++j) {
    const auto u = he::phase_of(frequencies[j] * static_cast<std::uint32_t>(z));
    sum += part.coefficients[j].re * u.re - part.coefficients[j].im * u.im;
  }
  return sum;
}

/// The largest error on a grid much finer than the shortest wave.
double largest_error(const SmoothFunction::Part& part, const std::vector<std::uint32_t>& frequencies,
                     const Interval& on) {
  const std::size_t points = std::max<std::size_t>(6000, 300 * frequencies.size());
  double most = 0;
  for (std::size_t i = 0; i <= points; ++i) {
    const double t = static_cast<double>(i) / static_cast<double>(points);
    const std::int64_t z = to_units(on.low + on.length() * t);
    const double error = std::fabs(value_at(part, frequencies, z) - value_of(part.function, from_units(z)));
    most = std::max(most, error);
  }
  // Between two points of the grid it is hardly larger.
  return most * 1.001;
}

std::vector<Waves> choices(const FitSpec& spec, const Interval& on, std::size_t harmonics) {
  const bool slope = std::ranges::any_of(spec.functions, grows);
  std::vector<Waves> all;
  for (const bool odd : {false, true}) {
    for (const double period : kPeriods) {
      // Odd waves are turned over after half of their period, and fit that much.
      const double whole = SmoothFunction::kPeriod / (odd ? 2 : 1);
      const double m = std::floor(whole / (on.length() * period) + 0.5);
      if (m < 1 || SmoothFunction::kPeriod / m < 1.005 * on.length()) continue;
      for (const bool with_slope : {false, true}) {
        const Waves waves{static_cast<std::uint32_t>(m), odd, with_slope, harmonics};
        const bool known = std::ranges::any_of(
            all, [&](const Waves& w) { return w.m == waves.m && w.odd == odd && w.slope == with_slope; });
        if (!known && (slope || !with_slope)) all.push_back(waves);
      }
    }
  }
  return all;
}

struct Found {
  Waves waves;
  std::vector<SmoothFunction::Part> parts;
  std::vector<std::uint32_t> frequencies;
  double error = std::numeric_limits<double>::infinity();
};

/// The best fit with so many harmonics, if it is good enough to be looked at twice.
Found best_fit(const FitSpec& spec, const Interval& on, std::size_t harmonics) {
  const double noise = spec.noise > 0 ? spec.noise : std::min(kLargestDefaultNoise, kDefaultNoise * spec.error);
  const auto points = points_to_fit(on, harmonics);
  std::vector<std::pair<double, Waves>> looks;
  for (const Waves& waves : choices(spec, on, harmonics)) {
    double error = 0;
    const WaveFit fit(waves, points, noise);
    for (const Smooth f : spec.functions) error = std::max(error, fit.best(f, 0).error);
    looks.emplace_back(error, waves);
  }
  std::ranges::stable_sort(looks, {}, [](const auto& look) { return look.first; });
  Found best;
  for (std::size_t i = 0; i < std::min(kSecondLook, looks.size()); ++i) {
    if (looks[i].first > 4 * spec.error && i > 0) break;
    Found now{.waves = looks[i].second, .parts = {}, .frequencies = {}, .error = 0};
    for (std::size_t j = 0; j < harmonics; ++j) now.frequencies.push_back(now.waves.frequency(j));
    const WaveFit fit(now.waves, points, noise);
    for (const Smooth f : spec.functions) {
      now.parts.push_back(part_of(f, now.waves, fit.best(f, kLawsonSteps).x));
      now.parts.back().error = largest_error(now.parts.back(), now.frequencies, on);
      now.error = std::max(now.error, now.parts.back().error);
    }
    if (now.error < best.error) best = std::move(now);
    if (best.error <= spec.error) break;
  }
  return best;
}

/// The fewest harmonics that do: doubled until they do, then between.
Found smallest_fit(const FitSpec& spec, const Interval& on) {
  std::size_t too_few = 1;
  std::size_t enough = 2;
  Found found = best_fit(spec, on, enough);
  while (found.error > spec.error && enough < spec.most_harmonics) {
    too_few = enough;
    enough = std::min(2 * enough, spec.most_harmonics);
    found = best_fit(spec, on, enough);
  }
  if (found.error > spec.error) return found;
  while (enough - too_few > 1) {
    const std::size_t middle = (enough + too_few) / 2;
    Found now = best_fit(spec, on, middle);
    if (now.error <= spec.error) {
      enough = middle;
      found = std::move(now);
    } else {
      too_few = middle;
    }
  }
  return found;
}

std::string names_of(const std::vector<Smooth>& functions) {
  std::string names;
  for (const Smooth f : functions) {
    if (!names.empty()) names += ", ";
    names += name_of(f);
  }
  return names;
}

/// The end that z may pass by accident: 0 is where exponentials of differences to the largest end, and 1 where sums of
/// exponentials begin.
Interval widened(const FitSpec& spec, double factor) {
  const bool low_is_fixed = std::ranges::any_of(spec.functions, [](Smooth f) { return !defined_at(f, 0); });
  const bool high_is_fixed = std::ranges::find(spec.functions, Smooth::kExp) != spec.functions.end();
  const double more = (factor - 1) * (spec.high - spec.low);
  if (low_is_fixed) return {spec.low, spec.high + more};
  if (high_is_fixed) return {spec.low - more, spec.high};
  return {spec.low - more / 2, spec.high + more / 2};
}

void check(const FitSpec& spec) {
  require<InvalidArgument>(!spec.functions.empty(), "a fit needs a function");
  require<InvalidArgument>(std::isfinite(spec.low) && std::isfinite(spec.high) && spec.low < spec.high, "a fit of ",
                           names_of(spec.functions), " needs an interval, not [", spec.low, ", ", spec.high, "]");
  require<InvalidArgument>(spec.error > 0 && spec.most_harmonics >= 2 && spec.most_harmonics <= he::kMostFrequencies,
                           "a fit needs an error above 0 and from 2 to ", he::kMostFrequencies, " harmonics");
  for (const Smooth f : spec.functions) {
    require<InvalidArgument>(defined_at(f, spec.low), name_of(f), " is not defined at ", spec.low);
  }
  require<InvalidArgument>(std::fmax(std::fabs(spec.low), std::fabs(spec.high)) < SmoothFunction::kPeriod / 2 &&
                               1.005 * (spec.high - spec.low) < SmoothFunction::kPeriod,
                           names_of(spec.functions), " on [", spec.low, ", ", spec.high,
                           "]: shares of z wrap around after ", SmoothFunction::kPeriod);
}

}  // namespace

SmoothFunction SmoothFunction::fit(const FitSpec& spec) {
  check(spec);
  Interval on{spec.low, spec.high};
  Found found = smallest_fit(spec, on);
  require<InvalidArgument>(found.error <= spec.error, names_of(spec.functions), " on [", spec.low, ", ", spec.high,
                           "]: with ", found.frequencies.size(), " harmonics the error is ", found.error, ", and ",
                           spec.error, " was asked for. Take a shorter interval, a larger error or more harmonics");
  const std::size_t needed = found.frequencies.size();
  // Twice the interval takes about twice the harmonics: more of them take long to fit, and are for nothing.
  const std::size_t free = spec.free ? std::min({spec.free(needed), spec.most_harmonics, 5 * needed / 2}) : 0;
  if (free > needed) {
    for (const double factor : kWider) {
      const Interval wider = widened(spec, factor);
      Found now = best_fit(spec, wider, free);
      if (now.error > spec.error) continue;
      found = std::move(now);
      on = wider;
      break;
    }
  }
  SmoothFunction function;
  function.low_ = on.low;
  function.high_ = on.high;
  function.frequencies_ = std::move(found.frequencies);
  function.parts_ = std::move(found.parts);
  return function;
}

double SmoothFunction::value(std::size_t part, double z) const {
  return value_at(parts_[part], frequencies_, to_units(z));
}

bool SmoothFunction::needs_wide_shares() const {
  return std::ranges::any_of(parts_, [](const Part& p) { return p.slope != 0; });
}

Bytes SmoothFunction::digest() const {
  return digest_of(write_to_bytes([&](ByteSink& out) {
    out.write_text("blindfl smooth function 1");
    out.write_real(low_);
    out.write_real(high_);
    out.write_u64(frequencies_.size());
    for (const std::uint32_t m : frequencies_) out.write_u32(m);
    for (const Part& p : parts_) {
      out.write_text(name_of(p.function));
      out.write_real(p.constant);
      out.write_real(p.slope);
      for (const he::ComplexNumber& c : p.coefficients) {
        out.write_real(c.re);
        out.write_real(c.im);
      }
    }
  }));
}

std::string SmoothFunction::describe() const {
  std::vector<Smooth> functions;
  for (const Part& p : parts_) functions.push_back(p.function);
  return names_of(functions) + " on [" + std::to_string(low_) + ", " + std::to_string(high_) + "] with " +
         std::to_string(harmonics()) + " harmonics";
}

}  // namespace blindfl::mpc

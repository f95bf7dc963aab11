// Fits of smooth functions: as few harmonics as they should need, errors as stated, the same every time.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "blindfl/base/error.h"
#include "blindfl/base/random.h"
#include "blindfl/he/phase.h"
#include "blindfl/mpc/least_squares.h"
#include "blindfl/mpc/smooth_function.h"
#include "blindfl/mpc/wave_fit.h"
#include "blindfl/share/share_matrix.h"
#include "testing/thrown.h"

namespace blindfl::mpc::smooth_function_test {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

/// From the system's library, which the fits do not use.
double by_library(Smooth f, double z) {
  const double s = 1 / (1 + std::exp(-z));
  const double t = std::tanh(z);
  const double normal = 0.5 * std::erfc(-z / std::numbers::sqrt2);
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
  switch (f) {
    case Smooth::kSigmoid:
      return s;
    case Smooth::kSigmoidSlope:
      return s * (1 - s);
    case Smooth::kTanh:
      return t;
    case Smooth::kTanhSlope:
      return 1 - t * t;
    case Smooth::kExp:
      return std::exp(z);
    case Smooth::kLog:
      return std::log(z);
    case Smooth::kReciprocal:
      return 1 / z;
    case Smooth::kSoftplus:
      return z > 0 ? z + std::log1p(std::exp(-z)) : std::log1p(std::exp(z));
    case Smooth::kGelu:
      return z * normal;
    case Smooth::kGeluSlope:
      return normal + z * density;
    case Smooth::kSilu:
      return z * s;
    case Smooth::kSiluSlope:
      return s + z * s * (1 - s);
  }
  return 0;
}

constexpr Smooth kAll[] = {Smooth::kSigmoid, Smooth::kSigmoidSlope, Smooth::kTanh,       Smooth::kTanhSlope,
                           Smooth::kExp,     Smooth::kLog,          Smooth::kReciprocal, Smooth::kSoftplus,
                           Smooth::kGelu,    Smooth::kGeluSlope,    Smooth::kSilu,       Smooth::kSiluSlope};

TEST(SmoothValues, AreThoseOfTheLibrary) {
  for (const Smooth f : kAll) {
    for (double z = -30; z <= 30; z += 0.0371) {
      if (!defined_at(f, z)) continue;
      const double expected = by_library(f, z);
      EXPECT_NEAR(value_of(f, z), expected, 1e-14 * std::max(1.0, std::abs(expected))) << name_of(f) << " at " << z;
    }
  }
  EXPECT_NEAR(value_of(Smooth::kSigmoid, 2000), 1, 0);
  EXPECT_NEAR(value_of(Smooth::kSoftplus, -2000), 0, 0);
}

TEST(Phases, AreThoseOfTheLibrary) {
  for (std::uint64_t i = 0; i < 5000; ++i) {
    const auto angle = static_cast<std::uint32_t>(i * 858993459U + i);
    const double t = 2 * std::numbers::pi * angle * 0x1p-32;
    EXPECT_NEAR(he::phase_of(angle).re, std::cos(t), 2e-15);
    EXPECT_NEAR(he::phase_of(angle).im, std::sin(t), 2e-15);
  }
}

TEST(LeastSquares, SolvesWhatCanBeSolvedExactly) {
  RealMatrix a(4, 2);
  std::vector<double> y(4);
  for (std::size_t i = 0; i < 4; ++i) {
    a.column(0)[i] = 1;
    a.column(1)[i] = static_cast<double>(i);
    y[i] = 3 - 2 * static_cast<double>(i);
  }
  const auto x = least_squares(a, y);
  EXPECT_NEAR(x[0], 3, 1e-14);
  EXPECT_NEAR(x[1], -2, 1e-14);
}

TEST(LeastSquares, OfAPositiveMatrixAreByItsFactor) {
  RealMatrix a(2, 2);
  a.column(0)[0] = 4;
  a.column(0)[1] = a.column(1)[0] = 2;
  a.column(1)[1] = 10;
  ASSERT_TRUE(factor_positive(a));
  std::vector<double> x{10, 23};
  solve_factored(a, x);
  EXPECT_NEAR(x[0], 1.5, 1e-15);
  EXPECT_NEAR(x[1], 2, 1e-15);
  RealMatrix indefinite(2, 2);
  indefinite.column(0)[0] = 1;
  indefinite.column(0)[1] = indefinite.column(1)[0] = 2;
  indefinite.column(1)[1] = 1;
  EXPECT_FALSE(factor_positive(indefinite));
}

/// Sums of waves alone decide on a fit: these are the same far below what coefficients are rounded to.
TEST(WaveFits, AreTheSameByNormalEquationsAndByReflections) {
  std::vector<std::int64_t> points;
  std::vector<double> y;
  for (int i = 0; i <= 400; ++i) {
    points.push_back(to_units(-16 + 0.08 * i));
    y.push_back(value_of(Smooth::kSoftplus, from_units(points.back())));
  }
  SeededRandom random(3);
  std::vector<double> weights(points.size());
  for (double& w : weights) w = std::exp(2 * random.normal());
  for (const bool odd : {false, true}) {
    for (const bool slope : {false, true}) {
      const WaveFit fit({.m = odd ? 50U : 100U, .odd = odd, .slope = slope, .count = 30}, points, 1e-5);
      const std::vector<double> fast = fit.by_normal_equations(y, weights);
      const std::vector<double> slow = fit.by_reflections(y, weights);
      ASSERT_EQ(fast.size(), slow.size());
      for (std::size_t c = 0; c < fast.size(); ++c) EXPECT_NEAR(fast[c], slow[c], 1e-9) << c << (odd ? " odd" : "");
    }
  }
}

struct Case {
  std::vector<Smooth> functions;
  double low;
  double high;
  double error;
  std::size_t harmonics;  ///< what a search over all of them needs
};

TEST(SmoothFit, NeedsFewHarmonicsAndKeepsItsError) {
  const std::vector<Case> cases{
      {{Smooth::kSigmoid}, -12, 12, 1e-3, 7},
      {{Smooth::kSigmoid}, -12, 12, 1e-4, 10},
      {{Smooth::kSigmoid}, -12, 12, 1e-5, 14},
      {{Smooth::kSigmoid}, -24, 24, 1e-4, 15},
      {{Smooth::kSigmoid}, -48, 48, 1e-4, 26},
      {{Smooth::kSigmoidSlope}, -12, 12, 1e-4, 10},
      {{Smooth::kTanh}, -8, 8, 1e-4, 13},
      {{Smooth::kTanh, Smooth::kTanhSlope}, -8, 8, 1e-4, 15},
      {{Smooth::kExp}, -16, 0, 1e-4, 7},
      {{Smooth::kLog}, 1, 10, 1e-4, 6},
      {{Smooth::kReciprocal}, 1, 10, 1e-4, 8},
      {{Smooth::kSoftplus}, -12, 12, 1e-4, 8},
      {{Smooth::kGelu, Smooth::kGeluSlope}, -8, 8, 1e-4, 8},
      {{Smooth::kSilu}, -12, 12, 1e-4, 11},
      {{Smooth::kSiluSlope}, -12, 12, 1e-4, 12},
  };
  for (const Case& c : cases) {
    const auto fit = SmoothFunction::fit({.functions = c.functions, .low = c.low, .high = c.high, .error = c.error});
    const std::string what = fit.describe();
    EXPECT_LE(fit.harmonics(), c.harmonics + 1 + c.harmonics / 8) << what;
    EXPECT_EQ(fit.parts().size(), c.functions.size());
    for (std::size_t f = 0; f < c.functions.size(); ++f) {
      EXPECT_LE(fit.parts()[f].error, c.error) << what;
      double most = 0;
      for (double z = c.low; z <= c.high; z += (c.high - c.low) / 20011) {
        const double on_grid = std::floor(z * 0x1p20) * 0x1p-20;
        if (on_grid < c.low) continue;
        most = std::max(most, std::abs(fit.value(f, on_grid) - by_library(c.functions[f], on_grid)));
      }
      EXPECT_LE(most, fit.parts()[f].error * 1.01 + 1e-12) << what;
      EXPECT_GT(most, 0);
    }
  }
}

TEST(SmoothFit, IsTheSameEveryTime) {
  const FitSpec spec{.functions = {Smooth::kTanh, Smooth::kTanhSlope}, .low = -8, .high = 8, .error = 1e-3};
  const auto fit = SmoothFunction::fit(spec);
  EXPECT_EQ(fit.digest(), SmoothFunction::fit(spec).digest());
  FitSpec other = spec;
  other.high = 8.5;
  EXPECT_NE(fit.digest(), SmoothFunction::fit(other).digest());
  EXPECT_EQ(fit.digest().size(), 32U);
}

// On every machine: operations are IEEE 754's, coefficients are rounded.
TEST(SmoothFit, IsTheSameEverywhere) {
  const auto fit = SmoothFunction::fit({.functions = {Smooth::kSigmoid}, .low = -12, .high = 12, .error = 1e-3});
  std::string hex;
  for (const std::byte b : fit.digest()) {
    hex += "0123456789abcdef"[std::to_integer<unsigned>(b) >> 4];
    hex += "0123456789abcdef"[std::to_integer<unsigned>(b) & 15U];
  }
  EXPECT_EQ(hex, "f295c04d7c2e747a9d1c7a6643e3681ee4bfb418fe2d53482324fce46e8b5ea1");
}

TEST(SmoothFit, FreeHarmonicsWidenTheInterval) {
  FitSpec spec{.functions = {Smooth::kSigmoid}, .low = -12, .high = 12, .error = 1e-4};
  spec.free = [](std::size_t needed) { return std::max<std::size_t>(needed, 16); };
  const auto fit = SmoothFunction::fit(spec);
  EXPECT_EQ(fit.harmonics(), 16U);
  EXPECT_GE(fit.high(), 18);
  EXPECT_EQ(fit.low(), -fit.high());
  EXPECT_LE(fit.parts()[0].error, 1e-4);
  spec.functions = {Smooth::kExp};
  spec.low = -16;
  spec.high = 0.05;
  const auto exp = SmoothFunction::fit(spec);
  EXPECT_EQ(exp.high(), 0.05) << "nothing is above";
  EXPECT_LT(exp.low(), -20);
}

TEST(SmoothFit, OddWavesComeCloseBeyondTheInterval) {
  const auto fit = SmoothFunction::fit({.functions = {Smooth::kSigmoid}, .low = -12, .high = 12, .error = 1e-4});
  EXPECT_NEAR(fit.value(0, 15), 1, 1e-2);
  EXPECT_NEAR(fit.value(0, -15), 0, 1e-2);
}

TEST(SmoothFit, SmallCoefficientsCanBeAskedFor) {
  const auto sum = [](const SmoothFunction& f) {
    double sum = 0;
    for (const auto& c : f.parts()[0].coefficients) sum += std::hypot(c.re, c.im);
    return sum;
  };
  FitSpec spec{.functions = {Smooth::kExp}, .low = -16, .high = 0.02, .error = 1e-4};
  const double easy = sum(SmoothFunction::fit(spec));
  spec.noise = 1e-5;
  EXPECT_LT(sum(SmoothFunction::fit(spec)), easy / 2);
}

TEST(SmoothFit, RefusesWithTheNumbers) {
  FitSpec spec{.functions = {Smooth::kSigmoid}, .low = -300, .high = 300, .error = 1e-5, .most_harmonics = 16};
  EXPECT_THAT(message_of<InvalidArgument>([&] { (void)SmoothFunction::fit(spec); }),
              AllOf(HasSubstr("sigmoid on [-300, 300]"), HasSubstr("with 16 harmonics the error is"),
                    HasSubstr("1e-05 was asked for")));
  spec.high = 3000;
  EXPECT_THAT(message_of<InvalidArgument>([&] { (void)SmoothFunction::fit(spec); }),
              HasSubstr("wrap around after 4096"));
  spec = {.functions = {Smooth::kLog}, .low = 0, .high = 3};
  EXPECT_THAT(message_of<InvalidArgument>([&] { (void)SmoothFunction::fit(spec); }),
              HasSubstr("log is not defined at 0"));
  spec = {.functions = {Smooth::kExp}, .low = 3, .high = 3};
  EXPECT_THAT(message_of<InvalidArgument>([&] { (void)SmoothFunction::fit(spec); }), HasSubstr("needs an interval"));
}

}  // namespace
}  // namespace blindfl::mpc::smooth_function_test

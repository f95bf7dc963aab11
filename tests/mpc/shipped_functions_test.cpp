// What a shared top's layers and losses evaluate, as shipped: on their own intervals, with their own errors and length
// of a run, between two parties through real ciphertexts.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <string>

#include "blindfl/mpc/smooth_evaluation.h"
#include "blindfl/mpc/top_parts.h"
#include "mpc/shared_fixture.h"
#include "testing/real_data.h"
#include "testing/sanitizers.h"

namespace blindfl::mpc::shipped_functions_test {
namespace {

constexpr std::size_t kWidth = 64;
constexpr std::size_t kClasses = 4;

/// Of a job that says nothing else: ten epochs of a9a.
SharedTopOptions shipped() {
  return {.batch = 128, .sgd = {.learning_rate = 0.05, .momentum = 0.9, .steps = 2550}};
}

FunctionSpec before(SmoothActivation activation) {
  return activation_parts(activation, kWidth, shipped()).function;
}
FunctionSpec of_loss(Family family, std::size_t which = 0) {
  return loss_functions(family, family == Family::kMultinomial ? kClasses : 1, shipped()).at(which);
}

/// As docs/protocols.md states it.
struct Case {
  std::string name;
  FunctionSpec spec;
  double low = 0;
  double high = 0;
  double error = 0;  ///< of the fit
  double noise = 0;  ///< of the product, as a standard deviation
};

/// From one end of the interval to the other, the first value at that place of it.
std::vector<double> spread(const SmoothFunction& fit, std::size_t count, std::size_t first) {
  const double unit = std::ldexp(1.0, -SmoothFunction::kFractionalBits);
  std::vector<double> z(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto place = static_cast<double>((i + first) % count) / static_cast<double>(count - 1);
    const double at = std::round((fit.low() + (fit.high() - fit.low()) * place) / unit) * unit;
    z[i] = std::clamp(at, std::ceil(fit.low() / unit) * unit, std::floor(fit.high() / unit) * unit);
  }
  return z;
}

class ShippedFunctions : public ::testing::TestWithParam<Case> {};

TEST_P(ShippedFunctions, AreAsExactAsStatedInEverySlot) {
  const Case& c = GetParam();
  const auto plan = plan_function(lattice(), c.spec, shipped());
  const SmoothFunction& fit = plan->function();
  EXPECT_LE(fit.low(), c.low);
  EXPECT_GE(fit.high(), c.high);
  const std::size_t rows = plan->spec().rows;
  const std::size_t cols = plan->spec().cols;
  const std::size_t count = rows * cols;
  // With BLINDFL_LONG_RUNS every slot sees all of the interval.
  const std::size_t passes = testing::long_runs() ? 256 : std::max<std::size_t>(1, 1024 / count);
  std::vector<double> furthest(fit.parts().size());
  std::vector<double> squares(fit.parts().size());
  SharedParties parties;
  std::pair<std::unique_ptr<SmoothEvaluation>, std::unique_ptr<SmoothEvaluation>> evaluation;
  const auto of = [&](Session & s) -> auto& {
    return s.party() == Party::kA ? evaluation.first : evaluation.second;
  };
  parties.run([&](Session& s) { of(s) = std::make_unique<SmoothEvaluation>(s, plan, Party::kB); });
  for (std::size_t pass = 0; pass < passes; ++pass) {
    const std::vector<double> z = spread(fit, count, pass * count / passes);
    const SharedPair shares = shared(rows, cols, z, 20);
    const auto [a, b] = parties.run([&](Session& s) { return of(s)->evaluate(shares.of(s.party())); });
    for (std::size_t f = 0; f < a.size(); ++f) {
      const std::vector<double> found = SharedPair{a[f], b[f]}.reals();
      for (std::size_t i = 0; i < count; ++i) {
        const double off = std::abs(found[i] - value_of(fit.parts()[f].function, z[i]));
        ASSERT_LE(off, plan->error(f)) << name_of(fit.parts()[f].function) << " of " << z[i] << ", slot " << i;
        furthest[f] = std::max(furthest[f], off);
        squares[f] += std::pow(found[i] - fit.value(f, z[i]), 2) / static_cast<double>(count * passes);
      }
    }
  }
  for (std::size_t f = 0; f < fit.parts().size(); ++f) {
    EXPECT_LE(fit.parts()[f].error, c.error);
    const double deviation = std::sqrt(squares[f]);
    EXPECT_LE(deviation, 1.1 * plan->products()->deviation(f));
    EXPECT_LE(deviation, c.noise);
    if (!testing::long_runs()) continue;
    std::cout << std::setprecision(2) << name_of(fit.parts()[f].function) << " from " << fit.low() << " to "
              << fit.high() << ", " << fit.harmonics() << " harmonics, " << count * passes << " values: at most "
              << furthest[f] << " off; fit " << fit.parts()[f].error << ", deviation " << deviation << "\n";
  }
}

std::vector<Case> cases() {
  const FunctionSpec reciprocal{.what = "sums of exponentials",
                                .functions = {Smooth::kReciprocal},
                                .low = 0.9,
                                .high = 10.1,
                                .error = 2e-5,
                                .cols = 1};
  const FunctionSpec softplus = *loss_value_parts(Family::kLogistic, 1, shipped()).softplus;
  std::vector<Case> all{{"logistic", of_loss(Family::kLogistic), -48, 48, 2e-5, 4e-5},
                        {"differences_to_the_largest", of_loss(Family::kMultinomial, 0), -48, 0, 2e-5, 3e-4},
                        {"sums_of_exponentials", of_loss(Family::kMultinomial, 1), 1, kClasses, 2e-5, 3e-5},
                        {"logarithms_of_probabilities", of_loss(Family::kMultinomial, 2), -48, 0, 2e-5, 3e-4},
                        {"counts", of_loss(Family::kPoisson), -10, 5, 5e-4, 9e-3},
                        {"softplus", softplus, -48, 48, 1e-4, 9e-4},
                        {"reciprocal", reciprocal, 0.9, 10.1, 2e-5, 1e-4},
                        {"tanh", before(SmoothActivation::kTanh), -16, 16, 3e-5, 5e-4},
                        {"sigmoid", before(SmoothActivation::kSigmoid), -16, 16, 3e-5, 2e-4},
                        {"gelu", before(SmoothActivation::kGelu), -16, 16, 3e-5, 1.1e-3},
                        {"silu", before(SmoothActivation::kSilu), -16, 16, 3e-5, 1.5e-3}};
#if defined(BLINDFL_ADDRESS_SANITIZER) || defined(BLINDFL_THREAD_SANITIZER)
  all.erase(all.begin() + 1, all.end());  // fits have no secrets, and no bytes of a peer's
#endif
  return all;
}

INSTANTIATE_TEST_SUITE_P(Fits, ShippedFunctions, ::testing::ValuesIn(cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace blindfl::mpc::shipped_functions_test

#include "blindfl/protocol/layers/momentum_sums.h"

#include <gtest/gtest.h>

#include <cmath>

#include "blindfl/base/random.h"

namespace blindfl::protocol::momentum_sums_test {
namespace {

SgdOptions options(double momentum) {
  return {.learning_rate = 0.1,
          .momentum = momentum,
          .schedule = {{.step = 50, .learning_rate = 0.02}, {.step = 130, .learning_rate = 0.05}},
          .steps = 300};
}

class Momentum : public ::testing::TestWithParam<double> {
 protected:
  SgdPlan plan_{options(GetParam())};
  MomentumSums sums_{plan_};
};
INSTANTIATE_TEST_SUITE_P(Momenta, Momentum, ::testing::Values(0.0, 0.3, 0.5, 0.9, 0.99));

/// The optimizer as torch has it.
struct Sgd {
  void step(const SgdPlan& plan, std::size_t t, double gradient) {
    buffer = plan.options().momentum * buffer + gradient;
    weight -= plan.learning_rate_at(t) * buffer;
  }
  double weight = 0;
  double buffer = 0;
};

TEST_P(Momentum, TwoRunningSumsGiveTheWeightsOfSgdAfterEveryStep) {
  SeededRandom random(1);
  Sgd sgd;
  double sum = 0;
  std::vector<double> windows;
  for (std::size_t t = 0; t < 300; ++t) {
    const double gradient = random.normal();
    sgd.step(plan_, t, gradient);
    sum += sums_.coefficient(t) * gradient;
    windows.resize(sums_.window_of(t) + 1);
    windows.back() += sums_.growth(t) * gradient;

    const std::size_t done = t + 1;
    double weight = -sum;
    if (sums_.has_momentum()) {
      // The window that runs, and the one before it.
      const std::size_t now = sums_.window_of(done);
      if (now < windows.size()) weight += sums_.fading(done, now) * windows[now];
      if (now > 0) weight += sums_.fading(done, now - 1) * windows[now - 1];
    }
    ASSERT_NEAR(weight, sgd.weight, 1e-7) << "step " << t;
  }
}

TEST_P(Momentum, CoefficientsAndGrowthStayBelowTheirBounds) {
  for (std::size_t t = 0; t < 300; ++t) {
    EXPECT_LE(sums_.coefficient(t), sums_.largest_coefficient() * (1 + 1e-12));
    EXPECT_GT(sums_.coefficient(t), 0);
    if (sums_.has_momentum()) {
      EXPECT_LE(sums_.growth(t), sums_.largest_growth());
    }
  }
  if (sums_.has_momentum()) {
    EXPECT_GE(sums_.largest_growth(), 0x1p32);
    EXPECT_LT(sums_.largest_growth(), 0x1p32 / GetParam() * 1.001);
  }
}

TEST_P(Momentum, IdleStepsMoveTheWeightsAsMomentumDoes) {
  for (const std::size_t from : {0, 10, 49, 129, 200}) {
    for (const std::size_t idle : {0, 1, 5, 90}) {
      Sgd sgd{.weight = 0, .buffer = 1};
      for (std::size_t t = from; t < from + idle; ++t) sgd.step(plan_, t, 0);
      const MomentumSums::Idle meanwhile = sums_.idle(from, idle);
      EXPECT_NEAR(meanwhile.moved, -sgd.weight, 1e-12);
      EXPECT_NEAR(meanwhile.momentum, sgd.buffer, 1e-12);
    }
  }
}

TEST(MomentumWindows, AreAsLongAsTheDesignSays) {
  EXPECT_EQ(MomentumSums(SgdPlan({.momentum = 0.9})).window(), 211U);
  EXPECT_EQ(MomentumSums(SgdPlan({.momentum = 0.99})).window(), 2207U);
}

}  // namespace
}  // namespace blindfl::protocol::momentum_sums_test

#include "blindfl/run/loss_trend.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <sstream>

#include "blindfl/base/random.h"

namespace blindfl::run::loss_trend_test {
namespace {

/// A loss by the part of training that is over, 0 to 1, with noise of that size.
std::vector<double> course(std::size_t points, double noise, const std::function<double(double)>& loss,
                           std::uint64_t seed = 7) {
  SeededRandom random(seed);
  std::vector<double> losses;
  for (std::size_t i = 0; i < points; ++i) {
    const double chance = static_cast<double>(random.below(2001)) / 1000 - 1;
    losses.push_back(loss(static_cast<double>(i) / static_cast<double>(points)) + noise * chance);
  }
  return losses;
}

TEST(LossTrend, FallsWhereTrainingEndedTooEarly) {
  // Ten epochs of five steps, of a logistic regression that needs a thousand.
  EXPECT_TRUE(still_falling(course(50, 0.03, [](double t) { return 0.69 - 0.2 * t; })));
  EXPECT_TRUE(still_falling(course(400, 0.1, [](double t) { return 0.3 + 0.4 * std::exp(-2 * t); })));
}

TEST(LossTrend, DoesNotFallWhereItHasConverged) {
  EXPECT_FALSE(still_falling(course(400, 0.05, [](double t) { return 0.3 + 0.4 * std::exp(-20 * t); })));
  // What classes that can be told apart do for ever: a little, and it changes no prediction.
  EXPECT_FALSE(still_falling(course(400, 0.01, [](double t) { return 0.08 + 0.61 * std::exp(-40 * t) - 0.01 * t; })));
  EXPECT_FALSE(still_falling(course(400, 0.0, [](double) { return 0.5; })));
  EXPECT_FALSE(still_falling(course(100, 0.01, [](double t) { return 0.3 + 0.3 * t; }))) << "it rises";
}

TEST(LossTrend, DoesNotFallWhereChanceExplainsIt) {
  int said = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    said += still_falling(course(
                40, 0.6, [](double t) { return 0.69 - 0.1 * t; }, seed))
                ? 1
                : 0;
  }
  EXPECT_LE(said, 5) << "of a hundred courses in which chance is much larger than the fall";
  EXPECT_FALSE(still_falling(std::vector<double>{0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1})) << "too few points to tell";
}

TEST(LossTrend, SeesBeyondABiasThatWasFarOff) {
  // Labels around 20: the loss starts at 200, and what is left still halves.
  EXPECT_TRUE(
      still_falling(course(200, 0.05, [](double t) { return 200 * std::exp(-60 * t) + 2 * std::exp(-3 * t); })));
}

TEST(LossTrend, TakesTheTrainingLossFromALog) {
  std::istringstream log(R"({"step":1,"epoch":1,"seconds":1,"set":"train","values":{"rows_per_second":9,"loss":0.5}}
{"step":1,"epoch":1,"seconds":1,"set":"validation","values":{"loss":0.7}}
{"step":2,"epoch":1,"seconds":1,"set":"train","values":{"rows_per_second":9}}
{"step":3,"epoch":1,"seconds":1,"set":"train","values":{"loss":null}}
)");
  const std::vector<double> losses = training_losses(read_metrics(log, "log"));
  ASSERT_EQ(losses.size(), 2U);
  EXPECT_EQ(losses[0], 0.5);
  EXPECT_TRUE(std::isnan(losses[1]));
}

}  // namespace
}  // namespace blindfl::run::loss_trend_test

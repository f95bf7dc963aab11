// What mini-batches cost: counted, measured and predicted.

#include "blindfl/lab/secureml/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blindfl/base/error.h"
#include "lab/secureml/ways.h"

namespace blindfl::lab::secureml::measure_test {
namespace {

using ::testing::HasSubstr;

class MeasuredWays : public ::testing::TestWithParam<Triplets> {};

TEST_P(MeasuredWays, TakeTimeBytesAndMemory) {
  const BatchCost cost = measure_batch({.batch = 16, .features = 40, .outputs = 2}, GetParam(), 3);
  EXPECT_GT(cost.seconds, 0);
  EXPECT_GT(cost.memory, 16U * 40 * 8 * 4);
  // Differences from masks travel both ways, in all of them.
  EXPECT_GE(cost.bytes, 2U * 8 * 2 * (40 + 16));
}

TEST_P(MeasuredWays, GrowWithFeaturesAsAStraightLine) {
  const BatchShape shape{.batch = 16, .features = 3000, .outputs = 1};
  const Prediction predicted = predict_batch(shape, GetParam(), 2, 600);
  EXPECT_EQ(predicted.how, "measured at 300 and 600 features, along a straight line");
  EXPECT_TRUE(predicted.extrapolated);
  const BatchCost measured = measure_batch(shape, GetParam(), 2);
  EXPECT_NEAR(static_cast<double>(predicted.cost.bytes) / static_cast<double>(measured.bytes), 1, 0.2);
  EXPECT_EQ(predicted.cost.memory, measured.memory);
}

INSTANTIATE_TEST_SUITE_P(Ways, MeasuredWays, ::testing::ValuesIn(kWays), way_name);

TEST(Measured, BytesOfAThirdPartyAreCountedOnce) {
  const BatchCost cost = measure_batch({.batch = 4, .features = 10, .outputs = 1}, Triplets::kThirdParty, 2);
  const std::uint64_t opened = 2 * 8 * (10 + 4);
  const std::uint64_t requests = 2 * (28 + 4 * 4);
  const std::uint64_t dealt = 4 * 32 + 8 * (4 + 10);
  EXPECT_EQ(cost.bytes, opened + requests + dealt);
}

TEST(Measured, BytesOfObliviousTransferAreThoseOfItsPlan) {
  const BatchShape shape{.batch = 64, .features = 200, .outputs = 1};
  const BatchCost cost = measure_batch(shape, Triplets::kObliviousTransfer, 4);
  const std::uint64_t opened = 2 * 8 * (200 + 64);
  const std::uint64_t triplets = ObliviousPlan(64, 200, 1).bytes() + ObliviousPlan(200, 64, 1).bytes();
  EXPECT_NEAR(static_cast<double>(cost.bytes), static_cast<double>(opened + triplets),
              0.01 * static_cast<double>(triplets));
}

TEST(Measured, SmallShapesAreMeasuredThemselves) {
  const Prediction small = predict_batch({.batch = 4, .features = 10, .outputs = 1}, Triplets::kThirdParty, 1);
  EXPECT_EQ(small.how, "measured");
  EXPECT_FALSE(small.extrapolated);
  EXPECT_THROW((void)measure_batch({.batch = 4, .features = 0, .outputs = 1}, Triplets::kThirdParty, 1),
               InvalidArgument);
  EXPECT_THROW((void)measure_batch({.batch = 4, .features = 1, .outputs = 1}, Triplets::kThirdParty, 0),
               InvalidArgument);
}

TEST(Refusal, SaysHowMuchMemoryIsMissing) {
  const BatchShape industry{.batch = 128, .features = 10'000'000, .outputs = 1};
  const Limits limits{.memory = 16'000'000'000};
  for (const Triplets way : kWays) {
    const auto words = refusal(industry, way, limits);
    ASSERT_TRUE(words.has_value()) << name_of(way);
    EXPECT_THAT(*words,
                HasSubstr("of memory for 128 rows of 10,000,000 features, zeros included, and 16 GB are there"));
  }
  // Shares and openings at both parties, at the least.
  EXPECT_GT(batch_memory(industry, Triplets::kThirdParty), std::uint64_t{4} * 8 * 128 * 10'000'000);
  EXPECT_EQ(data_set_memory(1000, 10'000'000), std::uint64_t{6} * 8 * 1000 * 10'000'000);
}

TEST(Refusal, SaysHowLongItWouldTake) {
  const BatchShape shape{.batch = 32, .features = 500, .outputs = 1};
  EXPECT_FALSE(refusal(shape, Triplets::kThirdParty, {.memory = 1'000'000'000}).has_value());
  const auto words = refusal(shape, Triplets::kThirdParty, {.memory = 1'000'000'000, .seconds = 1e-9});
  ASSERT_TRUE(words.has_value());
  EXPECT_THAT(*words, ::testing::AllOf(HasSubstr("for a mini-batch (measured), and "), HasSubstr("are allowed")));
  const Prediction hour{.cost = {.seconds = 3600}, .how = "measured at 10 and 20 features, along a straight line"};
  EXPECT_FALSE(refusal_by_time(hour, {.seconds = 3600}).has_value());
  EXPECT_EQ(
      refusal_by_time(hour, {.seconds = 60}).value_or(""),
      "takes 1 h 00 min for a mini-batch (measured at 10 and 20 features, along a straight line), and 1 min 00 s are "
      "allowed");
}

}  // namespace
}  // namespace blindfl::lab::secureml::measure_test

#include "blindfl/net/step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"

namespace blindfl::net {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(Step, NumbersAscendWithoutRepetition) {
  std::vector<Step> steps;
  for (const StepInfo& info : all_steps()) steps.push_back(info.step);
  ASSERT_FALSE(steps.empty());
  EXPECT_EQ(std::ranges::adjacent_find(steps, std::ranges::greater_equal{}), steps.end());
}

TEST(Step, NumbersAreThoseOfTheWireFormat) {
  const std::vector<std::pair<Step, unsigned>> numbers = {
      {Step::kPublicKey, 1},
      {Step::kAgreement, 2},
      {Step::kHello, 3},
      {Step::kSettings, 4},
      {Step::kPing, 5},
      {Step::kForwardOperand, 10},
      {Step::kForwardProduct, 11},
      {Step::kOutputShare, 12},
      {Step::kDerivativeOperand, 13},
      {Step::kGradientProduct, 14},
      {Step::kTableOperand, 20},
      {Step::kLookupProduct, 21},
      {Step::kWeightOperand, 22},
      {Step::kEmbeddingProduct, 23},
      {Step::kEmbeddingOperand, 24},
      {Step::kWeightGradient, 25},
      {Step::kBackwardOperand, 26},
      {Step::kEmbeddingDerivative, 27},
      {Step::kDerivativeShare, 28},
      {Step::kTableGradient, 29},
      {Step::kIdCount, 30},
      {Step::kBlindedIds, 31},
      {Step::kDoubleBlindedIds, 32},
      {Step::kShuffledIds, 33},
      {Step::kMissingIds, 34},
      {Step::kNamedIds, 35},
      {Step::kAlignedOrder, 36},
      {Step::kKeptAlignments, 37},
      {Step::kFeatureShape, 40},
      {Step::kRunOffer, 41},
      {Step::kStopVote, 42},
  };
  ASSERT_EQ(numbers.size(), all_steps().size());
  for (const auto& [step, number] : numbers) {
    EXPECT_EQ(static_cast<unsigned>(step), number);
    EXPECT_EQ(describe(step).step, step);
  }
}

TEST(Step, SaysWhatItContainsAndReveals) {
  std::set<std::string_view> names;
  for (const StepInfo& info : all_steps()) {
    EXPECT_FALSE(info.name.empty());
    EXPECT_FALSE(info.contains.empty()) << info.name;
    EXPECT_FALSE(info.reveals.empty()) << info.name;
    EXPECT_TRUE(names.insert(info.name).second) << info.name << " is the name of two steps";
    EXPECT_EQ(&describe(info.step), &info);
    EXPECT_EQ(name_of(info.step), info.name);
    EXPECT_NE(info.name, "unknown");
    EXPECT_EQ(find_step(info.name), &info);
    EXPECT_FALSE(name_of(info.protection).empty());
    for (const std::string_view words : {info.name, info.contains, info.reveals}) {
      EXPECT_EQ(words.find_first_of("\t\n"), std::string_view::npos) << "ledgers have it as a field of a line";
    }
  }
}

TEST(Step, SaysWhatProtectsIt) {
  const std::vector<std::pair<Step, std::string_view>> protections = {
      {Step::kPublicKey, "public"},
      {Step::kAgreement, "public"},
      {Step::kForwardOperand, "encrypted"},
      {Step::kForwardProduct, "masked"},
      {Step::kOutputShare, "share"},
      {Step::kDerivativeOperand, "encrypted"},
      {Step::kGradientProduct, "masked"},
      {Step::kHello, "public"},
      {Step::kSettings, "public"},
      {Step::kPing, "public"},
      {Step::kTableOperand, "encrypted"},
      {Step::kLookupProduct, "masked"},
      {Step::kWeightOperand, "encrypted"},
      {Step::kEmbeddingProduct, "masked"},
      {Step::kEmbeddingOperand, "encrypted"},
      {Step::kWeightGradient, "masked"},
      {Step::kBackwardOperand, "encrypted"},
      {Step::kEmbeddingDerivative, "masked"},
      {Step::kDerivativeShare, "encrypted"},
      {Step::kTableGradient, "masked"},
      {Step::kIdCount, "public"},
      {Step::kBlindedIds, "blinded"},
      {Step::kDoubleBlindedIds, "blinded"},
      {Step::kShuffledIds, "blinded"},
      {Step::kMissingIds, "blinded"},
      {Step::kNamedIds, "blinded"},
      {Step::kAlignedOrder, "public"},
      {Step::kKeptAlignments, "public"},
      {Step::kFeatureShape, "public"},
      {Step::kRunOffer, "public"},
      {Step::kStopVote, "public"},
  };
  ASSERT_EQ(protections.size(), all_steps().size());
  for (const auto& [step, protection] : protections) EXPECT_EQ(name_of(describe(step).protection), protection);
  for (const StepInfo& info : all_steps()) {
    const bool encrypted = info.protection == Protection::kEncrypted || info.protection == Protection::kMasked;
    EXPECT_EQ(info.contains.find("encrypted under") != std::string_view::npos, encrypted) << info.name;
    EXPECT_EQ(info.contains.find("mask") != std::string_view::npos, info.protection == Protection::kMasked);
    // Whoever multiplies masks, under the key of whoever opens: a party is named only where it is always the same.
    const bool under_the_senders = info.contains.find("under the sender's key") != std::string_view::npos;
    const bool under_the_receivers = info.contains.find("under the receiver's key") != std::string_view::npos;
    EXPECT_FALSE(under_the_senders && info.protection != Protection::kEncrypted) << info.name;
    EXPECT_FALSE(under_the_receivers && info.protection != Protection::kMasked) << info.name;
  }
}

TEST(Step, IsUnknownIfThereIsNoSuchNumber) {
  for (const unsigned number : {0U, 6U, 9U, 15U, 19U, 38U, 9999U, 0xFFFFU}) {
    const auto step = static_cast<Step>(number);
    EXPECT_THAT([&] { (void)describe(step); }, ThrowsMessage<InvalidArgument>(HasSubstr(std::to_string(number))));
    EXPECT_EQ(name_of(step), "unknown");
  }
  EXPECT_EQ(find_step("unknown"), nullptr);
  EXPECT_EQ(find_step(""), nullptr);
}

}  // namespace
}  // namespace blindfl::net

#include "blindfl/net/step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"
#include "testing/steps.h"

namespace blindfl::net::step_test {
namespace {

using testing::all_steps;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(Step, NumbersAscendWithoutRepetition) {
  std::vector<Step> steps;
  for (const Step& step : all_steps().steps()) steps.push_back(step);
  ASSERT_FALSE(steps.empty());
  EXPECT_EQ(std::ranges::adjacent_find(steps, std::ranges::greater_equal{}), steps.end());
}

TEST(Step, NumbersAreThoseOfTheWireFormat) {
  const std::vector<std::pair<Step, unsigned>> numbers = {
      {protocol::steps::kPublicKey, 1},
      {protocol::steps::kAgreement, 2},
      {protocol::steps::kHello, 3},
      {protocol::steps::kSettings, 4},
      {steps::kPing, 5},
      {protocol::steps::kScoringCoin, 6},
      {protocol::steps::kObliviousHello, 7},
      {protocol::steps::kObliviousTrees, 8},
      {protocol::steps::kObliviousTiles, 9},
      {protocol::steps::kForwardOperand, 10},
      {protocol::steps::kForwardProduct, 11},
      {protocol::steps::kOutputShare, 12},
      {protocol::steps::kLiftChoices, 70},
      {protocol::steps::kLiftWords, 71},
      {protocol::steps::kDerivativeOperand, 13},
      {protocol::steps::kGradientProduct, 14},
      {protocol::steps::kKeptProduct, 15},
      {protocol::steps::kSharedDerivative, 16},
      {protocol::steps::kSharedGradient, 17},
      {protocol::steps::kPieceCorrection, 19},
      {protocol::steps::kTableOperand, 20},
      {protocol::steps::kLookupProduct, 21},
      {protocol::steps::kWeightOperand, 22},
      {protocol::steps::kEmbeddingProduct, 23},
      {protocol::steps::kEmbeddingOperand, 24},
      {protocol::steps::kWeightGradient, 25},
      {protocol::steps::kBackwardOperand, 26},
      {protocol::steps::kEmbeddingDerivative, 27},
      {protocol::steps::kDerivativeShare, 28},
      {protocol::steps::kTableGradient, 29},
      {protocol::steps::kIdCount, 30},
      {protocol::steps::kBlindedIds, 31},
      {protocol::steps::kDoubleBlindedIds, 32},
      {protocol::steps::kShuffledIds, 33},
      {protocol::steps::kMissingIds, 34},
      {protocol::steps::kNamedIds, 35},
      {protocol::steps::kAlignedOrder, 36},
      {protocol::steps::kKeptAlignments, 37},
      {protocol::steps::kAlignmentNonces, 110},
      {protocol::steps::kHiddenIds, 111},
      {protocol::steps::kAnsweredIds, 112},
      {protocol::steps::kCommonCount, 113},
      {protocol::steps::kCommonIds, 114},
      {protocol::steps::kOrderProofs, 115},
      {run::steps::kFeatureShape, 40},
      {run::steps::kRunOffer, 41},
      {run::steps::kStopVote, 42},
      {run::steps::kGathering, 43},
      {run::steps::kShapeOfOther, 44},
      {protocol::steps::kMaskOffer, 100},
      {protocol::steps::kMaskOffers, 101},
      {protocol::steps::kMaskProof, 102},
      {protocol::steps::kMaskProofs, 103},
      {protocol::steps::kMaskVerdict, 104},
      {protocol::steps::kMaskVerdicts, 105},
      {protocol::steps::kMaskedOutputShare, 106},
      {mpc::steps::kComparison, 50},
      {mpc::steps::kChoices, 51},
      {mpc::steps::kSelection, 52},
      {mpc::steps::kBitProducts, 53},
      {mpc::steps::kFunctionOperand, 54},
      {mpc::steps::kFunctionReply, 55},
      {mpc::steps::kSharedOperand, 56},
      {mpc::steps::kSharedProduct, 57},
      {mpc::steps::kElementOperand, 58},
      {mpc::steps::kElementReply, 59},
      {mpc::steps::kSumShare, 60},
      {mpc::steps::kScoreShare, 61},
      {mpc::steps::kRangeShare, 62},
      {mpc::steps::kInputDifference, 63},
      {protocol::steps::kLookupAsk, 72},
      {protocol::steps::kLookupKeys, 73},
      {protocol::steps::kPaddedTable, 74},
      {protocol::steps::kPaddedDerivative, 75},
      {lab::secureml::steps::kInputShare, 80},
      {lab::secureml::steps::kMatrixDifference, 81},
      {lab::secureml::steps::kWordChoices, 82},
      {lab::secureml::steps::kWordProducts, 83},
      {lab::secureml::steps::kTripletOperand, 84},
      {lab::secureml::steps::kTripletProduct, 85},
      {lab::secureml::steps::kTripletRequest, 86},
      {lab::secureml::steps::kDealtSeed, 87},
      {lab::secureml::steps::kDealtCorrection, 88},
  };
  ASSERT_EQ(numbers.size(), all_steps().steps().size());
  for (const auto& [step, number] : numbers) {
    EXPECT_EQ(step.number(), number);
    EXPECT_EQ(describe(step).number, number);
  }
}

TEST(Step, SaysWhatItContainsAndReveals) {
  std::set<std::string_view> names;
  for (const Step& step : all_steps().steps()) {
    const StepInfo& info = describe(step);
    EXPECT_FALSE(info.name.empty());
    EXPECT_FALSE(info.contains.empty()) << info.name;
    EXPECT_FALSE(info.reveals.empty()) << info.name;
    EXPECT_TRUE(names.insert(info.name).second) << info.name << " is the name of two steps";
    EXPECT_EQ(name_of(step), info.name);
    EXPECT_NE(info.name, "unknown");
    EXPECT_EQ(all_steps().find(info.name), &info);
    EXPECT_EQ(all_steps().known(Step::numbered(info.number)).info(), &info);
    EXPECT_FALSE(name_of(info.protection).empty());
    for (const std::string_view words : {info.name, info.contains, info.reveals}) {
      EXPECT_EQ(words.find_first_of("\t\n"), std::string_view::npos) << "ledgers have it as a field of a line";
    }
  }
}

TEST(Step, SaysWhatProtectsIt) {
  const std::vector<std::pair<Step, std::string_view>> protections = {
      {protocol::steps::kPublicKey, "public"},
      {protocol::steps::kAgreement, "public"},
      {protocol::steps::kForwardOperand, "encrypted"},
      {protocol::steps::kForwardProduct, "masked"},
      {protocol::steps::kOutputShare, "share"},
      {protocol::steps::kLiftChoices, "padded"},
      {protocol::steps::kLiftWords, "padded"},
      {protocol::steps::kDerivativeOperand, "encrypted"},
      {protocol::steps::kGradientProduct, "masked"},
      {protocol::steps::kHello, "public"},
      {protocol::steps::kSettings, "public"},
      {steps::kPing, "public"},
      {protocol::steps::kScoringCoin, "public"},
      {protocol::steps::kKeptProduct, "masked"},
      {protocol::steps::kSharedDerivative, "encrypted"},
      {protocol::steps::kSharedGradient, "masked"},
      {protocol::steps::kPieceCorrection, "share"},
      {protocol::steps::kTableOperand, "encrypted"},
      {protocol::steps::kLookupProduct, "masked"},
      {protocol::steps::kWeightOperand, "encrypted"},
      {protocol::steps::kEmbeddingProduct, "masked"},
      {protocol::steps::kEmbeddingOperand, "encrypted"},
      {protocol::steps::kWeightGradient, "masked"},
      {protocol::steps::kBackwardOperand, "encrypted"},
      {protocol::steps::kEmbeddingDerivative, "masked"},
      {protocol::steps::kDerivativeShare, "encrypted"},
      {protocol::steps::kTableGradient, "masked"},
      {protocol::steps::kIdCount, "public"},
      {protocol::steps::kBlindedIds, "blinded"},
      {protocol::steps::kDoubleBlindedIds, "blinded"},
      {protocol::steps::kShuffledIds, "blinded"},
      {protocol::steps::kMissingIds, "blinded"},
      {protocol::steps::kNamedIds, "blinded"},
      {protocol::steps::kAlignedOrder, "public"},
      {protocol::steps::kKeptAlignments, "public"},
      {protocol::steps::kAlignmentNonces, "public"},
      {protocol::steps::kHiddenIds, "padded"},
      {protocol::steps::kAnsweredIds, "blinded"},
      {protocol::steps::kCommonCount, "public"},
      {protocol::steps::kCommonIds, "blinded"},
      {protocol::steps::kOrderProofs, "padded"},
      {run::steps::kFeatureShape, "public"},
      {run::steps::kRunOffer, "public"},
      {run::steps::kStopVote, "public"},
      {run::steps::kGathering, "public"},
      {run::steps::kShapeOfOther, "public"},
      {protocol::steps::kMaskOffer, "public"},
      {protocol::steps::kMaskOffers, "public"},
      {protocol::steps::kMaskProof, "public"},
      {protocol::steps::kMaskProofs, "public"},
      {protocol::steps::kMaskVerdict, "public"},
      {protocol::steps::kMaskVerdicts, "public"},
      {protocol::steps::kMaskedOutputShare, "padded"},
      {protocol::steps::kObliviousHello, "public"},
      {protocol::steps::kObliviousTrees, "padded"},
      {protocol::steps::kObliviousTiles, "padded"},
      {mpc::steps::kComparison, "padded"},
      {mpc::steps::kChoices, "padded"},
      {mpc::steps::kSelection, "padded"},
      {mpc::steps::kBitProducts, "padded"},
      {mpc::steps::kFunctionOperand, "encrypted"},
      {mpc::steps::kFunctionReply, "masked"},
      {mpc::steps::kSharedOperand, "encrypted"},
      {mpc::steps::kSharedProduct, "masked"},
      {mpc::steps::kElementOperand, "encrypted"},
      {mpc::steps::kElementReply, "masked"},
      {mpc::steps::kSumShare, "share"},
      {mpc::steps::kScoreShare, "share"},
      {mpc::steps::kRangeShare, "share"},
      {mpc::steps::kInputDifference, "padded"},
      {protocol::steps::kLookupAsk, "padded"},
      {protocol::steps::kLookupKeys, "padded"},
      {protocol::steps::kPaddedTable, "padded"},
      {protocol::steps::kPaddedDerivative, "padded"},
      {lab::secureml::steps::kInputShare, "padded"},
      {lab::secureml::steps::kMatrixDifference, "padded"},
      {lab::secureml::steps::kWordChoices, "padded"},
      {lab::secureml::steps::kWordProducts, "padded"},
      {lab::secureml::steps::kTripletOperand, "encrypted"},
      {lab::secureml::steps::kTripletProduct, "masked"},
      {lab::secureml::steps::kTripletRequest, "public"},
      {lab::secureml::steps::kDealtSeed, "public"},
      {lab::secureml::steps::kDealtCorrection, "share"},
  };
  ASSERT_EQ(protections.size(), all_steps().steps().size());
  for (const auto& [step, protection] : protections) EXPECT_EQ(name_of(describe(step).protection), protection);
  for (const Step& step : all_steps().steps()) {
    const StepInfo& info = describe(step);
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

TEST(Step, OfANumberAloneIsUnknown) {
  for (const std::uint16_t number : {0, 18, 38, 45, 9999, 0xFFFF}) {
    const Step step = all_steps().known(Step::numbered(number));
    EXPECT_THAT([&] { (void)describe(step); }, ThrowsMessage<InvalidArgument>(HasSubstr(std::to_string(number))));
    EXPECT_EQ(name_of(step), "unknown");
  }
  EXPECT_EQ(name_of(Step::numbered(1)), "unknown") << "whoever has only a number asks a table";
  EXPECT_EQ(all_steps().find("unknown"), nullptr);
  EXPECT_EQ(all_steps().find(""), nullptr);
}

TEST(Step, IsItsNumber) {
  EXPECT_EQ(Step(protocol::steps::kHello), Step::numbered(3));
  EXPECT_LT(Step(protocol::steps::kHello), Step(steps::kPing));
}

TEST(StepTable, RefusesANumberOrANameThatIsTaken) {
  constexpr StepInfo kFirst{200, Protection::kPublic, "first", "something", "nothing"};
  constexpr StepInfo kSameNumber{200, Protection::kPublic, "second", "something", "nothing"};
  constexpr StepInfo kSameName{201, Protection::kPublic, "first", "something", "nothing"};
  const std::vector<Step> first = {kFirst};
  const std::vector<Step> number = {kSameNumber};
  const std::vector<Step> name = {kSameName};
  EXPECT_EQ(StepTable({first, all_steps().steps()}).steps().size(), all_steps().steps().size() + 1);
  EXPECT_THAT([&] { (void)StepTable({first, number}); }, ThrowsMessage<InvalidArgument>(HasSubstr("'second'")));
  EXPECT_THAT([&] { (void)StepTable({first, name}); }, ThrowsMessage<InvalidArgument>(HasSubstr("step 201")));
  EXPECT_THROW((void)StepTable({std::vector{Step::numbered(7)}}), InvalidArgument) << "no words";
}

}  // namespace
}  // namespace blindfl::net::step_test

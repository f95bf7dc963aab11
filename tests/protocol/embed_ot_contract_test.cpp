// The contract of docs/protocols.md for tables by oblivious transfer: what either party receives of them, message by
// message, is uniformly random, whatever is inside, has the size that the planner says, and never comes twice. The same
// checks are shown to fail for what is inside.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "blindfl/protocol/layers/lookup_plan.h"
#include "blindfl/protocol/layers/oblivious_product.h"
#include "protocol/embed_steps.h"

namespace blindfl::protocol::embed_ot_contract_test {
namespace {

using net::Protection;
using net::Step;

/// The first field of each party by oblivious transfer, the other, of several categories in a row, over the scheme.
class EmbedOtContract : public ::testing::TestWithParam<std::size_t>, protected EmbedSteps {
 protected:
  EmbedOtContract() : EmbedSteps(/*mask=*/true, ot_spec(GetParam())) {}

  static EmbedMatMulSpec ot_spec(std::size_t categories) {
    EmbedMatMulSpec spec = make_spec();
    for (auto* fields : {&spec.fields_a, &spec.fields_b}) {
      fields->front().field.categories = categories;
      fields->front().scheme = kByOt;
    }
    return spec;
  }
  static constexpr std::size_t kByOtTables[] = {0, 2};  // A's, B's

  [[nodiscard]] ot::TablePlan plan() const { return lookup_plan(kBatch, 1, GetParam(), kDimension).call; }
  /// The last one of a table, to the party that looks up, or, for an ask, to the other.
  [[nodiscard]] Bytes message(std::size_t t, Step step) {
    const Party owner = owner_of(t);
    return last_received(step == steps::kLookupAsk ? peer_of(owner) : owner, step, layer_of_table(t));
  }
  /// Without the tag, which is public. The last byte of an ask may have fewer bits.
  [[nodiscard]] std::vector<std::uint64_t> words(std::size_t t, Step step) {
    const Bytes payload = message(t, step);
    const std::size_t from = ot::TableBinding::kTagBytes;
    std::vector<std::uint64_t> words((payload.size() - from) / sizeof(std::uint64_t));
    std::memcpy(words.data(), payload.data() + from, words.size() * sizeof(std::uint64_t));
    return words;
  }
  /// The keeper's table, as it is masked.
  [[nodiscard]] std::vector<std::uint64_t> table_of_keeper(std::size_t t) {
    const auto& product = dynamic_cast<const ObliviousProduct&>(table(peer_of(owner_of(t)), t).product());
    std::vector<std::uint64_t> words;
    const ShareMatrix rounded = product.rounded_table();
    for (const UInt128 v : rounded.values()) words.push_back(low64(v));
    return words;
  }
};

bool look_uniform(const std::vector<std::uint64_t>& words) {
  return testing::looks_uniform<std::uint64_t>(words);
}

std::vector<std::uint64_t> difference(std::vector<std::uint64_t> a, const std::vector<std::uint64_t>& b) {
  a.resize(std::min(a.size(), b.size()));
  for (std::size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  return a;
}

TEST_P(EmbedOtContract, WhatTheChooserReceivesIsUniformWhateverIsInside) {
  for (int step = 0; step < 2; ++step) {
    train(1);
    run_step();
    for (const std::size_t t : kByOtTables) {
      const auto table = table_of_keeper(t);
      const auto masked = words(t, steps::kPaddedTable);
      ASSERT_EQ(table.size(), GetParam() * kDimension);
      EXPECT_TRUE(look_uniform(masked)) << t;
      EXPECT_TRUE(look_uniform(difference(masked, table))) << t << ": what is left without the table";
      EXPECT_TRUE(look_uniform(words(t, steps::kPaddedDerivative))) << t;
      EXPECT_TRUE(look_uniform(words(t, steps::kLookupKeys))) << t;
    }
  }
}
// The table itself, and its sum with what would be the same pads twice.
TEST_P(EmbedOtContract, ATableWithoutPadsWouldBeSeen) {
  run_step();
  for (const std::size_t t : kByOtTables) {
    const auto table = table_of_keeper(t);
    EXPECT_FALSE(look_uniform(table)) << t;
    const auto masked = words(t, steps::kPaddedTable);
    EXPECT_FALSE(look_uniform(difference(masked, difference(masked, table)))) << t;
  }
}

TEST_P(EmbedOtContract, WhatTheKeeperReceivesIsUniform) {
  std::vector<std::uint64_t> asked;
  while (asked.size() < 1280) {
    run_step();
    for (const std::size_t t : kByOtTables) {
      auto more = words(t, steps::kLookupAsk);
      more.pop_back();  // may have bits that are not there
      asked.insert(asked.end(), more.begin(), more.end());
    }
  }
  EXPECT_TRUE(look_uniform(asked));
  for (const std::size_t t : kByOtTables) EXPECT_TRUE(look_uniform(correction(t))) << t;
}

TEST_P(EmbedOtContract, TheSamePassAgainHasOtherPadsAndOtherShares) {
  run_step();
  std::map<std::string, std::vector<std::uint64_t>> first;
  const auto all = [&] {
    std::map<std::string, std::vector<std::uint64_t>> seen;
    for (const std::size_t t : kByOtTables) {
      for (const Step step : {Step(steps::kLookupKeys), Step(steps::kPaddedTable), Step(steps::kPaddedDerivative)}) {
        seen.emplace(std::string(net::name_of(step)) + " of table " + std::to_string(t), words(t, step));
      }
      seen.emplace("piece correction of table " + std::to_string(t), correction(t));
    }
    return seen;
  };
  first = all();
  run_passes();
  const auto second = all();
  ASSERT_EQ(first.size(), 8U);
  for (const auto& [name, seen] : first) {
    EXPECT_TRUE(look_uniform(difference(seen, second.at(name)))) << name;
    EXPECT_FALSE(look_uniform(difference(seen, seen))) << name << ": the same pads would be seen";
  }
}

TEST_P(EmbedOtContract, NeitherPartysShareOfAGradientTellsIt) {
  run_step();
  for (const std::size_t t : kByOtTables) {
    const ShareMatrix dq = open(gradients_a_.tables[t].value(), gradients_b_.tables[t].value());
    for (const EmbedGradients* mine : {&gradients_a_, &gradients_b_}) {
      EXPECT_TRUE(kept(mine->tables[t].value(), dq, {0, 16}).hides_the_secret()) << t;
    }
    EXPECT_FALSE(kept(dq, gradients_a_.tables[t].value(), {0, 16}).hides_the_secret()) << "the gradient itself";
  }
}

TEST_P(EmbedOtContract, MessagesAreThoseThatThePlannerCountsAndAreSaidToBePadded) {
  run_step();
  const std::map<Step, std::uint64_t> sizes = {{steps::kLookupAsk, plan().ask_bytes()},
                                               {steps::kLookupKeys, plan().answer_bytes()},
                                               {steps::kPaddedTable, plan().gather_bytes(8)},
                                               {steps::kPaddedDerivative, plan().scatter_bytes(16)}};
  for (const auto& [step, bytes] : sizes) {
    EXPECT_EQ(net::describe(testing::all_steps().known(step)).protection, Protection::kPadded) << net::name_of(step);
    for (const std::size_t t : kByOtTables) EXPECT_EQ(message(t, step).size(), bytes) << net::name_of(step);
  }
}

TEST_P(EmbedOtContract, APartyReceivesTheseMessagesAndNoOthers) {
  run_step();
  for (const Party party : {Party::kA, Party::kB}) {
    std::map<Step, std::uint64_t> messages;
    for (const auto& [step, count] : pair_.parties.recording(party).received()) messages[step] = count.messages;
    std::map<Step, std::uint64_t> expected = {
        // Once in a session, and what random OTs are made of.
        {steps::kPublicKey, 1},
        {steps::kAgreement, 1},
        {steps::kHello, 1},
        {steps::kObliviousHello, 1},
        {steps::kObliviousTrees, 1},
        {steps::kObliviousTiles, messages[steps::kObliviousTiles]},
        // A table of each party's by oblivious transfer, and one over the scheme.
        {steps::kLookupAsk, 1},
        {steps::kLookupKeys, 1},
        {steps::kPaddedTable, 1},
        {steps::kPaddedDerivative, 1},
        {steps::kPieceCorrection, 2},
        {steps::kTableOperand, 1},
        {steps::kLookupProduct, 1},
        {steps::kDerivativeShare, 1},
        {steps::kTableGradient, 1},
        // The weights.
        {steps::kWeightOperand, 1},
        {steps::kEmbeddingProduct, 1},
        {steps::kLiftChoices, 1},
        {steps::kLiftWords, 1},
    };
    if (party == Party::kA) {
      expected.insert({{steps::kWeightGradient, 1}, {steps::kEmbeddingDerivative, 1}});
    } else {
      expected.insert({{steps::kOutputShare, 1}, {steps::kEmbeddingOperand, 1}, {steps::kBackwardOperand, 1}});
    }
    EXPECT_EQ(messages, expected) << name_of(party);
    EXPECT_GT(messages[steps::kObliviousTiles], 0U);
  }
}

// Chained, and in bins.
INSTANTIATE_TEST_SUITE_P(Categories, EmbedOtContract, ::testing::Values(170, 3000),
                         [](const auto& info) { return std::to_string(info.param) + "_categories"; });

TEST(EmbedOtContractWays, AreBothThere) {
  EXPECT_EQ(lookup_plan(176, 1, 170, 8).call.way(), ot::TableWay::kChain);
  EXPECT_EQ(lookup_plan(176, 1, 3000, 8).call.way(), ot::TableWay::kBins);
}

}  // namespace
}  // namespace blindfl::protocol::embed_ot_contract_test

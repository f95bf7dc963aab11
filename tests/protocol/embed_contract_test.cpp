// The contract of docs/protocols.md for tables and embeddings, value by value: what each party receives is opened with
// the key it has, and every opened value, and every piece that a party keeps, is shown to be random whatever the secret
// inside. The same checks are shown to fail when the masks are left out.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <vector>

#include "protocol/embed_steps.h"
#include "testing/steps.h"

namespace blindfl::protocol::embed_contract_test {
namespace {

using net::Direction;
using net::Protection;
using net::Step;

class EmbedContract : public ::testing::Test, protected EmbedSteps {
 protected:
  explicit EmbedContract(bool mask = true) : EmbedSteps(mask) {}
};

class EmbedContractWithoutMasks : public EmbedContract {
 protected:
  EmbedContractWithoutMasks() : EmbedContract(/*mask=*/false) {}
};

TEST_F(EmbedContract, WhatAPartyOpensIsUniformWhateverIsInside) {
  run_step();
  for (const auto& [name, opened] : all_opened()) EXPECT_TRUE(opened.hides_its_secrets()) << name;
}
TEST_F(EmbedContractWithoutMasks, IsSeenInEveryValueThatAPartyOpens) {
  run_step();
  for (const auto& [name, opened] : all_opened()) {
    EXPECT_FALSE(opened.product.hides_the_secret()) << name;
    // A product with drawn pieces of E tells these, and not E.
    const bool of_pieces = name.starts_with("E W") || name.starts_with("dW");
    EXPECT_TRUE(of_pieces || !opened.whole.hides_the_secret()) << name;
    EXPECT_EQ(opened.product.seen, opened.product.secret) << name << ": the secret was not what is inside";
  }
}

TEST_F(EmbedContract, WhatAPartyOpensAfterTrainingIsUniformToo) {
  train(2);
  run_step();
  for (const auto& [name, opened] : all_opened()) EXPECT_TRUE(opened.hides_its_secrets()) << name;
}
TEST_F(EmbedContractWithoutMasks, IsSeenInEveryValueThatAPartyOpensAfterTraining) {
  train(2);
  run_step();
  for (const auto& [name, opened] : all_opened()) EXPECT_FALSE(opened.hides_its_secrets()) << name;
}

TEST_F(EmbedContract, RowsOfOneCategoryAndRowsOfNoneAreMaskedLikeAnyOther) {
  for (std::size_t t = 0; t < kFields; ++t) EXPECT_TRUE(second_halves_look_uniform(t)) << t;
}
TEST_F(EmbedContractWithoutMasks, IsSeenInRowsOfOneCategoryAndRowsOfNone) {
  for (std::size_t t = 0; t < kFields; ++t) EXPECT_FALSE(second_halves_look_uniform(t)) << t;
}

/// Whether any two masks, entry by entry, have nothing to do with each other.
bool are_independent(const auto& a, const auto& b) {
  const int ring_bits = std::min(a.ring_bits, b.ring_bits);
  std::vector<UInt128> difference(std::min(a.values.size(), b.values.size()));
  for (std::size_t i = 0; i < difference.size(); ++i) difference[i] = low_bits(a.values[i] - b.values[i], ring_bits);
  return testing::looks_uniform<UInt128>(difference, ring_bits);
}

TEST_F(EmbedContract, NoMaskIsUsedTwice) {
  const auto masks = masks_of_two_equal_steps();
  for (std::size_t i = 0; i < masks.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_TRUE(are_independent(masks[i], masks[j])) << i << ", " << j;
  }
}
TEST_F(EmbedContractWithoutMasks, IsSeenInMasksThatAreAllTheSame) {
  const auto masks = masks_of_two_equal_steps();
  for (std::size_t i = 1; i < masks.size(); ++i) EXPECT_FALSE(are_independent(masks[i], masks[i - 1])) << i;
}

// Pieces of E are sums of words of 60 bits: all of these are looked at. A's fields, then B's.
constexpr int kWordBits = 60;
constexpr std::size_t kOfA = 2 * 8;

TEST_F(EmbedContract, NeitherPartysPieceOfTheEmbeddingsTellsThem) {
  run_step();
  for (const Party party : {Party::kA, Party::kB}) {
    RingView view;
    view.add(forward_of(party).pass.embeddings, embeddings());
    EXPECT_TRUE(view.hides_the_secret_below_bit(kWordBits));
    RingView seen_through;
    seen_through.add(embeddings(), forward_of(party).pass.embeddings);
    EXPECT_FALSE(seen_through.hides_the_secret_below_bit(kWordBits)) << "the embeddings themselves";
  }
}

TEST_F(EmbedContract, PiecesAreSumsOfFourUniformWordsAtWhoHasTheField) {
  run_step();
  double square = 0;
  double mean = 0;
  double largest = 0;
  const auto numbers = decode_ring(lifted(select_columns(at_a_.pass.embeddings, 0, kOfA)));
  for (const double v : numbers) {
    const double words = std::ldexp(v, spec_.embedding_scale - kWordBits);
    square += words * words;
    mean += words;
    largest = std::max(largest, std::abs(words));
  }
  // Of a sum of four words from -1/2 to 1/2: variance 4/12, and kurtosis 3 - 1.2/4. Six standard deviations; a sum of
  // three words would be ten off.
  const auto count = static_cast<double>(numbers.size());
  ASSERT_GT(count, 2500);
  EXPECT_NEAR(square / count, 4.0 / 12, 6 * std::sqrt(1.7 / count) * 4 / 12);
  EXPECT_NEAR(mean / count, 0, 6 * std::sqrt(4.0 / 12 / count));
  EXPECT_LE(largest, 2.0);
  EXPECT_GT(largest, 1.3);
}

TEST_F(EmbedContract, CorrectionsAreUniform) {
  run_step();
  for (std::size_t t = 0; t < kFields; ++t) EXPECT_TRUE(testing::looks_uniform<std::uint64_t>(correction(t))) << t;
}
TEST_F(EmbedContractWithoutMasks, IsSeenInCorrections) {
  run_step();
  for (std::size_t t = 0; t < kFields; ++t) EXPECT_FALSE(testing::looks_uniform<std::uint64_t>(correction(t))) << t;
}

TEST_F(EmbedContract, TheSameRowsAreLookedUpInOtherPiecesEachTime) {
  run_step();
  const ShareMatrix first = at_a_.pass.embeddings;
  run_passes();
  RingView view;
  view.add(at_a_.pass.embeddings, first);
  EXPECT_TRUE(view.hides_the_secret_below_bit(kWordBits));
}

TEST_F(EmbedContract, NeitherPartysShareOfTheEmbeddingsDerivativeTellsIt) {
  run_step();
  for (const Party party : {Party::kA, Party::kB}) {
    RingView view;
    view.add(derivative_share(party), embedding_derivative());
    EXPECT_TRUE(view.hides_the_secret());
  }
}
TEST_F(EmbedContractWithoutMasks, IsSeenInTheSharesOfTheEmbeddingsDerivative) {
  run_step();
  for (const Party party : {Party::kA, Party::kB}) {
    RingView view;
    view.add(derivative_share(party), embedding_derivative());
    EXPECT_FALSE(view.hides_the_secret());
  }
}

/// Lifted shares, rounded: at least as long as this.
constexpr int kGradientBits[] = {0, 16};

TEST_F(EmbedContract, NeitherPartysShareOfAGradientTellsIt) {
  run_step();
  const ShareMatrix dw = open(gradients_a_.weight, gradients_b_.weight);
  for (const EmbedGradients* mine : {&gradients_a_, &gradients_b_}) {
    const std::vector<int> bits(std::begin(kGradientBits), std::end(kGradientBits));
    EXPECT_TRUE(kept(mine->weight, dw, bits).hides_the_secret());
    for (std::size_t t = 0; t < kFields; ++t) {
      const ShareMatrix dq = open(gradients_a_.tables[t].value(), gradients_b_.tables[t].value());
      EXPECT_TRUE(kept(mine->tables[t].value(), dq, bits).hides_the_secret()) << t;
    }
  }
}
TEST_F(EmbedContractWithoutMasks, IsSeenInTheSharesOfAGradient) {
  run_step();
  const ShareMatrix dw = open(gradients_a_.weight, gradients_b_.weight);
  for (const EmbedGradients* mine : {&gradients_a_, &gradients_b_}) {
    const std::vector<int> bits(std::begin(kGradientBits), std::end(kGradientBits));
    EXPECT_FALSE(kept(mine->weight, dw, bits).hides_the_secret());
    for (std::size_t t = 0; t < kFields; ++t) {
      const ShareMatrix dq = open(gradients_a_.tables[t].value(), gradients_b_.tables[t].value());
      EXPECT_FALSE(kept(mine->tables[t].value(), dq, bits).hides_the_secret()) << t;
    }
  }
}

// What a step changes of a piece is a gradient's share, made smaller: fewer bits at the top, and at the bottom of
// tables, whose scale is finer than their gradients', none.
TEST_F(EmbedContract, NeitherPartysPiecesAfterTrainingTellTheWeightsOrTables) {
  train(1);
  for (int i = 0; i < 2; ++i) {
    train(1);
    for (const Party party : {Party::kA, Party::kB}) {
      EXPECT_TRUE(kept(pair_.at(party).weight()->piece, weight(), {0, 20}).hides_the_secret());
      for (std::size_t t = 0; t < kFields; ++t) {
        EXPECT_TRUE(kept(table(party, t).weight()->piece, table_values(t), {10}).hides_the_secret()) << t;
      }
    }
  }
}
TEST_F(EmbedContractWithoutMasks, IsSeenInThePiecesAfterTraining) {
  train(2);
  for (const Party party : {Party::kA, Party::kB}) {
    EXPECT_FALSE(kept(pair_.at(party).weight()->piece, weight(), {0, 20}).hides_the_secret());
    for (std::size_t t = 0; t < kFields; ++t) {
      EXPECT_FALSE(kept(table(party, t).weight()->piece, table_values(t), {10}).hides_the_secret()) << t;
    }
  }
}

std::vector<std::uint64_t> output_shares(const Bytes& payload) {
  std::vector<std::uint64_t> values(payload.size() / sizeof(std::uint64_t));
  std::memcpy(values.data(), payload.data(), payload.size());
  return values;
}

TEST_F(EmbedContract, BReceivesARandomShareOfZAndLearnsZOnlyRounded) {
  run_step();
  const auto shares = output_shares(last_received(Party::kB, steps::kOutputShare, pair_.at(Party::kB).layer()));
  // Values up to 2^15 at 16 fractional bits, and five more: nothing above them travels.
  constexpr int kRing = 36;
  EXPECT_TRUE(testing::looks_uniform<std::uint64_t>(shares, kRing));
  const auto exact = decode_ring(open(at_a_.output.share, at_b_.output.share));
  ASSERT_EQ(shares.size(), exact.size());
  std::vector<std::uint64_t> rest;
  std::size_t unrounded = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double units = std::ldexp((*z_)[i], 16);
    EXPECT_NEAR((*z_)[i], exact[i], 1.5 * 0x1p-16);
    EXPECT_EQ(units, std::round(units));
    unrounded += std::ldexp(exact[i], 16) == std::round(std::ldexp(exact[i], 16)) ? 0 : 1;
    rest.push_back(low64(low_bits(shares[i] - static_cast<std::uint64_t>(static_cast<std::int64_t>(units)), kRing)));
  }
  EXPECT_TRUE(testing::looks_uniform<std::uint64_t>(rest, kRing));
  EXPECT_GT(unrounded, exact.size() / 2) << "there was nothing to round";
}
TEST_F(EmbedContractWithoutMasks, IsSeenInTheShareOfZ) {
  run_step();
  const auto shares = output_shares(last_received(Party::kB, steps::kOutputShare, pair_.at(Party::kB).layer()));
  EXPECT_FALSE(testing::looks_uniform<std::uint64_t>(shares, 36));
}

std::map<Step, std::uint64_t> messages_of(const std::map<Step, net::Traffic>& traffic) {
  std::map<Step, std::uint64_t> messages;
  for (const auto& [step, count] : traffic) messages[step] = count.messages;
  return messages;
}

TEST_F(EmbedContract, APartyReceivesTheseMessagesAndNoOthers) {
  run_step();
  // Nothing of Z or dZ reaches A, and of E, dE, dW and dQ nobody gets more than the masked values that were checked
  // above and what is encrypted under the other's key, which is checked below.
  const std::map<Step, std::uint64_t> at_a = {
      {steps::kPublicKey, 1},           {steps::kAgreement, 1},        {steps::kHello, 1},
      {steps::kPieceCorrection, 2},     {steps::kTableOperand, 2},     {steps::kLookupProduct, 2},
      {steps::kWeightOperand, 1},       {steps::kEmbeddingProduct, 1}, {steps::kWeightGradient, 1},
      {steps::kEmbeddingDerivative, 1}, {steps::kDerivativeShare, 2},  {steps::kTableGradient, 2},
  };
  const std::map<Step, std::uint64_t> at_b = {
      {steps::kPublicKey, 1},        {steps::kAgreement, 1},       {steps::kHello, 1},
      {steps::kOutputShare, 1},      {steps::kPieceCorrection, 2}, {steps::kTableOperand, 2},
      {steps::kLookupProduct, 2},    {steps::kWeightOperand, 1},   {steps::kEmbeddingProduct, 1},
      {steps::kEmbeddingOperand, 1}, {steps::kBackwardOperand, 1}, {steps::kDerivativeShare, 2},
      {steps::kTableGradient, 2},
  };
  EXPECT_EQ(messages_of(pair_.parties.recording(Party::kA).received()), at_a);
  EXPECT_EQ(messages_of(pair_.parties.recording(Party::kB).received()), at_b);
}

TEST_F(EmbedContract, OperandsAreUnderTheSendersKeyAndProductsUnderTheReceivers) {
  train(1);
  run_step();
  for (const Party receiver : {Party::kA, Party::kB}) {
    std::size_t operands = 0;
    std::size_t products = 0;
    for (const testing::RecordedMessage& m : pair_.parties.recording(receiver).messages()) {
      const Protection protection = net::describe(testing::all_steps().known(m.message.step)).protection;
      if (m.direction != Direction::kReceived) continue;
      if (protection != Protection::kEncrypted && protection != Protection::kMasked) continue;
      const bool operand = protection == Protection::kEncrypted;
      const Party key_of = operand ? peer_of(receiver) : receiver;
      // The plain scheme names the key that a message is encrypted under in its first 16 bytes.
      const Bytes key = pair_.parties.session(key_of).key_owner().public_key();
      ASSERT_GE(m.payload.size(), 16U);
      EXPECT_TRUE(std::equal(key.end() - 16, key.end(), m.payload.begin())) << net::name_of(m.message.step);
      (operand ? operands : products) += 1;
    }
    EXPECT_EQ(operands, receiver == Party::kA ? 10U : 14U);
    EXPECT_EQ(products, receiver == Party::kA ? 14U : 10U);
  }
}

}  // namespace
}  // namespace blindfl::protocol::embed_contract_test

// Who must not see what of an Embed-MatMul layer under a shared top, value by value: what either party opens of the
// products with dZ is compared with what is inside, and shown to be a uniformly random share. The same checks are shown
// to fail when the masks are left out. Lookups, corrections and tables are as under an open top:
// embed_contract_test.cpp.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "blindfl/share/products.h"
#include "protocol/shared_embed_fixture.h"
#include "protocol/views.h"
#include "testing/plain/plain_scheme.h"
#include "testing/steps.h"

namespace blindfl::protocol::shared_embed_contract_test {
namespace {

using net::Direction;
using net::Protection;
using net::Step;

constexpr Party kBoth[] = {Party::kA, Party::kB};
constexpr std::size_t kRows = 64;

class SharedEmbedContract : public ::testing::Test {
 protected:
  explicit SharedEmbedContract(bool mask = true) : scheme_({.mask = mask}) { run(); }

  /// Half of the rows have no categories: they must be hidden like any other.
  void run() {
    pass_ = make_shared_embed_pass(spec_, kRows / 2, random_);
    pass_.derivative = share_derivative(spec_, random_reals(kRows * spec_.out, random_));
    forward_ = forward_shared(pair_, pass_);
    gradients_ = backward_shared(pair_, forward_.first.pass, forward_.second.pass, pass_.derivative);
  }

  [[nodiscard]] const EmbedMatMulParams& params() { return pair_.at(Party::kA).params(); }
  [[nodiscard]] const ShareMatrix& pieces(Party party) const {
    return (party == Party::kA ? forward_.first : forward_.second).pass.embeddings;
  }
  /// A party's share of dZ as products have it: on the right, and, as numbers, on the left.
  [[nodiscard]] ShareMatrix dz(Party party) {
    return derivative_share(pass_.derivative.at(party), params().derivative_scale(), params().derivative_ring(), "");
  }
  [[nodiscard]] ShareMatrix elements(Party party) { return narrowed(dz(party), params().weight_lift().ring_bits); }
  [[nodiscard]] ShareMatrix numbers(Party party) {
    return lifted(narrowed(dz(party), params().embedding_derivative_ring()));
  }
  /// A party's share of the weights, transposed, as the backward product has it.
  [[nodiscard]] ShareMatrix weights(Party party) {
    return narrowed(rescale(transpose(pair_.at(party).weight()->piece), params().backward_weight_scale()),
                    params().embedding_derivative_ring());
  }

  [[nodiscard]] ShareMatrix opened_by(Party party, Step step, const he::ProductSpec& product) {
    Bytes payload;
    for (const testing::RecordedMessage& m : pair_.parties.recording(party).messages()) {
      if (m.direction == Direction::kReceived && m.message.step == step) payload = m.payload;
    }
    EXPECT_FALSE(payload.empty()) << "no such message";
    BufferSource in(payload);
    Random random;
    ThreadPool pool;
    return pair_.parties.session(party).key_owner().open(*scheme_.plan(product), in, random, pool);
  }
  static ShareMatrix product(const Limbs& limbs, const ShareMatrix& left, const ShareMatrix& right) {
    return multiply(split_columns(limbs, left), stack_rows(limbs, right));
  }

  /// What a party opens, next to the product inside it, and next to what that is a part of.
  struct Opened {
    RingView inside;
    RingView whole;
  };
  /// The peer's piece of E, transposed, times this party's share of dZ: a part of dW.
  [[nodiscard]] Opened gradient_opened_by(Party party) {
    const Limbs limbs = params().choose_gradient_limbs(scheme_);
    const Party other = peer_of(party);
    const ShareMatrix seen = opened_by(party, steps::kSharedGradient, params().shared_weight_gradient(limbs, kRows));
    Opened opened;
    opened.inside.add(seen, product(limbs, transpose(pieces(other)), elements(party)));
    ShareMatrix whole(seen.rows(), seen.cols(), seen.scale(), seen.ring_bits());
    for (const Party p : kBoth) whole += product(limbs, transpose(pieces(p)), elements(party) + elements(other));
    opened.whole.add(seen, whole);
    return opened;
  }
  /// The peer's share of dZ times this party's of the weights, transposed: a part of dE.
  [[nodiscard]] Opened derivative_opened_by(Party party) {
    const Limbs limbs = params().choose_derivative_limbs(scheme_);
    const Party other = peer_of(party);
    const ShareMatrix seen =
        opened_by(party, steps::kEmbeddingDerivative, params().shared_embedding_derivative(limbs, kRows));
    Opened opened;
    opened.inside.add(seen, product(limbs, numbers(other), weights(party)));
    ShareMatrix whole(seen.rows(), seen.cols(), seen.scale(), seen.ring_bits());
    for (const Party p : kBoth) whole += product(limbs, numbers(p), weights(party) + weights(other));
    opened.whole.add(seen, whole);
    return opened;
  }

  // Enough of each for one pass to fill a test of uniformity: inputs x outputs, rows x inputs, rows x outputs.
  EmbedMatMulSpec spec_ = [] {
    EmbedMatMulSpec spec = shared_embed_spec();
    spec.dimension = 12;
    spec.out = 40;
    spec.batch = kRows;
    return spec;
  }();
  testing::PlainScheme scheme_;
  SeededRandom random_{1};
  EmbedPair pair_{scheme_, spec_};
  SharedEmbedPass pass_;
  std::pair<EmbedMatMul::Forward, EmbedMatMul::Forward> forward_;
  std::pair<EmbedGradients, EmbedGradients> gradients_;
};

class SharedEmbedContractWithoutMasks : public SharedEmbedContract {
 protected:
  SharedEmbedContractWithoutMasks() : SharedEmbedContract(/*mask=*/false) {}
};

TEST_F(SharedEmbedContract, WhatAPartyOpensIsUniformWhateverIsInside) {
  for (const Party party : kBoth) {
    for (const Opened& opened : {gradient_opened_by(party), derivative_opened_by(party)}) {
      EXPECT_TRUE(opened.inside.hides_the_secret()) << name_of(party);
      EXPECT_TRUE(opened.whole.hides_the_secret()) << name_of(party);
    }
  }
}
TEST_F(SharedEmbedContractWithoutMasks, IsSeenInEveryValueThatAPartyOpens) {
  for (const Party party : kBoth) {
    for (const Opened& opened : {gradient_opened_by(party), derivative_opened_by(party)}) {
      EXPECT_FALSE(opened.inside.hides_the_secret()) << name_of(party);
      EXPECT_EQ(opened.inside.seen, opened.inside.secret) << "the secret was not what is inside";
    }
  }
}

TEST_F(SharedEmbedContract, NoMaskIsUsedTwice) {
  std::vector<RingView> first;
  for (const Party party : kBoth) first.push_back(derivative_opened_by(party).inside);
  // The same product again.
  gradients_ = backward_shared(pair_, forward_.first.pass, forward_.second.pass, pass_.derivative);
  for (std::size_t i = 0; i < first.size(); ++i) {
    const RingView again = derivative_opened_by(kBoth[i]).inside;
    EXPECT_EQ(again.secret, first[i].secret);
    RingView difference{again.seen, first[i].seen, again.ring_bits};
    EXPECT_TRUE(testing::looks_uniform<UInt128>(difference.rest(), difference.ring_bits));
  }
}

TEST_F(SharedEmbedContract, NeitherPartysShareOfZTellsIt) {
  for (const Party party : kBoth) {
    RingView view;
    view.add((party == Party::kA ? forward_.first : forward_.second).output.share,
             open(forward_.first.output.share, forward_.second.output.share));
    EXPECT_TRUE(view.hides_the_secret());
  }
}
TEST_F(SharedEmbedContract, NeitherPartysShareOfAGradientTellsIt) {
  const ShareMatrix dw = open(gradients_.first.weight, gradients_.second.weight);
  for (const EmbedGradients* mine : {&gradients_.first, &gradients_.second}) {
    RingView view;
    view.add(mine->weight, dw);
    EXPECT_TRUE(view.hides_the_secret_from_bit(0));
    EXPECT_TRUE(view.hides_the_secret_from_bit(16));
  }
}

TEST_F(SharedEmbedContract, APartyReceivesTheseMessagesAndNoOthers) {
  for (const Party party : kBoth) {
    // A has two fields, B one.
    const std::uint64_t own = party == Party::kA ? 2 : 1;
    const std::uint64_t peers = 3 - own;
    const std::map<Step, std::uint64_t> wanted = {
        {steps::kPublicKey, 1},           {steps::kAgreement, 1},         {steps::kHello, 1},
        {steps::kPieceCorrection, peers}, {steps::kTableOperand, own},    {steps::kLookupProduct, peers},
        {steps::kWeightOperand, 1},       {steps::kEmbeddingProduct, 1},  {steps::kSharedDerivative, 1},
        {steps::kSharedGradient, 1},      {steps::kBackwardOperand, 1},   {steps::kEmbeddingDerivative, 1},
        {steps::kDerivativeShare, own},   {steps::kTableGradient, peers}, {steps::kObliviousHello, 1},
        {steps::kObliviousTrees, 1},      {steps::kObliviousTiles, 1},    {steps::kLiftChoices, 1},
        {steps::kLiftWords, 1},
    };
    std::map<Step, std::uint64_t> got;
    for (const auto& [step, traffic] : pair_.parties.recording(party).received()) got[step] = traffic.messages;
    EXPECT_EQ(got, wanted) << name_of(party);
  }
}

TEST_F(SharedEmbedContract, OperandsAreUnderTheSendersKeyAndProductsUnderTheReceivers) {
  for (const Party receiver : kBoth) {
    std::size_t seen = 0;
    for (const testing::RecordedMessage& m : pair_.parties.recording(receiver).messages()) {
      const Protection protection = net::describe(testing::all_steps().known(m.message.step)).protection;
      if (m.direction != Direction::kReceived) continue;
      if (protection != Protection::kEncrypted && protection != Protection::kMasked) continue;
      const Party key_of = protection == Protection::kEncrypted ? peer_of(receiver) : receiver;
      // The plain scheme names the key that a message is encrypted under in its first 16 bytes.
      const Bytes key = pair_.parties.session(key_of).key_owner().public_key();
      ASSERT_GE(m.payload.size(), 16U);
      EXPECT_TRUE(std::equal(key.end() - 16, key.end(), m.payload.begin())) << net::name_of(m.message.step);
      ++seen;
    }
    EXPECT_EQ(seen, 12U) << "six of the weights, and four for the three fields: two from either side";
  }
}

}  // namespace
}  // namespace blindfl::protocol::shared_embed_contract_test

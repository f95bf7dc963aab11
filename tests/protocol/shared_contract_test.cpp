// Who must not see what under a shared top, value by value: every message is opened with the key that its receiver has,
// and shown to be a uniformly random share. The same checks are shown to fail when the masks are left out.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "blindfl/share/products.h"
#include "protocol/shared_fixture.h"
#include "protocol/views.h"
#include "testing/plain/plain_scheme.h"
#include "testing/steps.h"

namespace blindfl::protocol::shared_contract_test {
namespace {

using net::Direction;
using net::Step;

constexpr std::size_t kRows = 64;

class SharedContract : public ::testing::Test {
 protected:
  explicit SharedContract(bool mask = true) : scheme_({.mask = mask}) {}

  /// Half of the rows have no features: they must be hidden like any other.
  [[nodiscard]] SharedPass make_pass() {
    SharedPass pass = make_shared_pass(spec_, IntMatrix::Kind::kDense, kRows / 2, random_);
    pass.derivative = share_derivative(spec_, random_reals(kRows * spec_.out, random_));
    return pass;
  }
  void run(const SharedPass& pass) {
    outputs_ = pair_.forward(pass.x_a, pass.x_b);
    gradients_ = backward_shared(pair_, pass);
  }

  [[nodiscard]] Bytes last_received(Party party, Step step) const {
    Bytes last;
    for (const testing::RecordedMessage& m : pair_.parties.recording(party).messages()) {
      if (m.direction == Direction::kReceived && m.message.step == step) last = m.payload;
    }
    EXPECT_FALSE(last.empty()) << "no such message";
    return last;
  }
  [[nodiscard]] ShareMatrix opened_by(Party party, Step step, const he::ProductSpec& product) {
    const Bytes payload = last_received(party, step);
    BufferSource in(payload);
    Random random;
    ThreadPool pool;
    return pair_.parties.session(party).key_owner().open(*scheme_.plan(product), in, random, pool);
  }
  /// The peer's features times this party's piece of its weights, as this party opens it.
  [[nodiscard]] ShareMatrix forward_opened_by(Party party) {
    return opened_by(party, steps::kForwardProduct, pair_.a.params().forward(peer_of(party), kRows));
  }
  /// The peer's features, transposed, times this party's share of dZ.
  [[nodiscard]] ShareMatrix gradient_opened_by(Party party) {
    return opened_by(party, steps::kSharedGradient, pair_.a.params().backward(peer_of(party), kRows));
  }

  [[nodiscard]] RingView forward_view_of(Party party) {
    const SharedPass pass = make_pass();
    run(pass);
    RingView view;
    const Party other = peer_of(party);
    view.add(forward_opened_by(party), multiply(pass.x(other), pair_.at(party).weight(other).piece));
    return view;
  }
  [[nodiscard]] RingView gradient_view_of(Party party) {
    RingView view;
    const Party other = peer_of(party);
    for (int i = 0; i < 8; ++i) {
      const SharedPass pass = make_pass();
      run(pass);
      const MatMulParams& params = pair_.a.params();
      const ShareMatrix own = derivative_share(pass.derivative.at(party), params.derivative_scale(other),
                                               params.derivative_ring(other), "");
      view.add(gradient_opened_by(party), multiply_transposed(pass.x(other), own));
    }
    return view;
  }
  /// A party's share of Z next to Z.
  [[nodiscard]] RingView output_view_of(Party party) {
    RingView view;
    run(make_pass());
    view.add((party == Party::kA ? outputs_.first : outputs_.second).share,
             open(outputs_.first.share, outputs_.second.share));
    return view;
  }
  [[nodiscard]] std::pair<RingView, RingView> trained_pieces(Party features_of) {
    std::pair<RingView, RingView> views;
    PieceSgd at_a({.learning_rate = 0.1, .momentum = 0.9});
    PieceSgd at_b({.learning_rate = 0.1, .momentum = 0.9});
    for (int i = 0; i < 8; ++i) {
      run(make_pass());
      at_a.step(pair_.a, gradients_.first);
      at_b.step(pair_.b, gradients_.second);
      const ShareMatrix weight = pair_.weight(features_of);
      views.first.add(pair_.a.weight(features_of).piece, weight);
      views.second.add(pair_.b.weight(features_of).piece, weight);
    }
    return views;
  }

  testing::PlainScheme scheme_;
  SeededRandom random_{1};
  MatMulSpec spec_ = shared_spec(8, 8, 32, kRows);
  MatMulPair pair_{scheme_, spec_};
  std::pair<OutputShare, OutputShare> outputs_;
  std::pair<MatMulGradients, MatMulGradients> gradients_;
};

class SharedContractWithoutMasks : public SharedContract {
 protected:
  SharedContractWithoutMasks() : SharedContract(/*mask=*/false) {}
};

constexpr Party kBoth[] = {Party::kA, Party::kB};

TEST_F(SharedContract, NeitherOpensAProductOfThePeersFeaturesUnmasked) {
  for (const Party party : kBoth) EXPECT_TRUE(forward_view_of(party).hides_the_secret()) << name_of(party);
}
TEST_F(SharedContractWithoutMasks, AreSeenInTheProductsOfFeatures) {
  for (const Party party : kBoth) EXPECT_FALSE(forward_view_of(party).hides_the_secret()) << name_of(party);
}

TEST_F(SharedContract, NeitherOpensAPartOfAGradientUnmasked) {
  for (const Party party : kBoth) EXPECT_TRUE(gradient_view_of(party).hides_the_secret()) << name_of(party);
}
TEST_F(SharedContractWithoutMasks, AreSeenInTheGradients) {
  for (const Party party : kBoth) EXPECT_FALSE(gradient_view_of(party).hides_the_secret()) << name_of(party);
}

TEST_F(SharedContract, NeitherPartysShareOfZTellsZ) {
  for (const Party party : kBoth) EXPECT_TRUE(output_view_of(party).hides_the_secret()) << name_of(party);
}
TEST_F(SharedContractWithoutMasks, AreSeenInTheSharesOfZ) {
  for (const Party party : kBoth) EXPECT_FALSE(output_view_of(party).hides_the_secret()) << name_of(party);
}

// Here masks are not alone: shares of dZ are uniform by themselves.
TEST_F(SharedContract, NeitherPartysPieceOfATrainedWeightTellsTheWeight) {
  for (const Party features_of : kBoth) {
    const auto [piece_of_a, piece_of_b] = trained_pieces(features_of);
    EXPECT_TRUE(piece_of_a.hides_the_secret_from_bit(30)) << name_of(features_of);
    EXPECT_TRUE(piece_of_b.hides_the_secret_from_bit(30)) << name_of(features_of);
  }
}
// With the same shares of dZ and the same weights, what a party opens of other features of its peer's differs from what
// it opened before by something uniform: it tells nothing of what has changed.
TEST_F(SharedContract, WhatAPartyOpensDoesNotTellThePeersFeaturesApart) {
  for (const Party party : kBoth) {
    RingView forward;
    RingView gradient;
    for (int i = 0; i < 8; ++i) {
      SharedPass pass = make_pass();
      run(pass);
      const ShareMatrix forward_before = forward_opened_by(party);
      const ShareMatrix gradient_before = gradient_opened_by(party);
      IntMatrix& others = party == Party::kA ? pass.x_b : pass.x_a;
      others = make_pass().x(peer_of(party));
      run(pass);
      forward.add(forward_opened_by(party), forward_before);
      gradient.add(gradient_opened_by(party), gradient_before);
    }
    EXPECT_TRUE(forward.hides_the_secret()) << name_of(party);
    EXPECT_TRUE(gradient.hides_the_secret()) << name_of(party);
  }
}

TEST_F(SharedContract, NothingIsOpenedAndSharesOfTheDerivativeLeaveEncryptedUnderTheSendersKeyOnly) {
  run(make_pass());
  for (const Party party : kBoth) {
    std::vector<Step> steps;
    for (const auto& [step, count] : pair_.parties.recording(party).received()) steps.push_back(step);
    EXPECT_EQ(steps, (std::vector<Step>{steps::kPublicKey, steps::kAgreement, steps::kHello, steps::kObliviousHello,
                                        steps::kObliviousTrees, steps::kObliviousTiles, steps::kForwardOperand,
                                        steps::kForwardProduct, steps::kSharedDerivative, steps::kSharedGradient,
                                        steps::kLiftChoices, steps::kLiftWords}));
    // The plain scheme names the key that a message is encrypted under in its first 16 bytes.
    const Bytes key_of_peer = pair_.parties.session(peer_of(party)).key_owner().public_key();
    for (const Step step : std::vector<Step>{steps::kForwardOperand, steps::kSharedDerivative}) {
      const Bytes payload = last_received(party, step);
      EXPECT_TRUE(std::equal(payload.begin(), payload.begin() + 16, key_of_peer.end() - 16)) << net::name_of(step);
    }
  }
}

TEST_F(SharedContract, MessagesDoNotTellWhichFeaturesAreThere) {
  const auto shape_of_run = [&](std::size_t rows_with_features) {
    MatMulPair pair(scheme_, spec_);
    SharedPass pass = make_shared_pass(spec_, IntMatrix::Kind::kCsr, rows_with_features, random_);
    pass.derivative = share_derivative(spec_, random_reals(kRows * spec_.out, random_));
    pair.forward(pass.x_a, pass.x_b);
    backward_shared(pair, pass);
    std::vector<net::Message> shape;
    for (const auto& m : pair.parties.recording(Party::kB).messages()) shape.push_back(m.message);
    return shape;
  };
  const auto few = shape_of_run(1);
  EXPECT_EQ(few, shape_of_run(20));
  EXPECT_EQ(few, shape_of_run(kRows));
}

}  // namespace
}  // namespace blindfl::protocol::shared_contract_test

// Updates under encryption where dZ is shared: what either party opens is a masked integer, wide enough for the run,
// and shares of dZ leave as ciphertexts that are new each time.

#include <gtest/gtest.h>

#include <cmath>

#include "protocol/encrypted_fixture.h"
#include "protocol/shared_fixture.h"
#include "protocol/views.h"
#include "testing/steps.h"

namespace blindfl::protocol::shared_encrypted_contract_test {
namespace {

using he::paillier::BigInt;
using he::paillier::Integers;
using he::paillier::PaillierKeyOwner;
using he::paillier::PaillierMultiplier;
using he::paillier::SecretKey;
using he::paillier::testing::plain_product;
using he::paillier::testing::TensorLab;

constexpr std::size_t kIn = 8;
constexpr std::size_t kOut = 31;
constexpr std::size_t kBatch = 64;
constexpr std::size_t kPlannedSteps = 50;
constexpr double kRate = 0.1;
constexpr double kLargest = 4.0;

const SecretKey& key_of(Session& session) {
  return dynamic_cast<const PaillierKeyOwner&>(session.key_owner()).secret_key();
}

MatMulSpec make_spec() {
  MatMulSpec spec = shared_spec(kIn, kIn, kOut, kBatch);
  spec.derivative.largest = kLargest;
  spec.update = spec.update_b = Update::kEncrypted;
  spec.sgd = {.learning_rate = kRate, .steps = kPlannedSteps};
  return spec;
}

/// The largest `X V` after all steps, from the bounds of features and derivatives. Both shares are rounded.
BigInt largest_product(const MatMulSpec& spec, const EncryptedUpdateParams& params) {
  BigInt derivatives;
  mpz_set_d(derivatives, std::ceil(std::ldexp(kPlannedSteps * kRate * kLargest, params.derivative_scale())));
  derivatives = derivatives + BigInt(static_cast<std::int64_t>(4 * kPlannedSteps * kBatch));
  BigInt feature;
  mpz_set_d(feature, std::ldexp(spec.features_a.largest, spec.features_a.scale));
  return derivatives * feature * feature * BigInt(static_cast<std::int64_t>(kIn));
}

class SharedEncryptedContract : public ::testing::Test {
 protected:
  explicit SharedEncryptedContract(bool masks = true) {
    for (const Party party : {Party::kA, Party::kB}) {
      const auto& multiplier = dynamic_cast<const PaillierMultiplier&>(pair_.parties.session(party).peer_multiplier());
      he::paillier::HidingProbe::switch_hiding(multiplier.randomizers(), /*fresh=*/true, masks);
    }
  }

  /// Half of the rows have no features.
  SharedPass run_step() {
    SharedPass pass = make_shared_pass(spec_, IntMatrix::Kind::kCsr, kBatch / 2, random_);
    pass.derivative = share_derivative(spec_, random_reals(kBatch * kOut, random_));
    (void)pair_.forward(pass.x_a, pass.x_b);
    (void)backward_shared(pair_, pass);
    return pass;
  }
  void step() {
    for (MatMul* half : {&pair_.a, &pair_.b}) {
      for (const Party party : {Party::kA, Party::kB}) half->weight(party).update->step();
    }
  }
  [[nodiscard]] std::vector<Bytes> received(Party party, net::Step step) const {
    std::vector<Bytes> all;
    for (const testing::RecordedMessage& m : pair_.parties.recording(party).messages()) {
      if (m.direction == net::Direction::kReceived && m.message.step == step) all.push_back(m.payload);
    }
    return all;
  }

  /// What `owner` opens of the products with its peer's features, in two steps after the first.
  [[nodiscard]] MaskedView view_of(Party owner) {
    const Party holder = peer_of(owner);
    const TensorLab lab(key_of(pair_.parties.session(owner)));
    const EncryptedUpdateParams params(pair_.a.params(), updates_with(he::paillier::InsecureParams::make()), holder);
    const auto layout = layout_of(params, kBatch);
    // 2^40 for each value of twice as many passes as steps, and of the layer's four products.
    const auto values = static_cast<std::int64_t>(2 * kPlannedSteps * kBatch * kOut * 4);
    MaskedView view{layout.mask_bits, largest_product(spec_, params), BigInt(values) * BigInt::power_of_two(40)};
    (void)run_step();
    step();
    for (int i = 0; i < 2; ++i) {
      const SharedPass pass = run_step();
      const Bytes payload = received(owner, steps::kForwardProduct).back();
      BufferSource in(payload);
      ThreadPool pool;
      const Integers opened = open_masked(layout, lab.key(), in, pool);
      const Integers product =
          plain_product(pass.x(holder), lab.decrypt(own(pair_.at(holder).holder(holder)->sum())), kOut);
      for (std::size_t k = 0; k < product.size(); ++k) view.add(opened[k], product[k]);
      step();
    }
    return view;
  }

  std::unique_ptr<he::Scheme> scheme_ = testing::make_scheme("paillier");
  SeededRandom random_{1};
  MatMulSpec spec_ = make_spec();
  MatMulPair pair_{*scheme_, spec_};
};

class SharedEncryptedContractWithoutMasks : public SharedEncryptedContract {
 protected:
  SharedEncryptedContractWithoutMasks() : SharedEncryptedContract(/*masks=*/false) {}
};

TEST_F(SharedEncryptedContract, WhatEitherPartyOpensIsMaskedForTheWholeRun) {
  for (const Party owner : {Party::kA, Party::kB}) EXPECT_TRUE(view_of(owner).hides_the_secret()) << name_of(owner);
}
TEST_F(SharedEncryptedContractWithoutMasks, IsSeenByEitherParty) {
  for (const Party owner : {Party::kA, Party::kB}) EXPECT_FALSE(view_of(owner).hides_the_secret()) << name_of(owner);
}

TEST_F(SharedEncryptedContract, TheSameShareIsAnotherCiphertextEachTime) {
  const SharedPass pass = run_step();
  step();
  (void)backward_shared(pair_, pass);
  step();
  (void)backward_shared(pair_, pass);
  for (const Party party : {Party::kA, Party::kB}) {
    const std::vector<Bytes> messages = received(party, steps::kSharedDerivative);
    ASSERT_EQ(messages.size(), 3U);
    EXPECT_EQ(messages[1].size(), messages[2].size());
    EXPECT_NE(messages[1], messages[2]);
  }
}

}  // namespace
}  // namespace blindfl::protocol::shared_encrypted_contract_test

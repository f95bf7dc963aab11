// The contract of docs/protocols.md for updates under encryption, value by value: what A receives it cannot open, and
// what B opens is masked, in every slot, by masks that are wide enough for the largest value there can be. Negative
// controls: the same checks are shown to fail when the masks are left out.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "blindfl/base/error.h"
#include "he/paillier/tensor_lab.h"
#include "protocol/encrypted_fixture.h"
#include "protocol/views.h"
#include "testing/steps.h"

namespace blindfl::protocol::encrypted_contract_test {
namespace {

using he::paillier::BigInt;
using he::paillier::CryptoTensor;
using he::paillier::Integers;
using he::paillier::PaillierKeyOwner;
using he::paillier::PaillierMultiplier;
using he::paillier::ReplyLayout;
using he::paillier::SecretKey;
using he::paillier::testing::plain_product;
using net::Direction;
using net::Step;

constexpr std::size_t kInA = 8;
constexpr std::size_t kOut = 31;
constexpr std::size_t kBatch = 64;

const SecretKey& key_of(Session& session) {
  return dynamic_cast<const PaillierKeyOwner&>(session.key_owner()).secret_key();
}

constexpr double kLargestDerivative = 4.0;
constexpr double kRate = 0.1;

MatMulSpec make_spec(double momentum, std::size_t steps = 50) {
  MatMulSpec spec = small_spec(kInA, 6, kOut, kBatch);
  spec.derivative = {.scale = 32, .largest = kLargestDerivative, .clip = false};
  spec.update = Update::kEncrypted;
  spec.sgd = {.learning_rate = kRate, .momentum = momentum, .steps = steps};
  return spec;
}

/// The largest `X V` there can be, over all steps, of the sum or of a window's sum: from the bounds of features and
/// derivatives, as docs/protocols.md has it. Of the layer's parameters it takes scales, which are units, and no width.
BigInt largest_product(const MatMulSpec& spec, const EncryptedUpdateParams& params, bool window) {
  const double mu = spec.sgd.momentum;
  // Encoded derivatives of a batch times what the steps multiply them by.
  double factors = static_cast<double>(spec.sgd.steps) * spec.sgd.learning_rate / (1.0 - mu);
  if (window) {
    factors = 0;
    const int length = static_cast<int>(std::ceil(32 / -std::log2(mu)));
    for (int k = 0; k < length; ++k) factors += std::pow(mu, -k);
  }
  const int scale = window ? params.history_scale() : params.derivative_scale();
  BigInt derivatives;
  mpz_set_d(derivatives, std::ceil(std::ldexp(factors * spec.derivative.largest, scale)));
  // Each may have been rounded up.
  derivatives = derivatives + BigInt(static_cast<std::int64_t>(spec.sgd.steps * spec.batch));
  BigInt feature;
  mpz_set_d(feature, std::ldexp(spec.features_a.largest, spec.features_a.scale));
  return derivatives * feature * feature * BigInt(static_cast<std::int64_t>(spec.in_a));
}

/// 2^40 for each value that B opens in a run of twice as many passes as steps, and as many for each of the layer's
/// three products.
BigInt margin_of_run(const MatMulSpec& spec) {
  const std::size_t sums = spec.sgd.momentum == 0 ? 1 : 3;
  const std::size_t values = 2 * spec.sgd.steps * spec.batch * spec.out * sums * 3;
  return BigInt(static_cast<std::int64_t>(values)) * BigInt::power_of_two(40);
}

class EncryptedContract : public ::testing::Test {
 protected:
  explicit EncryptedContract(double momentum = 0.0, bool masks = true, std::size_t steps = 50)
      : spec_(make_spec(momentum, steps)),
        pair_(*scheme_, spec_),
        params_(pair_.a.params(), updates_with(he::paillier::InsecureParams::make())),
        lab_(key_of(pair_.parties.session(Party::kB))) {
    const auto& multiplier =
        dynamic_cast<const PaillierMultiplier&>(pair_.parties.session(Party::kA).peer_multiplier());
    he::paillier::HidingProbe::switch_hiding(multiplier.randomizers(), /*fresh=*/true, masks);
  }

  /// Passes forward and back. Half of A's rows have no features: they must be hidden like any other.
  void run_passes() {
    x_a_ = random_features(spec_.features_a, IntMatrix::Kind::kCsr, kBatch, kInA, random_);
    std::vector<std::uint32_t> half(kBatch / 2);
    for (std::uint32_t i = 0; i < kBatch / 2; ++i) half[i] = i;
    x_a_ = x_a_.select_rows(half, kBatch);
    x_b_ = random_features(spec_.features_b, IntMatrix::Kind::kCsr, kBatch, 6, random_);
    derivative_ = random_derivative(spec_, random_);
    outputs_ = pair_.forward(x_a_, x_b_);
    pair_.parties.run(
        [&](Session& s) { (void)open_output(s, pair_.a.layer(), round_output(outputs_.first, spec_.output_scale)); },
        [&](Session& s) { z_ = open_output(s, pair_.b.layer(), round_output(outputs_.second, spec_.output_scale)); });
    (void)pair_.backward(x_a_, x_b_, derivative_);
  }
  void step() {
    pair_.a.holder()->step();
    pair_.b.owner()->step();
    pair_.b.row_update()->step();
  }
  void run_steps(int count) {
    for (int i = 0; i < count; ++i) {
      run_passes();
      step();
    }
  }

  /// All messages of a step that `party` received.
  [[nodiscard]] std::vector<Bytes> received(Party party, Step step) const {
    std::vector<Bytes> all;
    for (const testing::RecordedMessage& m : pair_.parties.recording(party).messages()) {
      if (m.direction == Direction::kReceived && m.message.step == step) all.push_back(m.payload);
    }
    EXPECT_FALSE(all.empty()) << "no such message";
    return all;
  }
  [[nodiscard]] std::vector<Step> steps_received(Party party) const {
    std::vector<Step> steps;
    for (const auto& [step, traffic] : pair_.parties.recording(party).received()) steps.push_back(step);
    return steps;
  }
  [[nodiscard]] std::vector<Bytes> ciphertexts(const Bytes& payload) const {
    const std::size_t size = lab_.ring().row_bytes();
    std::vector<Bytes> all;
    for (auto at = payload.begin(); at < payload.end(); at += static_cast<std::ptrdiff_t>(size)) {
      all.emplace_back(at, at + static_cast<std::ptrdiff_t>(size));
    }
    return all;
  }

  /// What B opens of two more steps, of each of the sums that travel.
  struct PartView {
    MaskedView with_features;
    MaskedView without_features;
  };
  [[nodiscard]] std::vector<PartView> views_of_b() {
    const ReplyLayout layout = layout_of(params_, kBatch);
    std::vector<PartView> views;
    for (std::size_t part = 0; part < params_.parts(); ++part) {
      const MaskedView view{layout.mask_bits, largest_product(spec_, params_, part > 0), margin_of_run(spec_)};
      views.push_back({view, view});
    }
    for (int i = 0; i < 2; ++i) {
      run_passes();
      const std::vector<const CryptoTensor*> sources{
          &own(pair_.a.holder()->sum()), &own(pair_.a.holder()->window(false)), &own(pair_.a.holder()->window(true))};
      const Bytes payload = received(Party::kB, steps::kForwardProduct).back();
      BufferSource in(payload);
      ThreadPool pool;
      const Integers opened = open_masked(layout, lab_.key(), in, pool);
      for (std::size_t part = 0; part < views.size(); ++part) {
        const Integers product = plain_product(x_a_, lab_.decrypt(*sources.at(part)), kOut);
        for (std::size_t k = 0; k < product.size(); ++k) {
          MaskedView& view = k < product.size() / 2 ? views[part].with_features : views[part].without_features;
          view.add(opened[part * product.size() + k], product[k]);
        }
      }
      step();
    }
    return views;
  }

  std::unique_ptr<he::Scheme> scheme_ = testing::make_scheme("paillier");
  SeededRandom random_{1};
  MatMulSpec spec_;
  MatMulPair pair_;
  EncryptedUpdateParams params_;
  he::paillier::testing::TensorLab lab_;
  IntMatrix x_a_;
  IntMatrix x_b_;
  Derivative derivative_;
  std::pair<OutputShare, OutputShare> outputs_;
  std::optional<std::vector<double>> z_;
};

class EncryptedContractWithoutMasks : public EncryptedContract {
 protected:
  EncryptedContractWithoutMasks() : EncryptedContract(0.0, /*masks=*/false) {}
};

/// A window of three steps: after four, a row has a current and a previous one.
class EncryptedContractWithMomentum : public EncryptedContract {
 protected:
  explicit EncryptedContractWithMomentum(bool masks = true) : EncryptedContract(0.0001, masks) { run_steps(4); }
};

class EncryptedContractWithMomentumWithoutMasks : public EncryptedContractWithMomentum {
 protected:
  EncryptedContractWithMomentumWithoutMasks() : EncryptedContractWithMomentum(/*masks=*/false) {}
};

TEST_F(EncryptedContract, BOpensTheProductOfAsFeaturesOnlyMaskedAlsoOfRowsWithoutFeatures) {
  run_steps(1);
  const PartView view = views_of_b().front();
  EXPECT_TRUE(view.with_features.hides_the_secret());
  EXPECT_TRUE(view.without_features.hides_the_secret());
}
TEST_F(EncryptedContractWithoutMasks, IsSeenInTheProductOfAsFeatures) {
  run_steps(1);
  const PartView view = views_of_b().front();
  EXPECT_FALSE(view.with_features.hides_the_secret());
  EXPECT_FALSE(view.without_features.hides_the_secret());
}

TEST_F(EncryptedContractWithMomentum, BOpensTheSumAndBothWindowsOnlyMasked) {
  ASSERT_EQ(params_.parts(), 3U);
  const std::vector<PartView> views = views_of_b();
  for (std::size_t part = 0; part < 3; ++part) {
    SCOPED_TRACE(part);
    EXPECT_TRUE(views[part].with_features.hides_the_secret());
    EXPECT_TRUE(views[part].without_features.hides_the_secret());
    const Integers& secret = views[part].with_features.secret;
    EXPECT_TRUE(std::ranges::any_of(secret, [](const BigInt& v) { return v.sign() != 0; })) << "nothing to hide";
  }
}
TEST_F(EncryptedContractWithMomentumWithoutMasks, IsSeenInEveryPart) {
  for (const PartView& view : views_of_b()) EXPECT_FALSE(view.with_features.hides_the_secret());
}

/// Every feature and every derivative as large as it may be, with signs that add up: what the bounds are for.
class EncryptedContractAtItsBounds : public EncryptedContract {
 protected:
  explicit EncryptedContractAtItsBounds(bool masks = true) : EncryptedContract(0.0, masks, /*steps=*/3) {
    const auto largest = static_cast<std::int64_t>(std::ldexp(spec_.features_a.largest, spec_.features_a.scale));
    std::vector<std::int64_t> features;
    std::vector<double> dz;
    for (std::size_t r = 0; r < kBatch; ++r) {
      features.insert(features.end(), kInA, r % 2 == 0 ? largest : -largest);
      dz.insert(dz.end(), kOut, r % 2 == 0 ? kLargestDerivative : -kLargestDerivative);
    }
    x_a_ = IntMatrix::dense(kBatch, kInA, std::move(features), spec_.features_a.scale,
                            static_cast<std::uint64_t>(largest));
    x_b_ = random_features(spec_.features_b, IntMatrix::Kind::kCsr, kBatch, 6, random_);
    derivative_ = encode_derivative(FixedPoint(spec_.derivative), kBatch, kOut, dz);
  }

  /// What B opens in the last of all steps.
  [[nodiscard]] MaskedView last_view_of_b() {
    for (int i = 0; i < 2; ++i) {
      (void)pair_.forward(x_a_, x_b_);
      (void)pair_.backward(x_a_, x_b_, derivative_);
      step();
    }
    (void)pair_.forward(x_a_, x_b_);
    const ReplyLayout layout = layout_of(params_, kBatch);
    const Bytes payload = received(Party::kB, steps::kForwardProduct).back();
    BufferSource in(payload);
    ThreadPool pool;
    return {layout.mask_bits, largest_product(spec_, params_, false), margin_of_run(spec_),
            open_masked(layout, lab_.key(), in, pool),
            plain_product(x_a_, lab_.decrypt(own(pair_.a.holder()->sum())), kOut)};
  }
};

class EncryptedContractAtItsBoundsWithoutMasks : public EncryptedContractAtItsBounds {
 protected:
  EncryptedContractAtItsBoundsWithoutMasks() : EncryptedContractAtItsBounds(/*masks=*/false) {}
};

TEST_F(EncryptedContractAtItsBounds, BSeesNothingOfTheLargestValuesAboveTheirMasks) {
  const MaskedView view = last_view_of_b();
  EXPECT_TRUE(view.hides_the_secret());
  EXPECT_TRUE(view.reaches_its_bound()) << "there are larger values than the test has tried";
}
TEST_F(EncryptedContractAtItsBoundsWithoutMasks, TheyAreSeen) {
  const MaskedView view = last_view_of_b();
  EXPECT_FALSE(view.hides_the_secret());
  EXPECT_FALSE(view.shows_nothing_above_the_mask());
}

TEST(EncryptedUpdateMasks, AreLongerThanAnyValueBy40BitsAndTheLogarithmOfTheValuesOfARun) {
  for (const double momentum : {0.0, 0.0001, 0.9}) {
    for (const std::size_t steps : {std::size_t{1}, std::size_t{50}, std::size_t{1'000'000}}) {
      for (const std::size_t batch : {std::size_t{1}, kBatch, std::size_t{1000}}) {
        for (const double largest : {1.0, 16.0}) {
          MatMulSpec spec = make_spec(momentum, steps);
          spec.batch = batch;
          spec.features_a = {.scale = largest == 1.0 ? 0 : 16, .largest = largest};
          spec.features_b = spec.features_a;
          const EncryptedUpdateParams params(MatMulParams(spec),
                                             updates_with(he::paillier::Params({.key_bits = 2048})));
          const ReplyLayout layout = layout_of(params, batch);
          SCOPED_TRACE(::testing::Message() << "momentum " << momentum << ", " << steps << " steps of " << batch);
          BigInt most = largest_product(spec, params, false);
          if (momentum != 0) most = std::max(most, largest_product(spec, params, true));
          EXPECT_TRUE((MaskedView{layout.mask_bits, most, margin_of_run(spec)}.is_wide_enough()));
          // Value and mask stay inside their slot, whatever their signs.
          EXPECT_LE(BigInt::power_of_two(static_cast<std::size_t>(layout.mask_bits)) + most,
                    BigInt::power_of_two(static_cast<std::size_t>(layout.slots.width() - 1)));
        }
      }
    }
  }
}

/// Slots of B's replies that stand for no value.
std::vector<std::uint64_t> unused_slots(const he::paillier::testing::TensorLab& lab, const ReplyLayout& layout,
                                        const Bytes& message) {
  Integers plaintexts(layout.ciphertexts());
  lab.key().decrypt(message, plaintexts);
  const std::size_t used = layout.rows_per_ciphertext * layout.cols_per_group;
  std::vector<std::uint64_t> values;
  for (std::size_t i = 0; i < plaintexts.size(); ++i) {
    Integers slots(used);
    EXPECT_TRUE(layout.slots.unpack(plaintexts[i], slots));
    for (std::size_t s = 0; s < used; ++s) {
      const std::size_t row = i / layout.groups * layout.rows_per_ciphertext + s / layout.cols_per_group;
      const std::size_t col = i % layout.groups * layout.cols_per_group + s % layout.cols_per_group;
      if (row < layout.rows && col < layout.cols) continue;
      BigInt top;
      mpz_fdiv_q_2exp(top, slots[s], static_cast<mp_bitcnt_t>(layout.mask_bits - 64));
      values.push_back(low64(he::paillier::low128(top)));
    }
  }
  return values;
}

TEST_F(EncryptedContract, SlotsWithoutAValueAreMaskedToo) {
  run_steps(1);
  std::vector<std::uint64_t> values;
  for (int i = 0; values.size() < 1280; ++i) {
    ASSERT_LT(i, 40) << "no slot without a value";
    (void)pair_.forward(x_a_, x_b_);
    const auto more =
        unused_slots(lab_, layout_of(params_, kBatch), received(Party::kB, steps::kForwardProduct).back());
    values.insert(values.end(), more.begin(), more.end());
  }
  EXPECT_TRUE(testing::looks_uniform<std::uint64_t>(values));
}

TEST_F(EncryptedContract, AReceivesDerivativesThatOnlyBsKeyOpens) {
  run_passes();
  // Besides what greets and the product under its own key, A receives derivatives and nothing else; no operand, because
  // what A multiplies with never leaves A.
  EXPECT_EQ(steps_received(Party::kA), (std::vector<Step>{steps::kPublicKey, steps::kAgreement, steps::kHello,
                                                          steps::kForwardProduct, steps::kDerivativeOperand}));
  const SecretKey& key_of_a = key_of(pair_.parties.session(Party::kA));
  const he::paillier::CryptoShape shape = own(params_.updates()).shape(params_.derivative(kBatch, false));
  const std::vector<std::int64_t> dz = derivative_.share->to_dense();
  const auto all = ciphertexts(received(Party::kA, steps::kDerivativeOperand).back());
  ASSERT_EQ(all.size(), kBatch * shape.groups());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t first = i % shape.groups() * shape.cols_per_group();
    Integers values(std::min(shape.cols_per_group(), kOut - first));
    ASSERT_TRUE(shape.slots.unpack(lab_.decrypt(lab_.from_wire(all[i])), values));
    for (std::size_t c = 0; c < values.size(); ++c) {
      const double expected =
          -0.1 / kBatch * std::ldexp(static_cast<double>(dz[i / shape.groups() * kOut + first + c]), -32);
      EXPECT_NEAR(std::ldexp(mpz_get_d(values[c]), -shape.scale), expected, 1e-9);
    }
    // Under A's own key it is no ciphertext, or one of no such numbers.
    Integers plaintext(1);
    bool opens = true;
    try {
      key_of_a.decrypt(all[i], plaintext);
      opens = shape.slots.unpack(plaintext[0], values);
    } catch (const ProtocolError&) {
      opens = false;
    }
    EXPECT_FALSE(opens);
  }
}

TEST_F(EncryptedContract, AReceivesTheSameDerivativeInOtherCiphertextsEachTime) {
  run_passes();
  // Of the same step: one backward pass is what it has room for.
  pair_.a.holder()->discard();
  pair_.b.owner()->discard();
  pair_.b.row_update()->discard();
  (void)pair_.backward(x_a_, x_b_, derivative_);
  const std::vector<Bytes> messages = received(Party::kA, steps::kDerivativeOperand);
  ASSERT_EQ(messages.size(), 2U);
  std::set<BigInt> different;
  std::set<BigInt> randomness;
  std::vector<Integers> plaintexts;
  for (const Bytes& message : messages) {
    const auto all = ciphertexts(message);
    for (const Bytes& c : all) different.insert(lab_.from_wire(c));
    for (const BigInt& r : lab_.randomness(ByteView(message))) randomness.insert(r);
    plaintexts.emplace_back(all.size());
    lab_.key().decrypt(message, plaintexts.back());
  }
  EXPECT_EQ(plaintexts[0], plaintexts[1]);
  EXPECT_EQ(different.size(), 2 * plaintexts[0].size());
  EXPECT_EQ(randomness.size(), different.size());
}

TEST_F(EncryptedContract, BReceivesOnlyWhatTheContractAllowsAndFreshEachTime) {
  run_passes();
  const IntMatrix x_a = x_a_;
  (void)pair_.forward(x_a, x_b_);
  EXPECT_EQ(steps_received(Party::kB),
            (std::vector<Step>{steps::kPublicKey, steps::kAgreement, steps::kHello, steps::kForwardOperand,
                               steps::kForwardProduct, steps::kOutputShare}));
  std::set<BigInt> randomness;
  std::size_t count = 0;
  for (const Bytes& message : received(Party::kB, steps::kForwardProduct)) {
    for (const BigInt& r : lab_.randomness(ByteView(message))) {
      randomness.insert(r);
      ++count;
    }
  }
  EXPECT_EQ(count, 2 * layout_of(params_, kBatch).ciphertexts());
  EXPECT_EQ(randomness.size(), count) << "the same features twice, and even so nothing repeats";
}

std::vector<std::uint64_t> output_shares(const Bytes& payload) {
  std::vector<std::uint64_t> values(payload.size() / sizeof(std::uint64_t));
  std::memcpy(values.data(), payload.data(), payload.size());
  return values;
}

TEST_F(EncryptedContract, BReceivesARandomShareOfZWhichOnlyWithItsOwnMakesZ) {
  run_steps(2);
  const auto shares = output_shares(received(Party::kB, steps::kOutputShare).back());
  // Values up to 2^15 at 16 fractional bits, and five more: nothing above them travels.
  constexpr int kRing = 36;
  EXPECT_TRUE(testing::looks_uniform<std::uint64_t>(shares, kRing));
  const ShareMatrix own = round_output(outputs_.second, spec_.output_scale).share;
  std::vector<std::uint64_t> own_shares;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    own_shares.push_back(low64(own.values()[i]));
    const auto sum = static_cast<std::int64_t>(signed_low_bits(shares[i] + own_shares.back(), kRing));
    EXPECT_EQ(std::ldexp(static_cast<double>(sum), -spec_.output_scale), (*z_)[i]);
  }
  EXPECT_TRUE(testing::looks_uniform<std::uint64_t>(own_shares, kRing));
}

TEST_F(EncryptedContract, PiecesThatShouldNotChangeDoNotAndNobodyHoldsALearntWeight) {
  const ShareMatrix u_a = pair_.a.weight(Party::kA).piece;
  const ShareMatrix v_b = pair_.a.weight(Party::kB).piece;
  const ShareMatrix u_b = pair_.b.weight(Party::kB).piece;
  run_steps(3);
  EXPECT_EQ(pair_.a.weight(Party::kA).piece, u_a);
  EXPECT_EQ(pair_.a.weight(Party::kB).piece, v_b);
  EXPECT_NE(pair_.b.weight(Party::kB).piece, u_b);
  EXPECT_EQ(pair_.b.weight(Party::kA).piece.rows(), 0U) << "B has no piece of A's weights";
  // V_B travels once, for it never changes.
  EXPECT_EQ(received(Party::kB, steps::kForwardOperand).size(), 1U);
}

}  // namespace
}  // namespace blindfl::protocol::encrypted_contract_test

// The contract of docs/protocols.md for embedding tables that are updated under encryption: what a table's holder
// receives it cannot open, and what the key's owner opens is masked and re-randomised, whatever row was looked up.
// Negative controls: the same checks are shown to fail when either is left out. The weights' products travel under the
// plain scheme, whose messages this test can read.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "blindfl/base/error.h"
#include "blindfl/share/products.h"
#include "protocol/embed_fixture.h"
#include "protocol/views.h"
#include "testing/label.h"
#include "testing/steps.h"

namespace blindfl::protocol::embed_encrypted_contract_test {
namespace {

using he::paillier::BigInt;
using he::paillier::CryptoTensor;
using he::paillier::Integers;
using he::paillier::PaillierKeyOwner;
using he::paillier::PaillierMultiplier;
using he::paillier::ReplyLayout;
using he::paillier::SecretKey;
using he::paillier::testing::own;
using he::paillier::testing::plain_product;
using he::paillier::testing::TensorLab;
using net::Direction;
using net::Step;

constexpr std::size_t kBatch = 48;
constexpr std::size_t kDimension = 14;
constexpr double kRate = 0.1;

/// A field of A's and one of B's: A is the holder of the first table, B of the second.
EmbedMatMulSpec make_spec(double momentum) {
  EmbedMatMulSpec spec;
  spec.fields_a = {{.field = {.name = "a0", .categories = 9}, .update = Update::kEncrypted, .scheme = "paillier"}};
  spec.fields_b = {{.field = {.name = "b0", .categories = 7, .most = 3, .pooling = Pooling::kMean},
                    .update = Update::kEncrypted,
                    .scheme = "paillier"}};
  spec.dimension = kDimension;
  spec.out = 2;
  spec.batch = kBatch;
  spec.derivative = {.scale = 32, .largest = 4.0, .clip = false};
  spec.sgd = {.learning_rate = kRate, .momentum = momentum, .steps = 50};
  return spec;
}

struct Hiding {
  double momentum = 0.0;
  bool fresh = true;
  bool masks = true;
};

class EncryptedTables {
 public:
  explicit EncryptedTables(const Hiding& hiding = {})
      : spec_(make_spec(hiding.momentum)), pair_({&plain_, paillier_.get()}, spec_, testing::make_channels()) {
    for (const Party holder : {Party::kA, Party::kB}) {
      const auto& peer = dynamic_cast<const PaillierMultiplier&>(*session(holder).keys("paillier").peer);
      he::paillier::HidingProbe::switch_hiding(peer.randomizers(), hiding.fresh, hiding.masks);
    }
  }

  /// Passes forward and back. Half of the rows have the same category, or none.
  void run_passes() {
    x_a_ = random_categories(spec_.fields_a, kBatch, random_);
    x_b_ = random_categories(spec_.fields_b, kBatch, random_);
    std::vector<std::uint32_t> rows(kBatch / 2);
    for (std::uint32_t i = 0; i < kBatch / 2; ++i) rows[i] = i;
    x_b_[0] = x_b_[0].select_rows(rows, kBatch);
    rows.resize(kBatch, 0);
    x_a_[0] = x_a_[0].select_rows(rows);
    derivative_ = random_derivative(spec_, random_);
    forward();
    backward();
  }
  void forward() { std::tie(at_a_, at_b_) = pair_.forward(x_a_, x_b_, kBatch); }
  void backward() { gradients_ = pair_.backward(at_a_.pass, at_b_.pass, derivative_); }
  void step() {
    take_step(pair_.at(Party::kA), gradients_.first, kRate / kBatch);
    take_step(pair_.at(Party::kB), gradients_.second, kRate / kBatch);
  }
  /// The pass, so that its step has room for another.
  void discard() {
    for (const Party party : {Party::kA, Party::kB}) {
      for (const Party holder : {Party::kA, Party::kB}) table(party, holder).weight()->update->discard();
    }
  }
  void run_steps(int count) {
    for (int i = 0; i < count; ++i) {
      run_passes();
      step();
    }
  }

  [[nodiscard]] EmbedPair& pair() { return pair_; }
  [[nodiscard]] Session& session(Party party) { return pair_.parties.session(party); }
  [[nodiscard]] static std::size_t table_of(Party holder) { return holder == Party::kA ? 0 : 1; }
  [[nodiscard]] EmbeddingTable& table(Party party, Party holder) { return *pair_.at(party).tables()[table_of(holder)]; }
  [[nodiscard]] const SecretKey& key_of(Party party) {
    return dynamic_cast<const PaillierKeyOwner&>(*session(party).keys("paillier").owner).secret_key();
  }
  [[nodiscard]] EncryptedUpdateParams update(Party holder) {
    return {pair_.at(holder).params().encrypted_update(table(holder, holder).field()),
            he::paillier::testing::updates_with(he::paillier::InsecureParams::make())};
  }

  [[nodiscard]] ReplyLayout layout(Party holder) {
    return own(update(holder).updates()).layout(update(holder).reply(kBatch));
  }
  [[nodiscard]] he::paillier::CryptoShape derivative_shape(Party holder) {
    return own(update(holder).updates()).shape(update(holder).derivative(kBatch, /*history=*/false));
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

  /// The largest row that can be looked up, over all steps, in the sum or in a window's sum: from the bounds of weights
  /// and derivatives, as docs/protocols.md has it. Of the parameters it takes scales, which are units, and no width.
  [[nodiscard]] BigInt largest_row(Party holder, bool window) {
    const EncryptedUpdateParams params = update(holder);
    const CategoryField& field = table(holder, holder).field().field;
    const double mu = spec_.sgd.momentum;
    double factors = static_cast<double>(spec_.sgd.steps) * kRate / (1.0 - mu);
    if (window) {
      factors = 0;
      const int length = static_cast<int>(std::ceil(32 / -std::log2(mu)));
      for (int k = 0; k < length; ++k) factors += std::pow(mu, -k);
    }
    const double derivative = static_cast<double>(spec_.out) * spec_.derivative.largest * spec_.largest_weight;
    BigInt derivatives;
    mpz_set_d(derivatives,
              std::ceil(std::ldexp(factors * derivative, window ? params.history_scale() : params.derivative_scale())));
    // Each may have been rounded up, at both parties.
    derivatives = derivatives + BigInt(static_cast<std::int64_t>(2 * spec_.sgd.steps * kBatch));
    const BigInt category = static_cast<std::int64_t>(field.bound());
    return derivatives * category * category * BigInt(static_cast<std::int64_t>(field.most));
  }

  /// What the key's owner opens of two more steps, of each of the sums that travel.
  [[nodiscard]] std::vector<MaskedView> views_of_owner(Party holder) {
    const EncryptedUpdateParams params = update(holder);
    const ReplyLayout layout = this->layout(holder);
    const SecretKey& key = key_of(peer_of(holder));
    // 2^40 for each value that is opened in a run of twice as many passes as steps, and as many for each of the eight
    // products of a layer with two fields.
    const std::size_t opened_in_a_run = 2 * spec_.sgd.steps * kBatch * kDimension * params.parts() * 8;
    const BigInt margin = BigInt(static_cast<std::int64_t>(opened_in_a_run)) * BigInt::power_of_two(40);
    std::vector<MaskedView> views;
    for (std::size_t part = 0; part < params.parts(); ++part) {
      views.push_back({layout.mask_bits, largest_row(holder, part > 0), margin});
    }
    while (views.front().seen.size() < 1280) {
      run_passes();
      const EncryptedUpdateHolder& update = *table(holder, holder).holder();
      const Bytes payload = received(peer_of(holder), steps::kLookupProduct).back();
      BufferSource in(payload);
      ThreadPool pool;
      const Integers opened = open_masked(layout, key, in, pool);
      const std::vector<const CryptoTensor*> sources{&own(update.sum()), &own(update.window(false)),
                                                     &own(update.window(true))};
      for (std::size_t part = 0; part < views.size(); ++part) {
        const IntMatrix& x = (holder == Party::kA ? x_a_ : x_b_)[0];
        const Integers rows = plain_product(x, TensorLab(key).decrypt(*sources.at(part)), kDimension);
        const auto begin = opened.begin() + static_cast<std::ptrdiff_t>(part * rows.size());
        views[part].seen.insert(views[part].seen.end(), begin, begin + static_cast<std::ptrdiff_t>(rows.size()));
        views[part].secret.insert(views[part].secret.end(), rows.begin(), rows.end());
      }
      step();
    }
    return views;
  }

  /// Of the embeddings that were looked up last, at A and at B.
  [[nodiscard]] std::vector<RingView> pieces() const {
    std::vector<RingView> views(2);
    const ShareMatrix embeddings = open(at_a_.pass.embeddings, at_b_.pass.embeddings);
    views[0].add(at_a_.pass.embeddings, embeddings);
    views[1].add(at_b_.pass.embeddings, embeddings);
    return views;
  }

  /// What is left of the ciphertexts of a kind that `party` received without their plaintexts.
  [[nodiscard]] std::vector<BigInt> randomness(Party party, Step step, const SecretKey& key) const {
    std::vector<BigInt> all;
    for (const Bytes& message : received(party, step)) {
      for (BigInt& r : TensorLab(key).randomness(ByteView(message))) all.push_back(std::move(r));
    }
    return all;
  }

  /// What dE is without the share that A opened, as a number.
  [[nodiscard]] ShareMatrix derivative_share_of_b() {
    const EmbedMatMulParams& params = pair_.at(Party::kA).params();
    const Bytes payload = received(Party::kA, steps::kEmbeddingDerivative).back();
    BufferSource in(payload);
    ThreadPool pool;
    Random random;
    const auto plan = plain_.plan(params.embedding_derivative(kBatch));
    const ShareMatrix of_a = session(Party::kA).key_owner().open(*plan, in, random, pool);
    const auto weights = [&](Party party) {
      return narrowed(rescale(transpose(pair_.at(party).weight()->piece), params.backward_weight_scale()),
                      of_a.ring_bits());
    };
    const IntMatrix dz =
        rounded_derivative(*derivative_.share, params.derivative_scale(), low64(params.derivative_bound()));
    return lifted(multiply(dz, weights(Party::kA) + weights(Party::kB)) - of_a);
  }

 private:
  testing::PlainScheme plain_;
  std::unique_ptr<he::Scheme> paillier_ = testing::make_scheme("paillier");
  SeededRandom random_{1};
  EmbedMatMulSpec spec_;
  EmbedPair pair_;
  std::vector<IntMatrix> x_a_;
  std::vector<IntMatrix> x_b_;
  Derivative derivative_;
  EmbedMatMul::Forward at_a_;
  EmbedMatMul::Forward at_b_;
  std::pair<EmbedGradients, EmbedGradients> gradients_;
};

bool has_something_to_hide(const MaskedView& view) {
  return std::ranges::any_of(view.secret, [](const BigInt& v) { return v.sign() != 0; });
}

/// With momentum, a window of three steps: after four, a row has a current and a previous one.
std::vector<double> momenta() {
  return testing::kFull ? std::vector{0.0, 0.0001} : std::vector{0.0};
}

TEST(EncryptedTableContract, TheOwnerOpensLookedUpRowsOnlyMasked) {
  for (const double momentum : momenta()) {
    EncryptedTables tables({.momentum = momentum});
    tables.run_steps(momentum == 0 ? 1 : 4);
    for (const Party holder : {Party::kA, Party::kB}) {
      const std::vector<MaskedView> views = tables.views_of_owner(holder);
      EXPECT_EQ(views.size(), momentum == 0 ? 1U : 3U);
      for (const MaskedView& view : views) {
        EXPECT_TRUE(view.hides_the_secret());
        EXPECT_TRUE(has_something_to_hide(view));
      }
    }
  }
}
TEST(EncryptedTableContractWithoutMasks, IsSeenInLookedUpRows) {
  for (const double momentum : momenta()) {
    EncryptedTables tables({.momentum = momentum, .masks = false});
    tables.run_steps(momentum == 0 ? 1 : 4);
    for (const Party holder : {Party::kA, Party::kB}) {
      for (const MaskedView& view : tables.views_of_owner(holder)) {
        EXPECT_FALSE(view.hides_the_secret());
        EXPECT_EQ(view.seen, view.secret) << "the secret was not what is inside";
      }
    }
  }
}

TEST(EncryptedTableContract, NeitherPartysPieceOfTheEmbeddingsTellsThem) {
  EncryptedTables tables;
  tables.run_steps(2);
  for (const RingView& piece : tables.pieces()) EXPECT_TRUE(piece.hides_the_secret_below_bit(60));
}

TEST(EncryptedTableContract, TheSameRowsTwiceAreOtherCiphertextsEachTime) {
  EncryptedTables tables;
  tables.run_steps(1);
  tables.forward();
  tables.forward();
  for (const Party holder : {Party::kA, Party::kB}) {
    const Party owner = peer_of(holder);
    const auto all = tables.randomness(owner, steps::kLookupProduct, tables.key_of(owner));
    EXPECT_EQ(all.size(), 3 * tables.layout(holder).ciphertexts());
    EXPECT_EQ(std::set<BigInt>(all.begin(), all.end()).size(), all.size());
  }
}
TEST(EncryptedTableContractWithoutRerandomisation, IsSeenInTheSameRowsTwice) {
  EncryptedTables tables({.fresh = false});
  tables.run_steps(1);
  tables.forward();
  tables.forward();
  for (const Party holder : {Party::kA, Party::kB}) {
    const Party owner = peer_of(holder);
    const auto all = tables.randomness(owner, steps::kLookupProduct, tables.key_of(owner));
    // The second and the third time are one, and the first, when every row was 0, was not even encrypted.
    EXPECT_LE(std::set<BigInt>(all.begin(), all.end()).size(), all.size() / 3 + 1);
  }
}

/// Values that a message of encrypted derivatives stands for; nothing if this key does not open it.
std::optional<Integers> opened_derivative(const SecretKey& key, const he::paillier::CryptoShape& shape,
                                          const Bytes& message) {
  Integers plaintexts(shape.rows * shape.groups());
  Integers values(shape.rows * shape.cols);
  try {
    key.decrypt(message, plaintexts);
  } catch (const ProtocolError&) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < plaintexts.size(); ++i) {
    const std::size_t first = i % shape.groups() * shape.cols_per_group();
    const auto group = std::span(values).subspan(i / shape.groups() * shape.cols + first,
                                                 std::min(shape.cols_per_group(), shape.cols - first));
    if (!shape.slots.unpack(plaintexts[i], group)) return std::nullopt;
  }
  return values;
}

TEST(EncryptedTableContract, TheHolderReceivesSharesOfDerivativesThatOnlyTheirOwnersKeyOpens) {
  EncryptedTables tables;
  tables.run_passes();
  for (const Party holder : {Party::kA, Party::kB}) {
    const auto shape = tables.derivative_shape(holder);
    const Bytes message = tables.received(holder, steps::kDerivativeShare).back();
    EXPECT_TRUE(opened_derivative(tables.key_of(peer_of(holder)), shape, message).has_value());
    EXPECT_FALSE(opened_derivative(tables.key_of(holder), shape, message).has_value());
  }
}

TEST(EncryptedTableContract, WhatTheHolderReceivesIsTheOwnersShareAndNotTheDerivative) {
  EncryptedTables tables;
  tables.run_passes();
  const auto shape = tables.derivative_shape(Party::kA);
  const Bytes message = tables.received(Party::kA, steps::kDerivativeShare).back();
  const auto values = opened_derivative(tables.key_of(Party::kB), shape, message);
  ASSERT_TRUE(values.has_value());
  const ShareMatrix share = select_columns(tables.derivative_share_of_b(), 0, kDimension);
  const std::vector<double> expected = decode_ring(share);
  std::size_t larger_than_derivatives = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double got = std::ldexp(mpz_get_d((*values)[i]), -shape.scale);
    EXPECT_NEAR(got, -kRate / kBatch * expected[i], 1e-6 * std::abs(expected[i]) + 1e-6);
    larger_than_derivatives += std::abs(expected[i]) > 0x1p40 ? 1 : 0;
  }
  EXPECT_GT(larger_than_derivatives, expected.size() / 2) << "a share fills its ring, and no derivative does";
}

TEST(EncryptedTableContract, TheSameDerivativeTwiceIsOtherCiphertextsEachTime) {
  EncryptedTables tables;
  tables.run_passes();
  tables.discard();
  tables.backward();
  for (const Party holder : {Party::kA, Party::kB}) {
    const SecretKey& key = tables.key_of(peer_of(holder));
    const std::vector<Bytes> messages = tables.received(holder, steps::kDerivativeShare);
    ASSERT_EQ(messages.size(), 2U);
    EXPECT_NE(messages[0], messages[1]);
    const auto all = tables.randomness(holder, steps::kDerivativeShare, key);
    EXPECT_EQ(all.size(), 2 * kBatch * tables.derivative_shape(holder).groups());
    EXPECT_EQ(std::set<BigInt>(all.begin(), all.end()).size(), all.size());
  }
}

TEST(EncryptedTableContract, APartyReceivesTheseMessagesAndNoOthers) {
  EncryptedTables tables;
  tables.run_passes();
  const auto messages = [&](Party party) {
    std::map<Step, std::uint64_t> messages;
    for (const auto& [step, traffic] : tables.pair().parties.recording(party).received()) {
      messages[step] = traffic.messages;
    }
    return messages;
  };
  // No operand and no gradient of a table: they would tell its size, and need a whole table's ciphertexts.
  const std::map<Step, std::uint64_t> at_a = {
      {steps::kPublicKey, 2},        {steps::kAgreement, 1},      {steps::kHello, 1},
      {steps::kPieceCorrection, 1},  {steps::kLookupProduct, 1},  {steps::kWeightOperand, 1},
      {steps::kEmbeddingProduct, 1}, {steps::kWeightGradient, 1}, {steps::kEmbeddingDerivative, 1},
      {steps::kDerivativeShare, 1},
  };
  const std::map<Step, std::uint64_t> at_b = {
      {steps::kPublicKey, 2},        {steps::kAgreement, 1},        {steps::kHello, 1},
      {steps::kPieceCorrection, 1},  {steps::kLookupProduct, 1},    {steps::kWeightOperand, 1},
      {steps::kEmbeddingProduct, 1}, {steps::kEmbeddingOperand, 1}, {steps::kBackwardOperand, 1},
      {steps::kDerivativeShare, 1},
  };
  EXPECT_EQ(messages(Party::kA), at_a);
  EXPECT_EQ(messages(Party::kB), at_b);
}

TEST(EncryptedTableContract, NobodyHoldsWhatATableLearnt) {
  EncryptedTables tables;
  const ShareMatrix s_a = tables.table(Party::kA, Party::kA).weight()->piece;
  const ShareMatrix s_b = tables.table(Party::kB, Party::kB).weight()->piece;
  tables.run_steps(2);
  EXPECT_EQ(tables.table(Party::kA, Party::kA).weight()->piece, s_a);
  EXPECT_EQ(tables.table(Party::kB, Party::kB).weight()->piece, s_b);
  EXPECT_TRUE(tables.table(Party::kA, Party::kB).weight()->piece.values().empty());
  EXPECT_TRUE(tables.table(Party::kB, Party::kA).weight()->piece.values().empty());
  for (const Party holder : {Party::kA, Party::kB}) {
    const CryptoTensor& sum = own(tables.table(holder, holder).holder()->sum());
    const Integers learnt = TensorLab(tables.key_of(peer_of(holder))).decrypt(sum);
    EXPECT_TRUE(std::ranges::any_of(learnt, [](const BigInt& v) { return v.sign() != 0; })) << "nothing was learnt";
  }
}

}  // namespace
}  // namespace blindfl::protocol::embed_encrypted_contract_test

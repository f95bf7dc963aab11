// The contract of docs/protocols.md, value by value: what each party receives is opened with the key it has, and every
// opened value is shown to be a uniformly random share. The same checks are shown to fail when the masks are left out.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>

#include "blindfl/share/products.h"
#include "protocol/matmul_fixture.h"
#include "protocol/views.h"
#include "testing/plain/plain_scheme.h"
#include "testing/steps.h"

namespace blindfl::protocol::contract_test {
namespace {

using net::Direction;
using net::Step;

class Contract : public ::testing::Test {
 protected:
  explicit Contract(bool mask = true) : scheme_({.mask = mask}) {}

  /// One forward and one backward pass. Half of A's rows have no features: they must be hidden like any other.
  void run_step() {
    x_a_ = random_features(spec_.features_a, IntMatrix::Kind::kDense, 64, 8, random_);
    std::vector<std::uint32_t> half(32);
    for (std::uint32_t i = 0; i < 32; ++i) half[i] = i;
    x_a_ = x_a_.select_rows(half, 64);
    x_b_ = random_features(spec_.features_b, IntMatrix::Kind::kCsr, 64, 6, random_);
    derivative_ = random_derivative(spec_, random_);
    outputs_ = pair_.forward(x_a_, x_b_);
    pair_.parties.run(
        [&](Session& s) { (void)open_output(s, pair_.a.layer(), round_output(outputs_.first, spec_.output_scale)); },
        [&](Session& s) { z_ = open_output(s, pair_.b.layer(), round_output(outputs_.second, spec_.output_scale)); });
    gradients_ = pair_.backward(x_a_, x_b_, derivative_);
  }

  /// The last message of a step that `party` received.
  [[nodiscard]] Bytes last_received(Party party, Step step) const {
    std::optional<Bytes> last;
    for (const testing::RecordedMessage& m : pair_.parties.recording(party).messages()) {
      if (m.direction == Direction::kReceived && m.message.step == step) last = m.payload;
    }
    EXPECT_TRUE(last.has_value()) << "no such message";
    return last.value_or(Bytes{});
  }
  [[nodiscard]] ShareMatrix opened_by(Party party, Step step, const he::ProductSpec& product) {
    const Bytes payload = last_received(party, step);
    BufferSource in(payload);
    Random random;
    ThreadPool pool;
    return pair_.parties.session(party).key_owner().open(*scheme_.plan(product), in, random, pool);
  }

  testing::PlainScheme scheme_;
  SeededRandom random_{1};
  MatMulSpec spec_ = small_spec(8, 6, 32, 64);
  MatMulPair pair_{scheme_, spec_};
  IntMatrix x_a_;
  IntMatrix x_b_;
  Derivative derivative_;
  std::pair<OutputShare, OutputShare> outputs_;
  std::pair<MatMulGradients, MatMulGradients> gradients_;
  std::optional<std::vector<double>> z_;

  /// X_A V_A as B opens it, X_B V_B as A opens it, dW_A as B opens it.
  [[nodiscard]] RingView forward_view_of_b() {
    RingView view;
    view.add(opened_by(Party::kB, steps::kForwardProduct, pair_.b.params().forward(Party::kA, 64)),
             multiply(x_a_, pair_.b.weight(Party::kA).piece));
    return view;
  }
  [[nodiscard]] RingView forward_view_of_a() {
    RingView view;
    view.add(opened_by(Party::kA, steps::kForwardProduct, pair_.a.params().forward(Party::kB, 64)),
             multiply(x_b_, pair_.a.weight(Party::kB).piece));
    return view;
  }
  /// Both parties' pieces of W_A after each of some training steps.
  [[nodiscard]] std::pair<RingView, RingView> trained_pieces() {
    std::pair<RingView, RingView> views;
    for (int i = 0; i < 8; ++i) {
      run_step();
      Weight& u_a = pair_.a.weight(Party::kA);
      Weight& v_a = pair_.b.weight(Party::kA);
      u_a.piece -= rescale(*gradients_.first.weight_a, spec_.weight_scale);
      v_a.piece -= rescale(*gradients_.second.weight_a, spec_.weight_scale);
      ++u_a.version;
      ++v_a.version;
      const ShareMatrix weight = pair_.weight(Party::kA);
      views.first.add(u_a.piece, weight);
      views.second.add(v_a.piece, weight);
    }
    return views;
  }
  [[nodiscard]] RingView gradient_view_of_b(int steps) {
    RingView view;
    for (int i = 0; i < steps; ++i) {
      run_step();
      view.add(opened_by(Party::kB, steps::kGradientProduct, pair_.b.params().backward(64)),
               multiply_transposed(x_a_, rescale(to_ring(*derivative_.share), pair_.b.params().derivative_scale())));
    }
    return view;
  }
};

class ContractWithoutMasks : public Contract {
 protected:
  ContractWithoutMasks() : Contract(/*mask=*/false) {}
};

TEST_F(Contract, BOpensTheProductOfAsFeaturesOnlyMasked) {
  run_step();
  EXPECT_TRUE(forward_view_of_b().hides_the_secret());
}
TEST_F(ContractWithoutMasks, IsSeenInTheProductOfAsFeatures) {
  run_step();
  EXPECT_FALSE(forward_view_of_b().hides_the_secret());
}

TEST_F(Contract, AOpensTheProductOfBsFeaturesOnlyMasked) {
  run_step();
  EXPECT_TRUE(forward_view_of_a().hides_the_secret());
}
TEST_F(ContractWithoutMasks, IsSeenInTheProductOfBsFeatures) {
  run_step();
  EXPECT_FALSE(forward_view_of_a().hides_the_secret());
}

TEST_F(Contract, BOpensTheGradientOfAsWeightsOnlyMasked) {
  EXPECT_TRUE(gradient_view_of_b(8).hides_the_secret());
}
TEST_F(ContractWithoutMasks, IsSeenInTheGradientOfAsWeights) {
  EXPECT_FALSE(gradient_view_of_b(8).hides_the_secret());
}

TEST_F(Contract, RowsWithoutFeaturesAreMaskedLikeAnyOther) {
  run_step();
  const ShareMatrix opened = opened_by(Party::kB, steps::kForwardProduct, pair_.b.params().forward(Party::kA, 64));
  // The second half of A's rows is empty, and 32 rows of 32 outputs are too few for one test: take two steps.
  constexpr std::ptrdiff_t kHalf = 1024;
  std::vector<UInt128> empty_rows(opened.values().begin() + kHalf, opened.values().end());
  run_step();
  const ShareMatrix again = opened_by(Party::kB, steps::kForwardProduct, pair_.b.params().forward(Party::kA, 64));
  empty_rows.insert(empty_rows.end(), again.values().begin() + kHalf, again.values().end());
  EXPECT_TRUE(testing::looks_uniform<UInt128>(empty_rows, opened.ring_bits()));
}

std::vector<std::uint64_t> output_shares(const Bytes& payload) {
  std::vector<std::uint64_t> values(payload.size() / sizeof(std::uint64_t));
  std::memcpy(values.data(), payload.data(), payload.size());
  return values;
}

TEST_F(Contract, BReceivesARandomShareOfZAndLearnsZOnlyRounded) {
  run_step();
  const auto shares = output_shares(last_received(Party::kB, steps::kOutputShare));
  // Values up to 2^15 at 16 fractional bits, and five more: nothing above them travels.
  EXPECT_TRUE(testing::looks_uniform<std::uint64_t>(shares, 36));
  // What B ends with is Z at 16 fractional bits, and nothing finer.
  const auto exact = decode_ring(open(outputs_.first.share, outputs_.second.share));
  std::size_t unrounded = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    EXPECT_NEAR((*z_)[i], exact[i], 1.5 * 0x1p-16);
    EXPECT_EQ(std::ldexp((*z_)[i], 16), std::round(std::ldexp((*z_)[i], 16)));
    unrounded += std::ldexp(exact[i], 16) == std::round(std::ldexp(exact[i], 16)) ? 0 : 1;
  }
  EXPECT_GT(unrounded, exact.size() / 2) << "there was nothing to round";
}
TEST_F(ContractWithoutMasks, IsSeenInTheShareOfZ) {
  run_step();
  EXPECT_FALSE(testing::looks_uniform<std::uint64_t>(output_shares(last_received(Party::kB, steps::kOutputShare)), 36));
}

std::vector<Step> steps_of(const std::map<Step, net::Traffic>& traffic) {
  std::vector<Step> steps;
  steps.reserve(traffic.size());
  for (const auto& [step, count] : traffic) steps.push_back(step);
  return steps;
}

TEST_F(Contract, AGetsNothingOfZOrItsDerivativeThatItCouldOpen) {
  run_step();
  // Besides keys, A receives what is encrypted under B's key, and one product under its own, checked above.
  const auto& received = pair_.parties.recording(Party::kA).received();
  const std::vector<Step> steps = steps_of(received);
  EXPECT_EQ(steps, (std::vector<Step>{steps::kPublicKey, steps::kAgreement, steps::kHello, steps::kForwardOperand,
                                      steps::kForwardProduct, steps::kDerivativeOperand}));
  const Bytes key_of_b = pair_.parties.session(Party::kB).key_owner().public_key();
  for (const Step step : std::vector<Step>{steps::kForwardOperand, steps::kDerivativeOperand}) {
    // The plain scheme names the key that a message is encrypted under in its first 16 bytes.
    const Bytes payload = last_received(Party::kA, step);
    EXPECT_TRUE(std::equal(payload.begin(), payload.begin() + 16, key_of_b.end() - 16)) << net::name_of(step);
  }
}

TEST_F(Contract, BReceivesOnlyWhatTheContractAllows) {
  run_step();
  const std::vector<Step> steps = steps_of(pair_.parties.recording(Party::kB).received());
  EXPECT_EQ(steps, (std::vector<Step>{steps::kPublicKey, steps::kAgreement, steps::kHello, steps::kForwardOperand,
                                      steps::kForwardProduct, steps::kOutputShare, steps::kGradientProduct}));
  const Bytes key_of_a = pair_.parties.session(Party::kA).key_owner().public_key();
  const Bytes payload = last_received(Party::kB, steps::kForwardOperand);
  EXPECT_TRUE(std::equal(payload.begin(), payload.begin() + 16, key_of_a.end() - 16));
}

TEST_F(Contract, NeitherPartysPieceOfATrainedWeightTellsTheWeight) {
  const auto [piece_of_a, piece_of_b] = trained_pieces();
  EXPECT_TRUE(piece_of_a.hides_the_secret_from_bit(40));
  EXPECT_TRUE(piece_of_b.hides_the_secret_from_bit(40));
}
TEST_F(ContractWithoutMasks, IsSeenInThePiecesOfATrainedWeight) {
  const auto [piece_of_a, piece_of_b] = trained_pieces();
  EXPECT_FALSE(piece_of_a.hides_the_secret_from_bit(40));
  EXPECT_FALSE(piece_of_b.hides_the_secret_from_bit(40));
}

TEST_F(Contract, MessagesDoNotTellWhichFeaturesAreThere) {
  const auto shape_of_run = [&](double density_of_a) {
    MatMulPair pair(scheme_, spec_);
    SeededRandom random(9);
    std::vector<std::size_t> starts{0};
    std::vector<IntMatrix::Column> columns;
    for (std::size_t r = 0; r < 64; ++r) {
      for (IntMatrix::Column c = 0; c < 8; ++c) {
        if (random.uniform() < density_of_a) columns.push_back(c);
      }
      starts.push_back(columns.size());
    }
    const std::vector<std::int64_t> ones(columns.size(), 1);
    const IntMatrix x_a = IntMatrix::csr(64, 8, starts, columns, ones, 16, 1);
    const IntMatrix x_b = random_features(spec_.features_b, IntMatrix::Kind::kDense, 64, 6, random);
    pair.forward(x_a, x_b);
    pair.backward(x_a, x_b, random_derivative(spec_, random));
    std::vector<net::Message> shape;
    for (const auto& m : pair.parties.recording(Party::kB).messages()) shape.push_back(m.message);
    return shape;
  };
  const auto empty = shape_of_run(0.0);
  EXPECT_EQ(empty, shape_of_run(0.2));
  EXPECT_EQ(empty, shape_of_run(1.0));
}

}  // namespace
}  // namespace blindfl::protocol::contract_test

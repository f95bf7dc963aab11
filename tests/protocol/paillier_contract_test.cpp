// The contract of docs/protocols.md where products travel under Paillier and gradients are exchanged: what a party
// opens are integers, and nothing of the largest values there can be may show in them, above their masks or below.
// The values' bounds are worked out here, from those of features, weights and derivatives. Negative controls: the same
// checks fail without masks.

#include <gtest/gtest.h>

#include <cmath>

#include "blindfl/he/paillier/paillier_plan.h"
#include "blindfl/share/products.h"
#include "he/paillier/tensor_lab.h"
#include "protocol/matmul_fixture.h"
#include "protocol/views.h"
#include "testing/steps.h"

namespace blindfl::protocol::paillier_contract_test {
namespace {

using he::paillier::BigInt;
using he::paillier::Integers;
using he::paillier::PaillierKeyOwner;
using he::paillier::PaillierMultiplier;
using he::paillier::PaillierPlan;
using he::paillier::testing::plain_product;
using net::Step;

constexpr std::size_t kOut = 20;
constexpr std::size_t kBatch = 64;
/// Of Z: values up to 2^15 at scale 48, and five bits more.
constexpr int kRing = 68;

/// largest * 2^scale.
std::int64_t largest_encoded(const FixedPointSpec& spec) {
  return static_cast<std::int64_t>(std::ldexp(spec.largest, spec.scale));
}

/// Every value the largest, in odd rows the smallest.
IntMatrix largest_matrix(std::size_t rows, std::size_t cols, const FixedPointSpec& spec) {
  const std::int64_t most = largest_encoded(spec);
  std::vector<std::int64_t> values;
  for (std::size_t r = 0; r < rows; ++r) values.insert(values.end(), cols, r % 2 == 0 ? most : -most);
  return IntMatrix::dense(rows, cols, std::move(values), spec.scale, static_cast<std::uint64_t>(most));
}

Integers as_integers(const ShareMatrix& m) {
  Integers values;
  for (const UInt128 v : m.values()) values.push_back(he::paillier::to_big(static_cast<Int128>(v)));
  return values;
}

class PaillierContract : public ::testing::Test {
 protected:
  explicit PaillierContract(bool masks = true) {
    for (const Party party : {Party::kA, Party::kB}) {
      const auto& peer = dynamic_cast<const PaillierMultiplier&>(pair_.parties.session(party).peer_multiplier());
      he::paillier::HidingProbe::switch_hiding(peer.randomizers(), /*fresh=*/true, masks);
    }
    // A piece of trained weights may be any element of the ring: the one that is farthest from 0.
    for (const Party features_of : {Party::kA, Party::kB}) {
      for (const Party party : {Party::kA, Party::kB}) {
        Weight& weight = pair_.at(party).weight(features_of);
        ++weight.version;
        if (party == features_of) continue;
        // As long as it can be in the ring of Z.
        weight.piece =
            testing::constant_share(weight.piece.rows(), kOut, weight.piece.scale(), UInt128{1} << (kRing - 1));
      }
    }
  }

  /// What `receiver` opens of the last message of a step, added to `view`.
  void add_opened(MaskedView& view, Party receiver, Step step, const he::ProductSpec& product, const Integers& secret) {
    Bytes payload;
    for (const testing::RecordedMessage& m : pair_.parties.recording(receiver).messages()) {
      if (m.direction == net::Direction::kReceived && m.message.step == step) payload = m.payload;
    }
    ASSERT_GT(payload.size(), PaillierPlan::kIdBytes) << "no such message";
    const auto plan = scheme_->plan(product);
    const auto& layout = dynamic_cast<const PaillierPlan&>(*plan).reply();
    const auto& key = dynamic_cast<const PaillierKeyOwner&>(pair_.parties.session(receiver).key_owner()).secret_key();
    BufferSource in(ByteView(payload).subspan(PaillierPlan::kIdBytes));
    ThreadPool pool;
    const Integers opened = he::paillier::open_masked(layout, key, in, pool);
    ASSERT_EQ(opened.size(), secret.size());
    view.mask_bits = layout.mask_bits;
    for (std::size_t i = 0; i < opened.size(); ++i) view.add(opened[i], secret[i]);
  }

  /// X V of one party's features, as the other opens it.
  [[nodiscard]] MaskedView forward_view(Party features_of) {
    const Party opener = peer_of(features_of);
    const FixedPointSpec& encoding = features_of == Party::kA ? spec_.features_a : spec_.features_b;
    const std::size_t in = features_of == Party::kA ? spec_.in_a : spec_.in_b;
    MaskedView view{0,
                    BigInt(static_cast<std::int64_t>(in) * largest_encoded(encoding)) * BigInt::power_of_two(kRing - 1),
                    BigInt::power_of_two(64)};
    (void)pair_.forward(x_a_, x_b_);
    add_opened(view, opener, steps::kForwardProduct, pair_.at(opener).params().forward(features_of, kBatch),
               plain_product(features_of == Party::kA ? x_a_ : x_b_,
                             as_integers(lifted(narrowed(pair_.at(opener).weight(features_of).piece, kRing))), kOut));
    return view;
  }

  /// X_A^T dZ as B opens it, of as many passes as it takes.
  [[nodiscard]] MaskedView gradient_view() {
    const int scale = pair_.b.params().derivative_scale();
    MaskedView view{0,
                    BigInt(static_cast<std::int64_t>(kBatch) * largest_encoded(spec_.features_a)) *
                        BigInt(static_cast<std::int64_t>(std::ldexp(spec_.derivative.largest, scale))),
                    BigInt::power_of_two(64)};
    std::vector<double> dz;
    for (std::size_t r = 0; r < kBatch; ++r) {
      dz.insert(dz.end(), kOut, r % 2 == 0 ? spec_.derivative.largest : -spec_.derivative.largest);
    }
    const Derivative derivative = encode_derivative(FixedPoint(spec_.derivative), kBatch, kOut, dz);
    const Integers secret =
        plain_product(x_a_.transpose(), as_integers(rescale(to_ring(*derivative.share), scale)), kOut);
    while (view.seen.size() < 1280 && !HasFatalFailure()) {
      (void)pair_.backward(x_a_, x_b_, derivative);
      add_opened(view, Party::kB, steps::kGradientProduct, pair_.b.params().backward(kBatch), secret);
    }
    return view;
  }

  std::unique_ptr<he::Scheme> scheme_ = testing::make_scheme("paillier");
  MatMulSpec spec_ = small_spec(32, 3, kOut, kBatch);
  MatMulPair pair_{*scheme_, spec_};
  IntMatrix x_a_ = largest_matrix(kBatch, spec_.in_a, spec_.features_a);
  IntMatrix x_b_ = largest_matrix(kBatch, spec_.in_b, spec_.features_b);
};

class PaillierContractWithoutMasks : public PaillierContract {
 protected:
  PaillierContractWithoutMasks() : PaillierContract(/*masks=*/false) {}
};

TEST_F(PaillierContract, NothingOfTheLargestProductsShowsAboveTheirMasks) {
  for (const Party features_of : {Party::kA, Party::kB}) {
    const MaskedView view = forward_view(features_of);
    EXPECT_TRUE(view.hides_the_secret()) << name_of(features_of);
    EXPECT_TRUE(view.reaches_its_bound());
  }
}
TEST_F(PaillierContractWithoutMasks, TheLargestProductsAreSeen) {
  for (const Party features_of : {Party::kA, Party::kB}) {
    EXPECT_FALSE(forward_view(features_of).hides_the_secret()) << name_of(features_of);
  }
}

TEST_F(PaillierContract, NothingOfTheLargestGradientsShowsAboveTheirMasks) {
  const MaskedView view = gradient_view();
  EXPECT_TRUE(view.hides_the_secret());
  EXPECT_TRUE(view.reaches_its_bound());
}
TEST_F(PaillierContractWithoutMasks, TheLargestGradientsAreSeen) {
  EXPECT_FALSE(gradient_view().hides_the_secret());
}

}  // namespace
}  // namespace blindfl::protocol::paillier_contract_test

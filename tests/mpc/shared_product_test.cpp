// Products of shared matrices between two parties, at the shipped parameters.

#include "blindfl/mpc/shared_product.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/mpc/steps.h"
#include "blindfl/mpc/top_parts.h"
#include "blindfl/protocol/layers/run_length.h"
#include "blindfl/protocol/session/steps.h"
#include "blindfl/share/products.h"
#include "mpc/shared_fixture.h"
#include "testing/thrown.h"

namespace blindfl::mpc::shared_product_test {
namespace {

constexpr int kScale = 20;
/// Left values below 2^16, results below 2^19.
constexpr int kLeftRing = 38;
constexpr int kResultRing = 40;

SharedProductSpec spec_of(ProductForm form, std::size_t batch, std::size_t left_cols, std::size_t other) {
  return {.form = form,
          .batch = batch,
          .left_cols = left_cols,
          .other = other,
          .left_scale = kScale,
          .right_scale = kScale,
          .left_ring = kLeftRing,
          .largest = 128,
          .result_ring = kResultRing,
          .run_products = 2550};
}

/// L R, L^T R or L R^T of reals.
std::vector<double> plain_product(const SharedProductSpec& spec, const SharedPair& l, const SharedPair& r) {
  const auto left = l.reals();
  const auto right = r.reals();
  const std::size_t rows = l.a.rows();
  const bool left_transposed = spec.form == ProductForm::kLeftTransposed;
  const std::size_t out = left_transposed ? spec.left_cols : rows;
  const std::size_t inner = left_transposed ? rows : spec.left_cols;
  std::vector<double> product(out * spec.other);
  for (std::size_t i = 0; i < out; ++i) {
    for (std::size_t j = 0; j < spec.other; ++j) {
      for (std::size_t k = 0; k < inner; ++k) {
        const double x = left_transposed ? left[k * spec.left_cols + i] : left[i * spec.left_cols + k];
        const double y = spec.form == ProductForm::kRightTransposed ? right[j * inner + k] : right[k * spec.other + j];
        product[i * spec.other + j] += x * y;
      }
    }
  }
  return product;
}

SharedPair right_of(const SharedProductSpec& spec, std::size_t rows, std::uint64_t seed) {
  switch (spec.form) {
    case ProductForm::kPlain:
      return shared(spec.left_cols, spec.other, normal_values(spec.left_cols * spec.other, 0.5, seed), kScale);
    case ProductForm::kLeftTransposed:
      return shared(rows, spec.other, normal_values(rows * spec.other, 0.5, seed), kScale);
    case ProductForm::kRightTransposed:
      break;
  }
  return shared(spec.other, spec.left_cols, normal_values(spec.left_cols * spec.other, 0.5, seed), kScale);
}

class ProductOfShares : public ::testing::TestWithParam<ProductForm> {
 protected:
  SharedParties parties_;
};

TEST_P(ProductOfShares, IsAsExactAsStated) {
  const SharedProductSpec spec = spec_of(GetParam(), 32, 16, 8);
  for (const std::size_t rows : {32U, 7U}) {
    const SharedPair l = shared(rows, 16, normal_values(rows * 16, 1, 1), kScale);
    const SharedPair r = right_of(spec, rows, 2);
    double error = 0;
    const SharedPair found = parties_.shares([&](Session& s) {
      SharedProduct product(s, spec);
      ShareMatrix share = product.product(l.of(s.party()), r.of(s.party()));
      if (s.party() == Party::kA) error = product.largest_error(rows);
      return share;
    });
    EXPECT_LT(error, 0x1p-15);
    EXPECT_EQ(found.a.ring_bits(), kResultRing);
    EXPECT_EQ(found.a.scale(), 20);
    const auto wanted = plain_product(spec, l, r);
    const auto reals = found.reals();
    ASSERT_EQ(reals.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(reals[i], wanted[i], error);
  }
}

TEST_P(ProductOfShares, CostsWhatItSays) {
  const SharedProductSpec spec = spec_of(GetParam(), 8, 5, 3);
  const SharedPair l = shared(8, 5, normal_values(40, 1, 1), kScale);
  const SharedPair r = right_of(spec, 8, 2);
  std::pair<std::unique_ptr<SharedProduct>, std::unique_ptr<SharedProduct>> product;
  const auto of = [&](Session & s) -> auto& {
    return s.party() == Party::kA ? product.first : product.second;
  };
  const auto run = [&](std::uint64_t version) {
    return [&, version](Session& s) { (void)of(s)->product(l.of(s.party()), r.of(s.party()), version); };
  };
  parties_.run([&](Session& s) {
    of(s) = std::make_unique<SharedProduct>(s, spec);
    (void)of(s)->product(l.of(s.party()), r.of(s.party()));  // keys
  });
  for (const bool fresh : {true, false}) {
    parties_.start_counting();
    parties_.run(run(7));
    EXPECT_EQ(parties_.counted(), SharedParties::on_the_wire(product.first->cost(8, {.operand = fresh})))
        << "the same version again travels once";
  }
  for (const Party party : {Party::kA, Party::kB}) {
    EXPECT_EQ(parties_.payloads(party, steps::kSharedOperand).size(), 2U);
    const auto replies = parties_.payloads(party, steps::kSharedProduct);
    ASSERT_EQ(replies.size(), 3U);
    EXPECT_NE(replies[1], replies[2]) << "the same product twice";
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, ProductOfShares,
                         ::testing::Values(ProductForm::kPlain, ProductForm::kLeftTransposed,
                                           ProductForm::kRightTransposed),
                         [](const auto& test) { return std::to_string(static_cast<int>(test.param)); });

TEST(ProductsOfShares, OfABackwardPassTravelTogether) {
  SharedParties parties;
  const SharedProductSpec of_weights = spec_of(ProductForm::kLeftTransposed, 8, 5, 3);
  const SharedProductSpec of_inputs = spec_of(ProductForm::kRightTransposed, 8, 3, 5);
  const SharedPair h = shared(8, 5, normal_values(40, 1, 1), kScale);
  const SharedPair w = shared(5, 3, normal_values(15, 1, 2), kScale);
  const SharedPair d = shared(8, 3, normal_values(24, 1, 3), kScale);
  struct Layer {
    Layer(Session& s, const SharedProductSpec& of_weights, const SharedProductSpec& of_inputs)
        : weights(s, of_weights), inputs(s, of_inputs) {}
    SharedProduct weights;
    SharedProduct inputs;
  };
  std::pair<std::unique_ptr<Layer>, std::unique_ptr<Layer>> layers;
  const auto backward = [&](Session& s) {
    auto& layer = s.party() == Party::kA ? layers.first : layers.second;
    if (!layer) layer = std::make_unique<Layer>(s, of_weights, of_inputs);
    SharedLeft left_h(h.of(s.party()));
    SharedLeft left_d(d.of(s.party()));
    const std::vector<SharedProduct::Task> tasks{{&layer->weights, &left_h, &d.of(s.party())},
                                                 {&layer->inputs, &left_d, &w.of(s.party())}};
    return SharedProduct::products(tasks);
  };
  (void)parties.run(backward);  // keys
  parties.start_counting();
  const auto [a, b] = parties.run(backward);
  PartyCost cost = layers.first->weights.cost(8) + layers.first->inputs.cost(8);
  cost.flights = 3;
  // Both lifts in the same messages, and one tag for both.
  const std::array<protocol::RoomLift, 2> both{
      {layers.first->weights.params().left_lift(8), layers.first->inputs.params().left_lift(8)}};
  const PartyCost apart = protocol::room_lift_cost(both[0]) + protocol::room_lift_cost(both[1]);
  cost.a_bytes -= apart.a_bytes - protocol::room_lift_cost(both).a_bytes;
  cost.b_bytes -= apart.b_bytes - protocol::room_lift_cost(both).b_bytes;
  EXPECT_EQ(parties.counted(), SharedParties::on_the_wire(cost));
  const std::vector<std::vector<double>> wanted{plain_product(of_weights, h, d), plain_product(of_inputs, d, w)};
  for (std::size_t i = 0; i < 2; ++i) {
    const auto found = SharedPair{a[i], b[i]}.reals();
    ASSERT_EQ(found.size(), wanted[i].size());
    for (std::size_t j = 0; j < found.size(); ++j) EXPECT_NEAR(found[j], wanted[i][j], 0x1p-15);
  }
  SharedProduct& one = layers.first->weights;
  SharedLeft left(h.a);
  const std::vector<SharedProduct::Task> twice{{&one, &left, &d.a}, {&one, &left, &d.a}};
  EXPECT_THROW((void)SharedProduct::products(twice), InvalidArgument);
  EXPECT_THROW((void)SharedProduct::products({}), InvalidArgument);
}

TEST(ProductsOfShares, RefuseWhatCouldFailBeforeAnythingIsSent) {
  SharedParties parties;
  Session& s = parties.session(Party::kA);
  const SharedProductSpec good = spec_of(ProductForm::kPlain, 8, 5, 3);
  const auto refused = [&](auto&& change) {
    SharedProductSpec spec = good;
    change(spec);
    return testing::message_of<InvalidArgument>([&] { (void)SharedProductParams(spec); });
  };
  EXPECT_THAT(refused([](auto& spec) { spec.right_scale = 44; }), ::testing::HasSubstr("at most 2^63"));
  EXPECT_THAT(refused([](auto& spec) { spec.left_ring = 60; }), ::testing::HasSubstr("left values modulo 2^60"));
  EXPECT_THAT(refused([](auto& spec) { spec.result_ring = 20; }), ::testing::HasSubstr("do not fit"));
  EXPECT_THAT(refused([](auto& spec) { spec.largest = 0; }), ::testing::HasSubstr("largest"));
  EXPECT_THAT(refused([](auto& spec) { spec.result_scale = 41; }), ::testing::HasSubstr("scale"));
  EXPECT_THAT(refused([](auto& spec) { spec.other = 0; }), ::testing::HasSubstr("empty"));
  SharedProduct product(s, good);
  EXPECT_THROW((void)product.product(ShareMatrix(9, 5, kScale), ShareMatrix(5, 3, kScale)), InvalidArgument);
  EXPECT_THROW((void)product.product(ShareMatrix(8, 4, kScale), ShareMatrix(5, 3, kScale)), InvalidArgument);
  EXPECT_THROW((void)product.product(ShareMatrix(8, 5, 19), ShareMatrix(5, 3, kScale)), InvalidArgument);
  EXPECT_THROW((void)product.product(ShareMatrix(8, 5, kScale), ShareMatrix(5, 3, kScale, 59)), InvalidArgument);
  EXPECT_THROW((void)product.product(ShareMatrix(8, 5, kScale, 37), ShareMatrix(5, 3, kScale)), InvalidArgument);
  EXPECT_TRUE(parties.payloads(Party::kA, steps::kSharedOperand).empty());
}

TEST(ProductsOfShares, HaveTheRingOfTheirResultsAndWhatIsRoundedOff) {
  const SharedProductParams params(spec_of(ProductForm::kPlain, 128, 64, 32));
  EXPECT_EQ(params.ring_bits(), kResultRing + kScale);
  EXPECT_EQ(params.product(128).left_bound, std::uint64_t{1} << (params.ring_bits() - 1));
  EXPECT_EQ(params.product(128).lifted_bits, 0) << "nothing can fail";
  EXPECT_EQ(params.left_lift(100).values, 6400U);
  EXPECT_EQ(params.left_lift(100).to, params.ring_bits());
}

// Left values at both ends of what can be lifted, and weights that fill the result's range with them.
TEST(ProductsOfShares, AreRightUpToTheEndsOfTheirRings) {
  SharedParties parties;
  SharedProductSpec spec = spec_of(ProductForm::kPlain, 4, 1, 2);
  spec.largest = 0x1p17;
  const double end = std::ldexp(1.0, kLeftRing - 2 - kScale);
  const double last = end - std::ldexp(1.0, -kScale);
  const SharedPair l = shared(4, 1, std::vector<double>{-end, last, 1, 0}, kScale, kLeftRing);
  const SharedPair r = shared(1, 2, std::vector<double>{0.5, -0.5}, kScale);
  const SharedPair found = parties.shares([&](Session& s) {
    SharedProduct product(s, spec);
    return product.product(l.of(s.party()), r.of(s.party()));
  });
  const auto reals = found.reals();
  const std::vector<double> wanted{-end / 2, end / 2, last / 2, -last / 2, 0.5, -0.5, 0, 0};
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(reals[i], wanted[i], 0x1p-15);
}

TEST(ProductsOfShares, LiftALeftOneOnce) {
  SharedParties parties;
  const SharedProductSpec spec = spec_of(ProductForm::kPlain, 8, 5, 3);
  SharedProductSpec wider = spec_of(ProductForm::kLeftTransposed, 8, 5, 3);
  wider.result_ring += 2;
  const SharedPair l = shared(8, 5, normal_values(40, 1, 1), kScale, kLeftRing);
  const SharedPair r = right_of(spec, 8, 2);
  const SharedPair d = right_of(wider, 8, 3);
  const auto [a, b] = parties.run([&](Session& s) {
    SharedProduct product(s, spec);
    SharedProduct other(s, wider);
    SharedLeft left(l.of(s.party()), other.params().ring_bits());
    EXPECT_FALSE(left.is_lifted());
    std::pair<ShareMatrix, ShareMatrix> made{product.product(left, r.of(s.party())), {}};
    EXPECT_TRUE(left.is_lifted());
    EXPECT_EQ(left.share().ring_bits(), other.params().ring_bits());
    made.second = other.product(left, d.of(s.party()));
    SharedLeft narrow(l.of(s.party()));
    (void)product.product(narrow, r.of(s.party()));
    EXPECT_THROW((void)other.product(narrow, d.of(s.party())), InvalidArgument) << "lifted to less than it takes";
    return made;
  });
  for (const Party party : {Party::kA, Party::kB}) {
    EXPECT_EQ(parties.payloads(party, protocol::steps::kLiftChoices).size(), 2U);
  }
  const auto expect = [](const SharedPair& found, const std::vector<double>& wanted) {
    const auto reals = found.reals();
    ASSERT_EQ(reals.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(reals[i], wanted[i], 0x1p-15);
  };
  expect({a.first, b.first}, plain_product(spec, l, r));
  expect({a.second, b.second}, plain_product(wider, l, d));
}

// What `lifted` goes wrong with (share_ring_test.cpp counts that for all shares of small rings), added up over a run.
TEST(LinearProducts, ReadGradientsWronglyInFewerThanOneOf2To40Runs) {
  for (const std::size_t steps : {std::size_t{0}, std::size_t{100}, std::size_t{1'000'000}}) {
    for (const std::uint64_t layers : {std::uint64_t{1}, std::uint64_t{5}}) {
      SharedTopOptions options{.batch = 128, .sgd = {.learning_rate = 0.05, .momentum = 0.9, .steps = steps}};
      options.run.layers = layers;
      const double passes =
          static_cast<double>(protocol::counted_passes(options.run, options.sgd)) * static_cast<double>(layers);
      for (const auto& [in, out] : {std::pair<std::size_t, std::size_t>{1, 1}, {64, 16}, {784, 64}}) {
        const LinearProducts products = linear_products(in, out, options);
        const double failures = passes * products.gradient_failure;
        EXPECT_GT(failures, 0x1p-46) << "a bound that is too wide costs traffic";
        EXPECT_LE(failures, 0x1p-40) << in << " x " << out << ", " << steps << " steps";
        EXPECT_LE(products.gradient_ring, ShareMatrix::kMostRingBits);
        EXPECT_LE(products.bias_ring, ShareMatrix::kMostRingBits);
      }
    }
  }
}

}  // namespace
}  // namespace blindfl::mpc::shared_product_test

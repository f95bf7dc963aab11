// Products of shared matrices between two parties, at the shipped parameters.

#include "blindfl/mpc/shared_product.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "blindfl/base/error.h"
#include "blindfl/mpc/exact_lift.h"
#include "blindfl/share/integer_pieces.h"
#include "blindfl/share/products.h"
#include "mpc/shared_fixture.h"
#include "testing/thrown.h"
#include "testing/uniformity.h"

namespace blindfl::mpc::shared_product_test {
namespace {

constexpr int kScale = 20;

SharedProductSpec spec_of(ProductForm form, std::size_t batch, std::size_t left_cols, std::size_t other) {
  return {.form = form,
          .batch = batch,
          .left_cols = left_cols,
          .other = other,
          .left_scale = kScale,
          .right_scale = kScale,
          .largest_left = 16,
          .largest = 128,
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
    EXPECT_EQ(found.a.ring_bits(), 128);
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
    EXPECT_EQ(parties_.counted(), product.first->cost(8, {.operand = fresh})) << "the same version again travels once";
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
  cost.flights = 2;
  EXPECT_EQ(parties.counted(), cost);
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
  EXPECT_THAT(refused([](auto& spec) { spec.right_scale = 70; }), ::testing::HasSubstr("ring"));
  EXPECT_THAT(refused([](auto& spec) { spec.largest_left = 0x1p14; }), ::testing::HasSubstr("hide"));
  EXPECT_THAT(refused([](auto& spec) { spec.result_ring = 20; }), ::testing::HasSubstr("do not fit"));
  EXPECT_THAT(refused([](auto& spec) { spec.largest = 0; }), ::testing::HasSubstr("largest"));
  EXPECT_THAT(refused([](auto& spec) { spec.result_scale = 41; }), ::testing::HasSubstr("scale"));
  EXPECT_THAT(refused([](auto& spec) { spec.other = 0; }), ::testing::HasSubstr("empty"));
  SharedProduct product(s, good);
  EXPECT_THROW((void)product.product(ShareMatrix(9, 5, kScale), ShareMatrix(5, 3, kScale)), InvalidArgument);
  EXPECT_THROW((void)product.product(ShareMatrix(8, 4, kScale), ShareMatrix(5, 3, kScale)), InvalidArgument);
  EXPECT_THROW((void)product.product(ShareMatrix(8, 5, 19), ShareMatrix(5, 3, kScale)), InvalidArgument);
  EXPECT_THROW((void)product.product(ShareMatrix(8, 5, kScale), ShareMatrix(5, 3, kScale, 64)), InvalidArgument);
  EXPECT_THROW((void)product.product(ShareMatrix(8, 5, kScale, 60), ShareMatrix(5, 3, kScale)), InvalidArgument);
  EXPECT_TRUE(parties.payloads(Party::kA, steps::kSharedOperand).empty());
}

TEST(ProductsOfShares, StateWhatTheRunMayLose) {
  SharedProductSpec spec = spec_of(ProductForm::kPlain, 128, 64, 32);
  const SharedProductParams lifted(spec);
  EXPECT_LE(lifted.failure_of_run(), 0x1p-40);
  EXPECT_GT(lifted.failure_of_run(), 0x1p-44) << "no wider a ring than that takes";
  // Fisher's information of four words is 1.04 over their variance, 2^120 / 3.
  const double of_one = 1.04 / 2 * 3 * 0x1p-72;
  EXPECT_NEAR(lifted.divergence_of_run() / (of_one * 128 * 64 * 2550), 1, 1e-12);
  EXPECT_LE(lifted.divergence_of_run(), 0x1p-41);
  spec.result_ring = 64;
  const SharedProductParams in_ring(spec);
  EXPECT_EQ(in_ring.failure_of_run(), 0);
  EXPECT_EQ(in_ring.ring_bits(), 64 + 20);
}

TEST(ProductsOfShares, InARingAreRightModuloIt) {
  SharedParties parties;
  SharedProductSpec spec = spec_of(ProductForm::kPlain, 16, 5, 3);
  spec.result_ring = 64;
  const SharedPair l = shared(16, 5, normal_values(80, 1, 1), kScale, 64);
  const SharedPair r = right_of(spec, 16, 2);
  const SharedPair found = parties.shares([&](Session& s) {
    SharedProduct product(s, spec);
    return product.product(l.of(s.party()), r.of(s.party()));
  });
  EXPECT_EQ(found.a.ring_bits(), 64);
  const auto wanted = plain_product(spec, l, r);
  const auto reals = found.reals();
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(reals[i], wanted[i], 0x1p-15);
}

TEST(ProductsOfShares, MakePiecesOfALeftOneOnce) {
  SharedParties parties;
  SharedProductSpec spec = spec_of(ProductForm::kPlain, 8, 5, 3);
  const SharedPair l = shared(8, 5, normal_values(40, 1, 1), kScale, 64);
  const SharedPair r = right_of(spec, 8, 2);
  const auto [a, b] = parties.run([&](Session& s) {
    SharedProduct product(s, spec);
    SharedLeft left(l.of(s.party()));
    (void)product.product(left, r.of(s.party()));
    (void)product.product(left, r.of(s.party()));
    return left.pieces();
  });
  EXPECT_EQ(parties.payloads(Party::kA, steps::kPieces).size(), 1U);
  EXPECT_TRUE(parties.payloads(Party::kB, steps::kPieces).empty());
  const auto of_a = a.to_dense();
  const auto of_b = b.to_dense();
  const auto wanted = decode_ring(open(l.a, l.b));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(of_a[i] + of_b[i], std::llround(std::ldexp(wanted[i], kScale))) << "over the integers";
  }
}

TEST(LiftsOfShares, ByPiecesNeverFailAndCostWhatTheySay) {
  SharedParties parties;
  const auto values = normal_values(1000, 4, 1);
  const SharedPair narrow = shared(500, 2, values, kScale, 64);
  parties.run([](Session& s) { s.settle(); });
  parties.start_counting();
  const SharedPair wide = parties.shares([&](Session& s) { return make_pieces(s, 7, narrow.of(s.party())); });
  EXPECT_EQ(parties.counted(), pieces_cost(1000));
  EXPECT_EQ(wide.a.ring_bits(), 128);
  EXPECT_EQ(wide.reals(), narrow.reals());
  EXPECT_THROW((void)make_pieces(parties.session(Party::kA), 7, narrowed(narrow.a, 63)), InvalidArgument);
}

// What hides a value from B: `divergence_of_piece` counts on it.
TEST(LiftsOfShares, ByPiecesAreSumsOfFourFreshWords) {
  SharedParties parties;
  constexpr std::size_t kValues = 20000;
  const SharedPair narrow = shared(kValues, 1, normal_values(kValues, 16, 1), kScale, 64);
  const auto [a, b] = parties.run([&](Session& s) {
    return std::pair(make_pieces(s, 7, narrow.of(s.party())), make_pieces(s, 7, narrow.of(s.party())));
  });
  const auto words = [](const ShareMatrix& pieces) {
    std::vector<double> numbers = decode_ring(pieces);
    for (double& v : numbers) v = std::ldexp(v, kScale - kPieceWordBits);
    return numbers;
  };
  const auto expect_words = [&](const std::vector<double>& numbers, double terms) {
    double mean = 0;
    double square = 0;
    double fourth = 0;
    for (const double v : numbers) {
      mean += v / kValues;
      square += v * v / kValues;
      fourth += v * v * v * v / kValues;
    }
    EXPECT_NEAR(mean, 0, 0.03);
    EXPECT_NEAR(square, terms / 12, 0.04);
    EXPECT_NEAR(fourth / (square * square), 3 - 1.2 / terms, 0.15);
  };
  for (const ShareMatrix* pieces : {&a.first, &a.second, &b.first, &b.second}) expect_words(words(*pieces), 4);
  // The same share twice, in pieces that have nothing to do with each other.
  for (const auto* both : {&a, &b}) expect_words(words(both->first - both->second), 8);
  for (const Bytes& sent : parties.payloads(Party::kA, steps::kPieces)) {
    std::vector<std::uint64_t> corrections(kValues);
    BufferSource(sent).read(std::as_writable_bytes(std::span(corrections)));
    EXPECT_TRUE(testing::looks_uniform<std::uint64_t>(corrections));
  }
}

TEST(LiftsOfShares, OfSharesThatDoNotBelongTogetherEndAtB) {
  SharedParties parties;
  const SharedPair mine = shared(50, 2, normal_values(100, 4, 1), kScale, 64);
  const SharedPair other = shared(50, 2, normal_values(100, 4, 2), kScale, 64);
  EXPECT_THAT(testing::message_of<ProtocolError>([&] {
                parties.run([&](Session& s) { (void)make_pieces(s, 7, s.party() == Party::kA ? mine.a : other.b); });
              }),
              ::testing::HasSubstr("do not belong together"));
}

class LiftByComparison : public ::testing::TestWithParam<int> {};

TEST_P(LiftByComparison, NeverFailsWhateverTheSecretAndItsShares) {
  const int bits = GetParam();
  SharedParties parties;
  // Both ends of the ring, around 0, and many between; with shares at both ends, too.
  const Int128 half = static_cast<Int128>(1) << (bits - 1);
  std::vector<Int128> secrets{0, 1, -1, half - 1, -half, half / 2, -half / 2};
  SeededRandom numbers(1);
  for (int i = 0; i < 200; ++i) secrets.push_back(signed_low_bits(static_cast<UInt128>(numbers.next_u64()), bits));
  std::vector<UInt128> of_a{0, 1, low_bits(~UInt128{0}, bits), static_cast<UInt128>(half),
                            static_cast<UInt128>(half - 1)};
  for (int i = 0; i < 3; ++i) of_a.push_back(low_bits(static_cast<UInt128>(numbers.next_u64()), bits));
  SharedPair narrow{ShareMatrix(secrets.size(), of_a.size(), 3, bits),
                    ShareMatrix(secrets.size(), of_a.size(), 3, bits)};
  for (std::size_t r = 0; r < secrets.size(); ++r) {
    for (std::size_t c = 0; c < of_a.size(); ++c) {
      narrow.a.row(r)[c] = of_a[c];
      narrow.b.row(r)[c] = low_bits(static_cast<UInt128>(secrets[r]) - of_a[c], bits);
    }
  }
  parties.run([&](Session& s) { reserve(s, lift_cost(narrow.a.values().size(), bits)); });
  parties.start_counting();
  const SharedPair wide = parties.shares([&](Session& s) { return lift_by_comparison(s, 7, narrow.of(s.party())); });
  EXPECT_EQ(parties.counted(), SharedParties::on_the_wire(lift_cost(narrow.a.values().size(), bits)));
  EXPECT_EQ(wide.a.ring_bits(), 128);
  EXPECT_EQ(wide.a.scale(), 3);
  const ShareMatrix sum = open(wide.a, wide.b);
  for (std::size_t r = 0; r < secrets.size(); ++r) {
    for (const UInt128 found : sum.row(r)) ASSERT_TRUE(found == static_cast<UInt128>(secrets[r])) << "secret " << r;
  }
}

INSTANTIATE_TEST_SUITE_P(Rings, LiftByComparison, ::testing::Values(2, 33, 34, 44, 62));

TEST(LiftsOfShares, ByComparisonRefuseAWiderRing) {
  SharedParties parties;
  EXPECT_THROW((void)lift_by_comparison(parties.session(Party::kA), 7, ShareMatrix(1, 1, 0, 63)), InvalidArgument);
}

}  // namespace
}  // namespace blindfl::mpc::shared_product_test

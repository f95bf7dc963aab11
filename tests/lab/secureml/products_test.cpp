// Products of shared matrices by triplets, in all ways.

#include "blindfl/lab/secureml/products.h"

#include <gtest/gtest.h>

#include "blindfl/base/error.h"
#include "lab/secureml/ways.h"

namespace blindfl::lab::secureml::products_test {
namespace {

class ProductWays : public ::testing::TestWithParam<Triplets> {};

struct Pair {
  Words a;
  Words b;
  [[nodiscard]] const Words& of(Party party) const { return party == Party::kA ? a : b; }
  [[nodiscard]] Words sum() const { return a + b; }
};

Pair shared(const Words& m) {
  Random random;
  auto [a, b] = split(m, random);
  return {std::move(a), std::move(b)};
}

TEST_P(ProductWays, AreThoseOfTheirFactors) {
  TripletParties parties(GetParam());
  const Pair x = shared(encode(6, 4, small_numbers(24, 1)));
  const Pair w = shared(encode(4, 2, small_numbers(8, 2)));
  const Pair d = shared(encode(3, 2, small_numbers(6, 3)));
  const std::vector<std::uint32_t> rows = {5, 0, 2};
  struct Shares {
    Words plain;
    Words transposed;
    Words all;
  };
  const auto [a, b] = parties.run([&](protocol::Session& session, TripletSource& source) {
    Products products(session, source);
    const Party party = session.party();
    LeftMatrix left = products.left(x.of(party));
    EXPECT_EQ(left.rows(), 6U);
    Shares shares{products.product(left, rows, Form::kPlain, w.of(party)),
                  products.product(left, rows, Form::kTransposed, d.of(party)),
                  products.product(left, Form::kPlain, w.of(party))};
    products.drop(std::move(left));
    return shares;
  });
  const double error = GetParam() == Triplets::kLattice ? 1 << kTripletNoise : 0;
  EXPECT_LE(largest_difference(a.plain + b.plain, plain_product(select_rows(x.sum(), rows), w.sum())), error);
  EXPECT_LE(
      largest_difference(a.transposed + b.transposed, plain_product(transpose(select_rows(x.sum(), rows)), d.sum())),
      error);
  EXPECT_LE(largest_difference(a.all + b.all, plain_product(x.sum(), w.sum())), error);
}

TEST_P(ProductWays, OpenTheLeftMatrixOnceLessItsMask) {
  TripletParties parties(GetParam());
  const Pair x = shared(encode(6, 4, small_numbers(24, 1)));
  const auto [a, b] = parties.run([&](protocol::Session& session, TripletSource& source) {
    Products products(session, source);
    const LeftMatrix left = products.left(x.of(session.party()));
    return left.opened();
  });
  EXPECT_EQ(a, b);
  EXPECT_NE(a, x.sum());
}

TEST_P(ProductWays, RefuseShapesThatDoNotFit) {
  TripletParties parties(GetParam());
  (void)parties.run([&](protocol::Session& session, TripletSource& source) {
    Products products(session, source);
    const LeftMatrix left = products.left(Words(3, 4));
    EXPECT_THROW((void)products.product(left, Form::kPlain, Words(3, 1)), InvalidArgument);
    EXPECT_THROW((void)products.product(left, Form::kTransposed, Words(4, 1)), InvalidArgument);
  });
}

INSTANTIATE_TEST_SUITE_P(Ways, ProductWays, ::testing::ValuesIn(kWays), way_name);

TEST(Inputs, AreSharedColumnsOfAThenOfB) {
  TripletParties parties(Triplets::kObliviousTransfer);
  const Words of_a = encode(2, 2, std::vector<double>{1, 2, 3, 4});
  const Words of_b = encode(2, 1, std::vector<double>{5, 6});
  const auto [a, b] = parties.run([&](protocol::Session& session, TripletSource&) {
    const bool at_a = session.party() == Party::kA;
    Words features = share_columns(session, at_a ? of_a : of_b, at_a ? 1 : 2);
    Words labels = at_a ? share_of_b(session, 2, 1) : share_of_b(session, of_b);
    return std::pair(std::move(features), std::move(labels));
  });
  EXPECT_EQ(decode(a.first + b.first), (std::vector<double>{1, 2, 5, 3, 4, 6}));
  EXPECT_EQ(decode(a.second + b.second), (std::vector<double>{5, 6}));
  (void)parties.run([&](protocol::Session& session, TripletSource&) {
    const auto as_the_other = [&] {
      if (session.party() == Party::kA) return share_of_b(session, of_a);
      return share_of_b(session, 2, 1);
    };
    EXPECT_THROW((void)as_the_other(), InvalidArgument);
  });
}

}  // namespace
}  // namespace blindfl::lab::secureml::products_test

// Comparison, ReLU and maximum between two parties.

#include "blindfl/mpc/shared_relu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "blindfl/base/error.h"
#include "blindfl/mpc/compare.h"
#include "blindfl/mpc/maximum.h"
#include "mpc/shared_fixture.h"
#include "testing/thrown.h"

namespace blindfl::mpc::shared_relu_test {
namespace {

constexpr int kScale = 20;

std::vector<double> with_edges(std::size_t count, std::uint64_t seed) {
  std::vector<double> z = normal_values(count, 4, seed);
  z[0] = 0;
  z[1] = std::ldexp(1.0, -kScale);
  z[2] = -std::ldexp(1.0, -kScale);
  z[3] = 2047.5;
  z[4] = -2048;
  for (double& v : z) v = std::ldexp(std::floor(std::ldexp(v, kScale)), -kScale);
  return z;
}

TEST(Compare, SharesTheSigns) {
  SharedParties parties;
  for (const int bits : {32, 34, 40, 64}) {
    const auto z = with_edges(100, 1);
    const SharedPair shares = shared(10, 10, z, kScale);
    parties.run([&](Session& s) { reserve(s, compare_cost(100, bits)); });
    parties.start_counting();
    const auto [a, b] = parties.run([&](Session& s) { return compare(s, 3, shares.of(s.party()), bits); });
    EXPECT_EQ(parties.counted(), SharedParties::on_the_wire(compare_cost(100, bits))) << bits;
    const BitShares bit = a ^ b;
    for (std::size_t i = 0; i < z.size(); ++i) EXPECT_EQ(bit.bit(i), z[i] >= 0) << z[i];
  }
}

// Of small numbers that are not negative, some count as negative; of all others none is wrong.
TEST(Compare, DroppedBitsMatterOnlyNextToZero) {
  constexpr int kDropped = 5;
  SharedParties parties;
  std::vector<double> z = with_edges(1100, 1);
  z[4] = -2047.5;  // the lowest numbers that fit in 32 bits are out of range now
  for (std::size_t i = 0; i < 64; ++i) z[8 + i] = std::ldexp(static_cast<double>(i) - 32, -kScale);
  for (std::size_t i = 100; i < z.size() / 2; ++i) z[i] = std::ldexp(static_cast<double>(i % 32), -kScale);
  const SharedPair shares = shared(110, 10, z, kScale);
  const PartyCost cost = compare_cost(z.size(), 32 - kDropped);
  parties.run([&](Session& s) { reserve(s, cost); });
  parties.start_counting();
  const auto [a, b] = parties.run([&](Session& s) { return compare(s, 3, shares.of(s.party()), 32, kDropped); });
  EXPECT_EQ(parties.counted(), SharedParties::on_the_wire(cost));
  const BitShares bit = a ^ b;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < z.size(); ++i) {
    if (bit.bit(i) == (z[i] >= 0)) continue;
    ++wrong;
    EXPECT_TRUE(z[i] >= 0 && z[i] < std::ldexp(1.0, kDropped - kScale)) << z[i];
  }
  EXPECT_GT(wrong, 0U);  // about half of 480 numbers below the limit
  parties.run([&](Session& s) {
    for (const int dropped : {-1, 32}) {
      EXPECT_THROW((void)compare(s, 3, shares.of(s.party()), 32, dropped), InvalidArgument);
    }
  });
}

class Relu : public ::testing::TestWithParam<int> {
 protected:
  SharedParties parties_;
};

TEST_P(Relu, IsExactForwardAndBackward) {
  const auto z = with_edges(96, 2);
  const auto d = normal_values(96, 1, 3);
  const SharedPair shares = shared(12, 8, z, kScale);
  const SharedPair derivative = shared(12, 8, d, 24);
  std::pair<std::unique_ptr<SharedRelu>, std::unique_ptr<SharedRelu>> relu;
  const auto of = [&](Session & s) -> auto& {
    return s.party() == Party::kA ? relu.first : relu.second;
  };
  parties_.run([&](Session& s) {
    of(s) = std::make_unique<SharedRelu>(s, 32, GetParam());
    of(s)->expect(96);
  });
  const PartyCost forward = relu.first->forward_cost(96);
  const PartyCost backward = relu.first->backward_cost(96);

  parties_.start_counting();
  const SharedPair h = parties_.shares([&](Session& s) { return of(s)->forward(shares.of(s.party())); });
  EXPECT_EQ(parties_.counted(), SharedParties::on_the_wire(forward));
  parties_.start_counting();
  const SharedPair dz = parties_.shares([&](Session& s) { return of(s)->backward(derivative.of(s.party())); });
  EXPECT_EQ(parties_.counted(), SharedParties::on_the_wire(backward));
  EXPECT_EQ(backward.flights, 1);
  EXPECT_EQ(backward.a_ots + backward.b_ots, 0U);

  EXPECT_EQ(h.a.ring_bits(), GetParam());
  EXPECT_EQ(h.a.scale(), kScale);
  const auto opened = h.reals();
  const auto opened_dz = dz.reals();
  const auto rounded = derivative.reals();
  const BitShares bits = relu.first->bits() ^ relu.second->bits();
  for (std::size_t i = 0; i < z.size(); ++i) {
    EXPECT_EQ(opened[i], std::max(z[i], 0.0));
    EXPECT_EQ(opened_dz[i], z[i] >= 0 ? rounded[i] : 0);
    EXPECT_EQ(bits.bit(i), z[i] >= 0);
  }
}

TEST_P(Relu, WithDroppedBitsIsWrongByLessThanTheyAreWorth) {
  constexpr int kDropped = 5;
  auto z = with_edges(96, 2);
  z[4] = -2047.5;
  const SharedPair shares = shared(12, 8, z, kScale);
  const SharedPair h = parties_.shares([&](Session& s) {
    SharedRelu relu(s, 32, GetParam(), kDropped);
    EXPECT_EQ(relu.forward_cost(96).a_ots, relu_cost(96, 32 - kDropped, GetParam()).a_ots);
    return relu.forward(shares.of(s.party()));
  });
  const auto opened = h.reals();
  const double limit = std::ldexp(1.0, kDropped - kScale);
  for (std::size_t i = 0; i < z.size(); ++i) {
    const double exact = std::max(z[i], 0.0);
    EXPECT_TRUE(opened[i] == exact || (opened[i] == 0 && exact < limit)) << z[i];
  }
}

TEST_P(Relu, SharesOfResultsAreFresh) {
  const std::vector<double> z(2048, 1.5);
  const SharedPair shares = shared(2048, 1, z, kScale);
  const SharedPair h =
      parties_.shares([&](Session& s) { return SharedRelu(s, 32, GetParam()).forward(shares.of(s.party())); });
  // Neither party's share is its share of z, and the highest bits are spread.
  std::size_t high = 0;
  for (std::size_t i = 0; i < z.size(); ++i) {
    EXPECT_NE(h.a.values()[i], shares.a.values()[i]);
    high += static_cast<std::size_t>(h.a.values()[i] >> (GetParam() - 1));
  }
  EXPECT_NEAR(static_cast<double>(high), 1024, 160);
}

TEST_P(Relu, GoesBackOncePerForward) {
  const SharedPair shares = shared(2, 2, std::vector<double>{1, -1, 2, -2}, kScale);
  parties_.run([&](Session& s) {
    SharedRelu relu(s, 32, GetParam());
    const ShareMatrix& mine = shares.of(s.party());
    EXPECT_THROW((void)relu.backward(mine), InvalidArgument);
    (void)relu.forward(mine);
    EXPECT_THROW((void)relu.backward(ShareMatrix(2, 3, kScale)), InvalidArgument);
    (void)relu.backward(mine);
    EXPECT_THROW((void)relu.backward(mine), InvalidArgument) << "a second one repeats pads";
    (void)relu.forward(mine, SharedRelu::Keep::kNothing);
    EXPECT_THROW((void)relu.backward(mine), InvalidArgument);
    (void)relu.forward(mine);
    relu.forget();
    EXPECT_THROW((void)relu.backward(mine), InvalidArgument);
  });
}

TEST_P(Relu, NeverRepeatsAByteString) {
  const SharedPair shares = shared(8, 8, normal_values(64, 1, 4), kScale);
  parties_.run([&](Session& s) {
    SharedRelu relu(s, 32, GetParam());
    for (int i = 0; i < 2; ++i) {
      (void)relu.forward(shares.of(s.party()));
      (void)relu.backward(shares.of(s.party()));
    }
  });
  for (const Party party : {Party::kA, Party::kB}) {
    for (const net::Step step :
         {net::Step(steps::kComparison), net::Step(steps::kChoices), net::Step(steps::kSelection)}) {
      std::vector<Bytes> all = parties_.payloads(party, step);
      EXPECT_GE(all.size(), 2U);
      std::ranges::sort(all);
      EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rings, Relu, ::testing::Values(64, 128),
                         [](const auto& test) { return std::to_string(test.param); });

TEST(ReluOfShares, RefusesWhatItCannotDo) {
  SharedParties parties;
  Session& s = parties.session(Party::kA);
  EXPECT_THROW(SharedRelu(s, 1), InvalidArgument);
  EXPECT_THROW(SharedRelu(s, 65), InvalidArgument);
  EXPECT_THROW(SharedRelu(s, 32, 100), InvalidArgument);
  EXPECT_THROW(SharedRelu(s, 32, 64, -1), InvalidArgument);
  EXPECT_THROW(SharedRelu(s, 32, 64, 31), InvalidArgument);
  EXPECT_THROW((void)SharedRelu(s, 32).forward(ShareMatrix(2, 2, kScale, 64)), InvalidArgument);
}

// Pads that do not belong together give numbers that nobody notices: the places are compared first.
TEST(ReluOfShares, OfAPeerAtAnotherPlaceOfItsPoolIsAnError) {
  SharedParties parties;
  const SharedPair shares = shared(4, 4, normal_values(16, 1, 5), kScale);
  const auto relu = [&](bool skips) {
    return [&, skips](Session& s) {
      (void)s.ots();
      s.ots().reserve({6000, 6000});
      if (skips) (void)s.ots().receiver().take(1);
      (void)SharedRelu(s, 32).forward(shares.of(s.party()));
    };
  };
  EXPECT_THAT(testing::message_of<ProtocolError>([&] { parties.run(relu(true), relu(false)); }),
              ::testing::HasSubstr("out of step"));
  EXPECT_EQ(parties.payloads(Party::kA, steps::kSelection).size(), 0U);
}

// What is found is a value of the row, and below the largest by less than what is not compared, for each halving.
TEST(Maximum, MissesTheLargestByTheDroppedBitsAtMost) {
  SharedParties parties;
  constexpr std::size_t kRows = 64;
  constexpr int kBits = 34;
  constexpr int kRing = 38;
  constexpr int kDropped = 6;
  bool missed = false;
  for (const std::size_t cols : {2U, 3U, 10U}) {
    // Close together, so that dropped bits decide.
    const SharedPair shares =
        shared(kRows, cols, normal_values(kRows * cols, std::ldexp(1.0, kDropped - kScale), cols), kScale, kRing);
    const PartyCost cost = maximum_cost(kRows, cols, kBits, kRing, kDropped);
    EXPECT_LT(cost.flights, maximum_cost(kRows, cols, kBits, kRing).flights);
    parties.run([&](Session& s) { reserve(s, cost); });
    parties.start_counting();
    const SharedPair most =
        parties.shares([&](Session& s) { return maximum(s, 5, shares.of(s.party()), kBits, kDropped); });
    EXPECT_EQ(parties.counted(), SharedParties::on_the_wire(cost));
    const auto values = shares.reals();
    const auto found = most.reals();
    const double room = std::ldexp(std::ceil(std::log2(cols)), kDropped - kScale);
    for (std::size_t r = 0; r < kRows; ++r) {
      const auto row = std::span(values).subspan(r * cols, cols);
      const double largest = *std::ranges::max_element(row);
      EXPECT_NE(std::ranges::find(row, found[r]), row.end());
      EXPECT_GT(found[r], largest - room);
      missed = missed || found[r] < largest;
    }
  }
  EXPECT_TRUE(missed) << "no row had values that are alike but for dropped bits";
}

TEST(Maximum, IsThatOfEveryRow) {
  SharedParties parties;
  for (const std::size_t cols : {1U, 2U, 3U, 7U, 10U}) {
    for (const auto& shape : {std::pair{64, 31}, {128, 31}, {128, 20}, {128, 12}, {64, 50}}) {
      const int ring = shape.first;
      const int bits = shape.second;
      const std::size_t rows = 9;
      const auto x = normal_values(rows * cols, bits > 30 ? 5 : 0x1p-12, cols);
      const SharedPair shares = shared(rows, cols, x, kScale, ring);
      parties.run([&](Session& s) { reserve(s, maximum_cost(rows, cols, bits, ring)); });
      parties.start_counting();
      const SharedPair most = parties.shares([&](Session& s) { return maximum(s, 5, shares.of(s.party()), bits); });
      EXPECT_EQ(parties.counted(), SharedParties::on_the_wire(maximum_cost(rows, cols, bits, ring)));
      const auto values = shares.reals();
      const auto found = most.reals();
      ASSERT_EQ(found.size(), rows);
      for (std::size_t r = 0; r < rows; ++r) {
        EXPECT_EQ(found[r], *std::max_element(values.begin() + static_cast<std::ptrdiff_t>(r * cols),
                                              values.begin() + static_cast<std::ptrdiff_t>((r + 1) * cols)));
      }
    }
  }
}

}  // namespace
}  // namespace blindfl::mpc::shared_relu_test

// What is opened, and nothing else.

#include "blindfl/mpc/openings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "blindfl/base/error.h"
#include "blindfl/mpc/bit_shares.h"
#include "blindfl/mpc/range_check.h"
#include "mpc/shared_fixture.h"
#include "testing/forging_transport.h"
#include "testing/thrown.h"

namespace blindfl::mpc::openings_test {
namespace {

/// Errors of the same sum, opened again and again, in units.
std::vector<double> errors_of_sums(SharedParties& parties, int noise_bits, int times) {
  const SharedPair shares = shared(200, 1, normal_values(200, 1, 3), 32);
  double sum = 0;
  for (const double v : shares.reals()) sum += v;
  std::vector<double> errors;
  for (int i = 0; i < times; ++i) {
    const auto [a, b] = parties.run([&](Session& s) {
      return open_sum(s, 1, shares.of(s.party()), {.scale = 10, .noise_bits = noise_bits, .largest = 1000});
    });
    EXPECT_FALSE(a.has_value());
    EXPECT_EQ(*b, std::ldexp(std::round(std::ldexp(*b, 10)), -10));
    errors.push_back(std::ldexp(*b - sum, 10));
  }
  return errors;
}

double root_of_mean_square(const std::vector<double>& errors) {
  double square = 0;
  for (const double e : errors) square += e * e / static_cast<double>(errors.size());
  return std::sqrt(square);
}

TEST(OpenSum, CarriesNoiseAndRounding) {
  SharedParties parties;
  const auto errors = errors_of_sums(parties, 3, 400);
  EXPECT_EQ(parties.counted().a_bytes, 400 * open_sum_cost().a_bytes);
  EXPECT_EQ(parties.counted().b_bytes, 0U);
  double mean = 0;
  for (const double e : errors) {
    EXPECT_LE(std::abs(e), 17.1);
    mean += e / 400;
  }
  // Its standard deviation is 0.23, and B rounds the same share each time, by half a unit at most.
  EXPECT_NEAR(mean, 0, 1.6);
  // Four words of 3 bits: 8 / sqrt(3) = 4.6 units.
  EXPECT_NEAR(root_of_mean_square(errors), 4.62, 0.7);
  // With words of one unit it would be seen to be less.
  EXPECT_LT(root_of_mean_square(errors_of_sums(parties, 0, 100)), 1.2);
}

TEST(OpenSum, AddsNoiseBeforeItRounds) {
  Random random;
  const SumOpening opening{.scale = 10, .noise_bits = 0};
  std::set<std::uint64_t> below_a_unit;
  for (int i = 0; i < 200; ++i) {
    below_a_unit.insert(low64(with_noise(ShareMatrix(1, 1, 32), opening, random).values()[0]) & 0x3fffff);
  }
  EXPECT_GT(below_a_unit.size(), 190U);
  EXPECT_THROW((void)with_noise(ShareMatrix(1, 1, 9), opening, random), InvalidArgument);
  EXPECT_THROW((void)with_noise(ShareMatrix(1, 1, 80), opening, random), InvalidArgument);
}

TEST(OpenScores, TellsBRoundedScoresAndANothing) {
  SharedParties parties;
  const auto z = normal_values(50, 4, 4);
  for (const int ring : {64, 128}) {
    const SharedPair shares = shared(25, 2, z, 20, ring);
    parties.start_counting();
    const auto [a, b] = parties.run([&](Session& s) { return open_scores(s, 2, shares.of(s.party()), 4); });
    EXPECT_EQ(parties.counted(), open_scores_cost(50));
    EXPECT_FALSE(a.has_value());
    ASSERT_EQ(b->size(), 50U);
    for (std::size_t i = 0; i < z.size(); ++i) {
      EXPECT_EQ((*b)[i], std::ldexp(std::round(std::ldexp((*b)[i], 4)), -4));
      EXPECT_NEAR((*b)[i], z[i], 0x1p-4 * 1.01);
    }
  }
}

TEST(OpenScores, RefusesSharesThatDoNotBelongTogether) {
  SharedParties parties;
  const SharedPair one = shared(8, 1, normal_values(8, 4, 4), 20);
  const SharedPair other = shared(8, 1, normal_values(8, 4, 4), 20);
  EXPECT_THAT(testing::message_of<ProtocolError>([&] {
                parties.run([&](Session& s) { (void)open_scores(s, 2, one.a, 4); },
                            [&](Session& s) { (void)open_scores(s, 2, other.b, 4); });
              }),
              ::testing::HasSubstr("do not belong together"));
  EXPECT_THROW((void)open_scores(parties.session(Party::kA), 2, one.a, 21), InvalidArgument);
}

TEST(AllInRange, IsOneBit) {
  SharedParties parties;
  for (const std::size_t count : {1U, 2U, 33U, 70U}) {
    parties.run([&](Session& s) { reserve(s, all_in_range_cost(count, 32)); });
    const auto all_in = [&](const std::vector<double>& z) {
      const SharedPair shares = shared(count, 1, z, 20);
      const auto [a, b] = parties.run([&](Session& s) { return all_in_range(s, 4, shares.of(s.party()), -8, 16, 32); });
      EXPECT_EQ(a, b);
      return a;
    };
    parties.start_counting();
    std::vector<double> z(count, 16);
    z.back() = -8;
    EXPECT_TRUE(all_in(z));
    EXPECT_EQ(parties.counted(), SharedParties::on_the_wire(all_in_range_cost(count, 32))) << count;
    for (const std::size_t place : {std::size_t{0}, count / 2, count - 1}) {
      for (const double out : {16 + 0x1p-20, -8 - 0x1p-20, 2047.0, -2048.0}) {
        std::vector<double> one_out(count, 1);
        one_out[place] = out;
        EXPECT_FALSE(all_in(one_out)) << place << " of " << count;
      }
    }
    EXPECT_FALSE(all_in(std::vector<double>(count, 17)));
  }
}

// Pads that do not belong together give a bit that says nothing, and others that do: none may be opened.
TEST(AllInRange, OpensNothingWhereRandomOtsAreOthers) {
  const SharedPair z = shared(4, 1, std::vector<double>{1, 2, 3, 4}, 20);
  const auto check = [&](testing::TwoParties& parties) {
    parties.run([&](Session& s) { return all_in_range(s, 4, z.of(s.party()), -8, 16, 32); });
  };
  const auto sent_by = [](testing::TwoParties& parties, Party party) {
    std::vector<net::Step> sent;
    for (const auto& m : parties.recording(party).messages()) {
      if (m.direction == net::Direction::kSent) sent.push_back(m.message.step);
    }
    return sent;
  };
  testing::TwoParties honest(lattice());
  check(honest);
  const std::vector<net::Step> steps = sent_by(honest, Party::kA);
  const auto first = std::ranges::find(steps, net::Step(steps::kBitProducts));
  ASSERT_NE(first, steps.end());
  auto channels = net::make_memory_channels();
  const testing::Forgery forgery{static_cast<std::uint64_t>(first - steps.begin()),
                                 [](net::Message&, Bytes& payload) { payload.front() ^= std::byte{1}; }};
  channels.first =
      std::make_unique<net::Channel>(std::make_shared<testing::ForgingTransport>(channels.first->transport(), forgery));
  testing::TwoParties parties(lattice(), std::move(channels));
  EXPECT_THAT(testing::message_of<ProtocolError>([&] { check(parties); }), ::testing::HasSubstr("out of step"));
  EXPECT_THAT(sent_by(parties, Party::kB), ::testing::Not(::testing::Contains(net::Step(steps::kRangeShare))));
}

TEST(AllInRange, RefusesEmptyIntervalsAndOtherPlaces) {
  SharedParties parties;
  Session& s = parties.session(Party::kA);
  const ShareMatrix z(2, 2, 20);
  EXPECT_THROW((void)all_in_range(s, 1, z, 2, 1, 32), InvalidArgument);
  EXPECT_THROW((void)all_in_range(s, 1, z, 0, 4096, 32), InvalidArgument);
  EXPECT_THROW((void)all_in_range(s, 1, z, 0, 1, 64), InvalidArgument);
}

TEST(Slices, OfBitsAreThoseBits) {
  Random random;
  SecretVector<std::uint64_t> words(4);
  random.fill_integers(std::span(words));
  words[3] &= 0xff;
  const BitShares bits(200, std::move(words));
  for (const auto& [first, count] :
       {std::pair<std::size_t, std::size_t>{0, 200}, {1, 64}, {63, 2}, {100, 100}, {64, 0}, {7, 130}}) {
    const BitShares part = slice(bits, first, count);
    ASSERT_EQ(part.size(), count);
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(part.bit(i), bits.bit(first + i));
    EXPECT_EQ(part, BitShares(count, {part.words().begin(), part.words().end()})) << "nothing behind the last";
  }
  EXPECT_THROW((void)slice(bits, 190, 11), InvalidArgument);
}

}  // namespace
}  // namespace blindfl::mpc::openings_test

#include "blindfl/protocol/session/output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "blindfl/base/error.h"
#include "testing/schemes.h"
#include "testing/steps.h"
#include "testing/thrown.h"
#include "testing/two_parties.h"

namespace blindfl::protocol::output_test {
namespace {

using ::testing::HasSubstr;

TEST(OutputShare, AddsUpAtTheLargerScaleWithOneMoreBit) {
  Random random;
  const std::vector<double> x{1.5, -2.25};
  const std::vector<double> y{100.0, 0.125};
  const auto [x_a, x_b] = split(encode_ring(1, 2, x, 48, 1e3), random);
  const auto [y_a, y_b] = split(encode_ring(1, 2, y, 32, 1e3), random);
  const OutputShare at_a = OutputShare{x_a, 58} + OutputShare{y_a, 42};
  const OutputShare at_b = OutputShare{x_b, 58} + OutputShare{y_b, 42};
  EXPECT_EQ(at_a.share.scale(), 48);
  EXPECT_EQ(at_a.bits, 59);
  EXPECT_EQ(decode_ring(open(at_a.share, at_b.share)), (std::vector<double>{101.5, -2.125}));
}

TEST(OutputShare, AddsUpInTheNarrowerRingAndStaysShortEnoughToBeChecked) {
  Random random;
  const std::vector<double> x{1.5, -2.25};
  const std::vector<double> y{-30000.0, 0.125};
  // Layers with features at scale 16 and of 0 and 1.
  const auto [x_a, x_b] = split(narrowed(encode_ring(1, 2, x, 48, 1e5), output_ring(32768, 48)), random);
  const auto [y_a, y_b] = split(narrowed(encode_ring(1, 2, y, 32, 1e5), output_ring(32768, 32)), random);
  OutputShare at_a = OutputShare{x_a, 63} + OutputShare{y_a, 47};
  OutputShare at_b = OutputShare{x_b, 63} + OutputShare{y_b, 47};
  EXPECT_EQ(at_a.share.scale(), 48);
  EXPECT_EQ(at_a.share.ring_bits(), 48 + 15 + kOutputHeadroom);
  EXPECT_EQ(at_a.bits, 48 + 15) << "of Z, whatever the number of parts";
  EXPECT_EQ(decode_ring(open(at_a.share, at_b.share)), (std::vector<double>{-29998.5, -2.125}));
  // One that was made for smaller outputs has the say.
  const auto [w_a, w_b] = split(narrowed(encode_ring(1, 2, {{30000.0, 1.0}}, 48, 1e5), output_ring(4096, 48)), random);
  at_a = at_a + OutputShare{w_a, 30};
  at_b = at_b + OutputShare{w_b, 30};
  EXPECT_EQ(at_a.share.ring_bits(), 48 + 12 + kOutputHeadroom);
  EXPECT_EQ(at_a.bits, 48 + 12);
  EXPECT_EQ(decode_ring(open(at_a.share, at_b.share)), (std::vector<double>{1.5, -1.125}));
}

TEST(Output, OfManyLayersAndSessionsIsCheckedAllTheSame) {
  // Shares that do not belong together, of one value each: their sum is anything, and looks like Z once in 16 times.
  const testing::PlainScheme scheme;
  Random random;
  int seen = 0;
  constexpr int kTries = 60;
  for (int i = 0; i < kTries; ++i) {
    testing::TwoParties parties(scheme);
    const auto open_at = [](Random& own) {
      return [&own](Session& s) {
        OutputShare sum{random_share(1, 1, 48, own, output_ring(32768, 48)), 63};
        for (int layer = 0; layer < 40; ++layer) {
          sum = sum + OutputShare{random_share(1, 1, 48, own, output_ring(32768, 48)), 63};
        }
        const OutputShare rounded = round_output(sum, 16);
        EXPECT_EQ(rounded.share.ring_bits(), 36);
        const std::vector<SessionShare> parts(1, SessionShare{&s, 5, rounded});
        (void)open_output(parts);
      };
    };
    Random other;
    try {
      parties.run(open_at(random), open_at(other));
    } catch (const ProtocolError&) {
      ++seen;
    }
  }
  EXPECT_GE(seen, kTries / 2);
}

TEST(Output, InARingHasTheLargestValuesAndNotMore) {
  const testing::PlainScheme scheme;
  Random random;
  const auto opened = [&](double z) {
    testing::TwoParties parties(scheme);
    const ShareMatrix exact = narrowed(encode_ring(1, 1, {{z}}, 48, 1e6), output_ring(32768, 48));
    const auto [share_a, share_b] = split(exact, random);
    const auto open_at = [](const ShareMatrix& share) {
      return [&share](Session& s) { return open_output(s, 5, round_output({share, 48 + 15}, 16)); };
    };
    return parties.run(open_at(share_a), open_at(share_b)).second->front();
  };
  for (const double z : {32768.0, -32768.0, 0.0, 0x1p-16, -0x1p-16}) EXPECT_NEAR(opened(z), z, 1.5 * 0x1p-16);
  EXPECT_THROW((void)opened(32770.0), ProtocolError);
  EXPECT_THROW((void)opened(-32770.0), ProtocolError);
}

TEST(Output, OpensToBRoundedAndToNobodyElse) {
  const testing::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  Random random;
  std::vector<double> z;
  for (int i = -500; i < 500; ++i) z.push_back(i * 1.2345678901);
  const auto [share_a, share_b] = split(encode_ring(100, 10, z, 48, 1e6), random);
  const auto open_at = [](const ShareMatrix& share) {
    return [&share](Session& s) { return open_output(s, 5, round_output({share, 60}, 16)); };
  };
  const auto [at_a, at_b] = parties.run(open_at(share_a), open_at(share_b));
  EXPECT_FALSE(at_a.has_value());
  ASSERT_EQ(at_b->size(), z.size());
  for (std::size_t i = 0; i < z.size(); ++i) {
    EXPECT_NEAR((*at_b)[i], z[i], 1.5 * 0x1p-16);
    EXPECT_EQ(std::ldexp((*at_b)[i], 16), std::round(std::ldexp((*at_b)[i], 16))) << "more than 16 fractional bits";
  }
  EXPECT_EQ(parties.recording(Party::kA).sent().at(steps::kOutputShare), (net::Traffic{1, 8 * z.size()}));
  EXPECT_FALSE(parties.recording(Party::kB).sent().contains(steps::kOutputShare));
}

TEST(Output, LargerThanItCanBeIsAProtocolErrorAtB) {
  const testing::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  Random random;
  // Two shares that do not belong together: their sum is anything.
  const ShareMatrix share_a = random_share(4, 4, 48, random);
  const ShareMatrix share_b = random_share(4, 4, 48, random);
  const auto open_at = [](const ShareMatrix& share) {
    return [&share](Session& s) { (void)open_output(s, 5, round_output({share, 60}, 16)); };
  };
  EXPECT_THROW(parties.run(open_at(share_a), open_at(share_b)), ProtocolError);
}

TEST(Output, RefusesToRoundWhatCouldOverflow) {
  EXPECT_THROW((void)round_output({ShareMatrix(1, 1, 48), 88}, 16), InvalidArgument);
  EXPECT_THROW((void)round_output({ShareMatrix(1, 1, 20), 67}, 16), InvalidArgument);
  EXPECT_NO_THROW((void)round_output({ShareMatrix(1, 1, 48), 87}, 16));
}

TEST(Derivative, IsPaddedWithRowsOfZeros) {
  const FixedPoint encoding({.scale = 4, .largest = 8, .clip = false});
  const Derivative d = encode_derivative(encoding, 4, 2, std::vector<double>{1, -0.5, 0.25, 8});
  EXPECT_EQ(d.rows, 4U);
  EXPECT_EQ(d.real_rows, 2U);
  EXPECT_EQ(d.share->to_dense(), (std::vector<std::int64_t>{16, -8, 4, 128, 0, 0, 0, 0}));
  EXPECT_FALSE(absent_derivative(4, 2).share.has_value());
}

TEST(Derivative, IsWholeAtBAndAbsentAtA) {
  const Derivative d = encode_derivative(FixedPoint({.scale = 4, .largest = 8, .clip = false}), 4, 1, {});
  const Derivative full{4, 3, d.share};
  EXPECT_NO_THROW(check_derivative(full, Party::kB, 4, "wide"));
  EXPECT_NO_THROW(check_derivative(absent_derivative(4, 3), Party::kA, 4, "wide"));
  const auto refusal = [](const Derivative& derivative, Party party, std::size_t rows) {
    return testing::message_of<InvalidArgument>([&] { check_derivative(derivative, party, rows, "wide"); });
  };
  EXPECT_EQ(refusal(absent_derivative(4, 3), Party::kB, 4), "layer 'wide': B has no derivative");
  EXPECT_EQ(refusal(full, Party::kA, 4),
            "layer 'wide': A has a share of the derivative, and the layer learns under an open top only");
  EXPECT_EQ(refusal(full, Party::kB, 5), "layer 'wide': a derivative of 3 of 4 rows does not fit a batch of 5");
  EXPECT_EQ(refusal(absent_derivative(4, 0), Party::kA, 4),
            "layer 'wide': a derivative of 0 of 4 rows does not fit a batch of 4");
}

TEST(Derivative, NamesTheRowAndColumnOfABadValue) {
  const FixedPoint encoding({.scale = 4, .largest = 8, .clip = false});
  for (const double bad : {std::nan(""), HUGE_VAL, 8.5}) {
    try {
      (void)encode_derivative(encoding, 4, 2, std::vector<double>{0, 0, 0, bad});
      ADD_FAILURE() << bad << " was accepted";
    } catch (const DataError& error) {
      EXPECT_THAT(error.what(), HasSubstr("row 1, column 1"));
    }
  }
  EXPECT_THROW((void)encode_derivative(encoding, 1, 2, std::vector<double>{0, 0, 0, 0}), InvalidArgument);
  EXPECT_THROW((void)encode_derivative(encoding, 4, 3, std::vector<double>{0, 0, 0, 0}), InvalidArgument);
}

}  // namespace
}  // namespace blindfl::protocol::output_test

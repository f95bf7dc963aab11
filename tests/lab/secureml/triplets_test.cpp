// Triplets in all ways: what they are, that they are fresh, and that each is used once.

#include "blindfl/lab/secureml/triplets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <type_traits>

#include "blindfl/base/error.h"
#include "blindfl/lab/secureml/steps.h"
#include "blindfl/protocol/session/ot_pools.h"
#include "lab/secureml/ways.h"
#include "testing/thrown.h"
#include "testing/uniformity.h"

namespace blindfl::lab::secureml::triplets_test {
namespace {

static_assert(!std::is_copy_constructible_v<Triplet> && !std::is_copy_constructible_v<LeftMask>);

class TripletWays : public ::testing::TestWithParam<Triplets> {};

/// A party's shares of a triplet.
struct Shares {
  Words u;
  Words v;
  Words z;
};

/// Both parties' shares of `count` triplets of one mask of 9 x 5.
std::vector<std::pair<Shares, Shares>> triplets_of(TripletParties& parties, std::span<const std::uint32_t> rows,
                                                   Form form, std::size_t cols, std::size_t count) {
  auto both = parties.run([&](protocol::Session&, TripletSource& source) {
    std::vector<Shares> made;
    const LeftMask mask = source.mask(9, 5);
    for (std::size_t i = 0; i < count; ++i) {
      auto [v, z] = source.triplet({.mask = mask, .rows = rows, .form = form, .cols = cols}).take();
      made.push_back({mask.share(), std::move(v), std::move(z)});
    }
    return made;
  });
  std::vector<std::pair<Shares, Shares>> pairs;
  for (std::size_t i = 0; i < count; ++i) {
    pairs.emplace_back(std::move(both.first[i]), std::move(both.second[i]));
  }
  return pairs;
}

TEST_P(TripletWays, AreProductsOfTheirMasksRows) {
  TripletParties parties(GetParam());
  const std::vector<std::uint32_t> rows = {7, 0, 3, 3};
  const double error = GetParam() == Triplets::kLattice ? 1 << kTripletNoise : 0;
  for (const std::size_t cols : {1U, 3U, 11U}) {  // fewer columns than rows, and more
    for (const Form form : {Form::kPlain, Form::kTransposed}) {
      const auto pairs = triplets_of(parties, rows, form, cols, 2);
      for (const auto& [a, b] : pairs) {
        const Words u = select_rows(a.u + b.u, rows);
        const Words product = plain_product(form == Form::kPlain ? u : transpose(u), a.v + b.v);
        EXPECT_LE(largest_difference(a.z + b.z, product), error);
      }
      EXPECT_NE(pairs[0].first.v + pairs[0].second.v, pairs[1].first.v + pairs[1].second.v);
    }
  }
}

TEST_P(TripletWays, AreUniformlyRandomAtEitherParty) {
  TripletParties parties(GetParam());
  const auto [a, b] = parties.run([&](protocol::Session&, TripletSource& source) {
    const LeftMask mask = source.mask(40, 36);
    const std::vector<std::uint32_t> rows = all_rows(40);
    auto [v, z] = source.triplet({.mask = mask, .rows = rows, .form = Form::kPlain, .cols = 40}).take();
    return Shares{mask.share(), std::move(v), std::move(z)};
  });
  for (const Words* m : {&a.u, &a.v, &a.z, &b.u, &b.v, &b.z}) {
    EXPECT_TRUE(testing::looks_uniform<std::uint64_t>(m->values()));
  }
  EXPECT_TRUE(testing::looks_uniform<std::uint64_t>((a.u + b.u).values()));
  EXPECT_TRUE(testing::looks_uniform<std::uint64_t>((a.v + b.v).values()));
}

TEST_P(TripletWays, WorkOnceEach) {
  TripletParties parties(GetParam());
  (void)parties.run([&](protocol::Session&, TripletSource& source) {
    const LeftMask mask = source.mask(2, 2);
    const std::vector<std::uint32_t> rows = all_rows(2);
    Triplet triplet = source.triplet({.mask = mask, .rows = rows, .form = Form::kPlain, .cols = 1});
    (void)triplet.take();
    EXPECT_THAT(testing::message_of<InvalidArgument>([&] { (void)triplet.take(); }),
                ::testing::HasSubstr("used before"));
    Triplet other = source.triplet({.mask = mask, .rows = rows, .form = Form::kPlain, .cols = 1});
    const Triplet moved = std::move(other);
    EXPECT_THROW((void)other.take(), InvalidArgument);  // NOLINT(bugprone-use-after-move): what is tested
    EXPECT_EQ(moved.v().rows(), 2U);
  });
}

TEST_P(TripletWays, OfEmptyProductsAreRefused) {
  TripletParties parties(GetParam());
  (void)parties.run([&](protocol::Session&, TripletSource& source) {
    const LeftMask mask = source.mask(2, 2);
    const std::vector<std::uint32_t> rows = all_rows(2);
    EXPECT_THROW((void)source.triplet({.mask = mask, .rows = {}, .form = Form::kPlain, .cols = 1}), InvalidArgument);
    EXPECT_THROW((void)source.triplet({.mask = mask, .rows = rows, .form = Form::kPlain, .cols = 0}), InvalidArgument);
  });
}

INSTANTIATE_TEST_SUITE_P(Ways, TripletWays, ::testing::ValuesIn(kWays), way_name);

TEST(ObliviousPlan, PacksTheSideWithMoreWordsAndCutsLongProducts) {
  const ObliviousPlan forward(128, 5000, 1);
  EXPECT_TRUE(forward.chosen_by_v);
  EXPECT_EQ(forward.whole.ots(), 64U * 5000);
  EXPECT_EQ(forward.whole.packed, 128U);
  EXPECT_EQ(forward.at_a_time, ObliviousPlan::kMostBytes / (288 * 128));
  EXPECT_LT(forward.piece(0).word_bytes(), ObliviousPlan::kMostBytes);
  const ObliviousPlan wide(3, 10, 20);
  EXPECT_FALSE(wide.chosen_by_v);
  EXPECT_EQ(wide.whole.ots(), 64U * 10 * 3);
  EXPECT_EQ(wide.at_a_time, 10U);
  EXPECT_THROW(ObliviousPlan(1, 0, 1), InvalidArgument);
}

TEST(ObliviousPlan, CountsTheBytesThatTravel) {
  TripletParties parties(Triplets::kObliviousTransfer);
  // More than one piece.
  constexpr std::size_t kRows = 100;
  constexpr std::size_t kInner = 700;
  const auto one = [&](protocol::Session& session, TripletSource& source) {
    const LeftMask mask = source.mask(kRows, kInner);
    const std::vector<std::uint32_t> rows = all_rows(kRows);
    (void)session.ots();
    const std::uint64_t before = net::total(session.channel().sent()).bytes;
    (void)source.triplet({.mask = mask, .rows = rows, .form = Form::kPlain, .cols = 1});
    return net::total(session.channel().sent()).bytes - before;
  };
  const auto [a, b] = parties.run(one);
  const ObliviousPlan plan(kRows, kInner, 1);
  EXPECT_LT(plan.at_a_time, kInner);
  const double tile = static_cast<double>(protocol::OtPools::tile_bytes());
  EXPECT_NEAR(static_cast<double>(a + b), static_cast<double>(plan.bytes()), 4 * tile) << "whole tiles travel";
}

TEST(DealtTriplets, EndWithTheirParties) {
  TripletParties parties(Triplets::kThirdParty);
  (void)parties.run([&](protocol::Session&, TripletSource& source) {
    LeftMask mask = source.mask(4, 3);
    source.opened(mask);
    EXPECT_EQ(mask.share().rows(), 0U) << "only the third party needs U";
    EXPECT_EQ(mask.cols(), 3U);
    const std::vector<std::uint32_t> rows = all_rows(4);
    (void)source.triplet({.mask = mask, .rows = rows, .form = Form::kTransposed, .cols = 2});
    source.drop(std::move(mask));
  });
  parties.finish();
  EXPECT_EQ(parties.dealt(Party::kA, steps::kDealtSeed).size(), 2U);
  EXPECT_TRUE(parties.dealt(Party::kA, steps::kDealtCorrection).empty());
  ASSERT_EQ(parties.dealt(Party::kB, steps::kDealtCorrection).size(), 1U);
  EXPECT_EQ(parties.dealt(Party::kB, steps::kDealtCorrection)[0].size(), 8U * 3 * 2);
}

/// A third party whose A sends `requests` of 28 bytes each, and row numbers behind the last.
std::string refusal_of(const std::vector<std::vector<std::uint64_t>>& requests,
                       const std::vector<std::uint32_t>& rows) {
  const auto a = net::make_memory_channels();
  const auto b = net::make_memory_channels();
  for (const auto& fields : requests) {
    const Bytes request = write_to_bytes([&](ByteSink& out) {
      out.write_u32(static_cast<std::uint32_t>(fields[0]));
      out.write_u32(static_cast<std::uint32_t>(fields[1]));
      out.write_u64(fields[2]);
      out.write_u64(fields[3]);
      out.write_u32(static_cast<std::uint32_t>(fields[4]));
    });
    a.first->send({steps::kTripletRequest, 0, request.size()}, request);
  }
  const auto numbers = std::as_bytes(std::span(rows));
  if (!rows.empty()) a.first->send({steps::kTripletRequest, 1, numbers.size()}, numbers);
  return testing::message_of<ProtocolError>([&] { deal(*a.second, *b.second, Random()); });
}

TEST(DealtTriplets, RefuseRequestsThatCannotBe) {
  using ::testing::HasSubstr;
  EXPECT_THAT(refusal_of({{9, 0, 1, 1, 0}}, {}), HasSubstr("kind 9"));
  EXPECT_THAT(refusal_of({{1, 0, 0, 1, 0}}, {}), HasSubstr("0 x 1"));
  EXPECT_THAT(refusal_of({{1, 0, std::uint64_t{1} << 40, 2, 0}}, {}), HasSubstr("x 2"));
  EXPECT_THAT(refusal_of({{1, 0, 2, 2, 7}}, {}), HasSubstr("2 x 2"));
  EXPECT_THAT(refusal_of({{2, 5, 1, 1, 0}}, {0}), HasSubstr("mask 5 is not known"));
  EXPECT_THAT(refusal_of({{1, 0, 2, 3, 0}, {2, 0, 1, 1, 0}}, {2}), HasSubstr("row 2 of a mask of 2 rows"));
  EXPECT_THAT(refusal_of({{1, 0, 2, 3, 0}, {3, 0, 0, 0, 0}, {3, 0, 0, 0, 0}}, {}), HasSubstr("mask 0 is not known"));
}

}  // namespace
}  // namespace blindfl::lab::secureml::triplets_test

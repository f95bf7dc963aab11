#include "blindfl/app/plan/party_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "blindfl/base/error.h"
#include "blindfl/base/int128.h"
#include "blindfl/net/channel.h"
#include "blindfl/protocol/session/output_masks.h"
#include "blindfl/run/steps.h"
#include "testing/plain/plain_scheme.h"
#include "testing/several_parties.h"
#include "testing/two_parties.h"

namespace blindfl::app::party_shape_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

PartyShape some_shape() {
  return {.numeric = 61,
          .nonzeros = 14,
          .encoding = {.scale = 12, .largest = 8.5, .clip = true},
          .fields = {{.name = "income", .categories = 40},
                     {.name = "words", .categories = 1000, .most = 5, .pooling = Pooling::kMean}}};
}

Bytes bytes_of(const PartyShape& shape) {
  return write_to_bytes([&](ByteSink& out) { write_shape(shape, out); });
}

PartyShape read(const Bytes& bytes) {
  BufferSource source(bytes);
  return read_shape(source);
}

TEST(PartyShapeBytes, ComeBackWithoutNames) {
  const PartyShape shape = read(bytes_of(some_shape()));
  EXPECT_EQ(shape.numeric, 61U);
  EXPECT_EQ(shape.nonzeros, 14U);
  EXPECT_EQ(shape.encoding.scale, 12);
  EXPECT_EQ(shape.encoding.largest, 8.5);
  EXPECT_TRUE(shape.encoding.clip);
  ASSERT_EQ(shape.fields.size(), 2U);
  EXPECT_EQ(shape.fields[0].name, "f1");
  EXPECT_EQ(shape.fields[1].name, "f2");
  EXPECT_EQ(shape.fields[1].categories, 1000U);
  EXPECT_EQ(shape.fields[1].most, 5U);
  EXPECT_EQ(shape.fields[1].pooling, Pooling::kMean);
}

TEST(PartyShapeBytes, ThatAreCutOrChangedAreRefusedOrAnotherShape) {
  const Bytes good = bytes_of(some_shape());
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_THROW((void)read(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size))), ProtocolError);
  }
  for (std::size_t i = 0; i < good.size(); ++i) {
    Bytes bad = good;
    bad[i] ^= std::byte{0x80};
    try {
      const PartyShape shape = read(bad);
      EXPECT_NE(bytes_of(shape), good);
      EXPECT_LE(shape.nonzeros, shape.numeric);
    } catch (const ProtocolError&) {
    }
  }
}

using OutputShape = protocol::OutputMasks::Shape;

/// As B passes on what an A said.
void pass_on(protocol::Session& session, std::size_t of, const PartyShape& shape) {
  const Bytes bytes = bytes_of(shape);
  const auto number = static_cast<std::uint32_t>(2 * of);
  session.channel().send({run::steps::kShapeOfOther, number, 8}, [&](ByteSink& out) { out.write_u64(bytes.size()); });
  session.channel().send({run::steps::kShapeOfOther, number + 1, bytes.size()}, bytes);
}

TEST(PartyShapeExchange, TellsEachPartyTheOthersNumbersAndNoNames) {
  const testing::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  const PartyShape other{.numeric = 3};
  const auto [at_a, at_b] = parties.run([&](protocol::Session& s) { return exchange_shapes(s, some_shape()); },
                                        [&](protocol::Session& s) { return exchange_shapes(s, other); });
  EXPECT_EQ(at_a.numeric, 3U);
  EXPECT_EQ(at_b.numeric, 61U);
  EXPECT_EQ(at_b.fields.size(), 2U);
  EXPECT_THAT(words_of(at_b), HasSubstr("61 numeric features, 2 categorical fields"));
  EXPECT_THAT(words_of(at_b), Not(HasSubstr("income")));
}

TEST(PartyShapeExchange, TellsAllPartiesWhatAllAsHave) {
  const testing::PlainScheme scheme;
  testing::SeveralParties parties(3, scheme);
  const std::vector<std::string> names = testing::names_of_as(3);
  const auto shape_at = [](std::size_t place) { return PartyShape{.numeric = 10 + place}; };
  const auto [at_a, at_b] = parties.run(
      [&](std::size_t place, protocol::Session& s) { return exchange_shapes(s, shape_at(place), names, place); },
      [&](const protocol::Sessions& all) { return exchange_shapes(all, some_shape(), names, 0); });
  std::vector<AllShapes> of_all = at_a;
  of_all.push_back(at_b);
  for (const AllShapes& shapes : of_all) {
    ASSERT_EQ(shapes.a.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(shapes.a[i].numeric, 10 + i);
    EXPECT_EQ(shapes.b.numeric, 61U);
    EXPECT_EQ(shapes.a.name(2), "a3");
    EXPECT_EQ(shapes.a.together().numeric, 33U);
  }
}

/// Whether the masks of two A's cancel after B, which passes on a shape of a1's to a2, has told them all shapes.
bool masks_cancel(const PartyShape& told_of_a1) {
  const testing::PlainScheme scheme;
  testing::SeveralParties parties(2, scheme);
  const std::vector<std::string> names = testing::names_of_as(2);
  const OutputShape shape{8, 8, 40};
  const auto [masks, none] = parties.run(
      [&](std::size_t place, protocol::Session& s) {
        (void)exchange_shapes(s, some_shape(), names, place);
        const auto mask = s.output_masks()->next(shape);
        return std::vector<std::uint64_t>(mask.begin(), mask.end());
      },
      [&](const protocol::Sessions& all) {
        const PartyShape mine{.numeric = 3};
        std::vector<PartyShape> said;
        for (protocol::Session* session : all) said.push_back(exchange_shapes(*session, mine));
        pass_on(all[0], 1, said[1]);
        pass_on(all[1], 0, told_of_a1);
      });
  return std::ranges::equal(masks[0], masks[1], [&](std::uint64_t a, std::uint64_t b) {
    return low_bits(UInt128{a} + UInt128{b}, shape.ring_bits) == 0;
  });
}

TEST(PartyShapeExchange, LeavesNoMaskThatCancelsWhereBPassesOnAnotherShapeThanItWasTold) {
  EXPECT_TRUE(masks_cancel(some_shape())) << "the control";
  PartyShape invented = some_shape();
  invented.numeric += 1;
  EXPECT_FALSE(masks_cancel(invented));
  PartyShape none = some_shape();
  none.fields.clear();
  EXPECT_FALSE(masks_cancel(none));
}

}  // namespace
}  // namespace blindfl::app::party_shape_test

#include "blindfl/protocol/align/alignment_offer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blindfl/base/error.h"
#include "testing/plain/plain_scheme.h"
#include "testing/two_parties.h"

namespace blindfl::protocol::alignment_offer_test {
namespace {

const AlignmentId kFirst = alignment_id("first");
const AlignmentId kSecond = alignment_id("second");
const AlignmentId kThird = alignment_id("third");

TEST(AlignmentOffer, ReachesTheOtherParty) {
  const testing::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  const auto [at_a, at_b] = parties.run(
      [](protocol::Session& s) {
        return exchange_alignment_offers(s, {kFirst, kSecond});
      },
      [](protocol::Session& s) { return exchange_alignment_offers(s, {}); });
  EXPECT_TRUE(at_a.empty());
  EXPECT_EQ(at_b, (AlignmentOffer{kFirst, kSecond}));
}

TEST(AlignmentOffer, BothTakeTheNewestOfAThatBHasToo) {
  EXPECT_EQ(common_alignment({kFirst, kSecond}, {kSecond, kFirst}), kFirst);
  EXPECT_EQ(common_alignment({kThird, kSecond}, {kSecond, kFirst}), kSecond);
  EXPECT_EQ(common_alignment({kThird}, {kSecond, kFirst}), std::nullopt);
  EXPECT_EQ(common_alignment({}, {}), std::nullopt);
}

TEST(AlignmentOffer, ThatIsNoneIsRefused) {
  const Bytes good = write_to_bytes([](ByteSink& out) { write_alignment_offer({kFirst}, out); });
  ASSERT_EQ(good.size(), kAlignmentOfferBytes);
  const auto read = [](Bytes bytes) {
    BufferSource source(bytes);
    return read_alignment_offer(source);
  };
  EXPECT_EQ(read(good), AlignmentOffer{kFirst});
  for (const std::size_t place : {0U, 3U, 4U, 5U, 7U, 40U, 519U}) {  // the version, the number, zeros
    Bytes bad = good;
    bad[place] ^= std::byte{0xF0};
    EXPECT_THROW((void)read(bad), ProtocolError) << place;
  }
  for (std::size_t size = 0; size < good.size(); size += 7) {
    EXPECT_THROW((void)read(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size))), ProtocolError);
  }
  EXPECT_THROW(
      (void)write_to_bytes([](ByteSink& out) { write_alignment_offer(AlignmentOffer(kMostOffered + 1, kFirst), out); }),
      InvalidArgument);
}

}  // namespace
}  // namespace blindfl::protocol::alignment_offer_test

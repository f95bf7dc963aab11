// Base OTs: keys, points that are refused, and what binds them to a session.

#include "blindfl/ot/base_ot.h"

#include <gtest/gtest.h>
#include <sodium.h>

#include <algorithm>
#include <array>
#include <set>

#include "blindfl/base/error.h"
#include "ot/ot_pair.h"

namespace blindfl::ot::base_ot_test {
namespace {

struct BaseOt : ::testing::Test {
  static Block random_block() {
    Block block;
    OtPair::random().fill(std::as_writable_bytes(std::span(&block, 1)));
    return block;
  }
  static std::size_t count_agreed(const BaseKeyPairs& pairs, const SecretBlocks& chosen, const Block& choices) {
    std::size_t agreed = 0;
    for (std::size_t i = 0; i < kBaseOts; ++i) {
      const Block& right = choices.bit(static_cast<int>(i)) == 1 ? pairs.one[i] : pairs.zero[i];
      agreed += chosen[i] == right ? 1 : 0;
    }
    return agreed;
  }
  static Bytes replaced(Bytes message, std::size_t at, const std::array<unsigned char, 32>& point) {
    std::ranges::copy(std::as_bytes(std::span(point)), message.begin() + static_cast<std::ptrdiff_t>(at));
    return message;
  }

  OtSession session{spec_of(4)};
  Block choices = random_block();
  BaseOtSender sender{session, OtPair::random()};
  BaseOtReceiver receiver{session, choices, OtPair::random()};
};

TEST_F(BaseOt, TheReceiverHasTheKeyOfItsChoiceAndNotTheOther) {
  const BaseKeyPairs pairs = sender.keys(receiver.message());
  const SecretBlocks chosen = receiver.keys(sender.message());
  EXPECT_EQ(count_agreed(pairs, chosen, choices), kBaseOts);
  EXPECT_EQ(count_agreed(pairs, chosen, choices ^ mask_of(1)), 0U);
  std::set<std::pair<std::uint64_t, std::uint64_t>> distinct;
  for (const auto* keys : {&pairs.zero, &pairs.one}) {
    for (const Block& key : *keys) distinct.emplace(key.low, key.high);
  }
  EXPECT_EQ(distinct.size(), 2 * kBaseOts);
}

TEST_F(BaseOt, AllChoicesZeroOrOneWork) {
  for (const Block& all : {Block{}, mask_of(1)}) {
    const BaseOtReceiver other(session, all, OtPair::random());
    EXPECT_EQ(count_agreed(sender.keys(other.message()), other.keys(sender.message()), all), kBaseOts);
  }
}

TEST_F(BaseOt, KeysBelongToSessionDirectionAndDepth) {
  const BaseKeyPairs pairs = sender.keys(receiver.message());
  for (const OtSpec& spec : {spec_of(4, 2), spec_of(4, 1, Party::kB), spec_of(8)}) {
    const BaseOtReceiver stranger(OtSession(spec), choices, OtPair::random());
    EXPECT_EQ(count_agreed(sender.keys(stranger.message()), stranger.keys(sender.message()), choices), 0U);
  }
}

TEST_F(BaseOt, EveryWrongLengthIsAnError) {
  const Bytes& points = receiver.message();
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, points.size() - 32, points.size() - 1}) {
    EXPECT_THROW((void)sender.keys(ByteView(points).first(size)), ProtocolError);
  }
  Bytes longer = points;
  longer.emplace_back();
  EXPECT_THROW((void)sender.keys(longer), ProtocolError);
  for (std::size_t size = 0; size < kPointBytes; ++size) {
    EXPECT_THROW((void)receiver.keys(ByteView(sender.message()).first(size)), ProtocolError);
  }
}

TEST_F(BaseOt, TheIdentityAndWhatIsNoPointAreRefused) {
  std::array<unsigned char, 32> identity{};
  std::array<unsigned char, 32> negative{};  // an odd number, which is no encoding
  negative[0] = 1;
  std::array<unsigned char, 32> too_large;  // the prime + 2: not canonical
  too_large.fill(0xFF);
  too_large[0] = 0xEF;
  too_large[31] = 0x7F;
  for (const auto& bad : {identity, negative, too_large}) {
    EXPECT_THROW((void)receiver.keys(replaced(sender.message(), 0, bad)), ProtocolError);
    for (const std::size_t at : {std::size_t{0}, std::size_t{32}, kBaseReceiverBytes - 32}) {
      EXPECT_THROW((void)sender.keys(replaced(receiver.message(), at, bad)), ProtocolError);
    }
  }
}

// R_0 = -H(0, 0, R_1): the hash added, it is the identity, whose multiples everybody knows.
TEST_F(BaseOt, TheIdentityIsRefusedAlsoAfterTheHashWasAdded) {
  const unsigned char* const other = reinterpret_cast<const unsigned char*>(receiver.message().data()) + 32;
  crypto_hash_sha512_state state;
  crypto_hash_sha512_init(&state);
  crypto_hash_sha512_update(&state, reinterpret_cast<const unsigned char*>(session.digest().data()), 32);
  const std::string_view purpose = "base point";
  crypto_hash_sha512_update(&state, reinterpret_cast<const unsigned char*>(purpose.data()), purpose.size());
  const std::array<unsigned char, 2> numbers{};
  crypto_hash_sha512_update(&state, numbers.data(), numbers.size());
  crypto_hash_sha512_update(&state, other, 32);
  std::array<unsigned char, 64> hash;
  crypto_hash_sha512_final(&state, hash.data());
  std::array<unsigned char, 32> shift;
  crypto_core_ristretto255_from_hash(shift.data(), hash.data());
  const std::array<unsigned char, 32> identity{};
  std::array<unsigned char, 32> bad;
  ASSERT_EQ(crypto_core_ristretto255_sub(bad.data(), identity.data(), shift.data()), 0);
  EXPECT_THROW((void)sender.keys(replaced(receiver.message(), 0, bad)), ProtocolError);
  // Shifted by another, it is a point like any other.
  const auto once = [&](auto point) { return sender.keys(replaced(receiver.message(), 0, point)).zero[0]; };
  EXPECT_NE(once(shift), sender.keys(receiver.message()).zero[0]);
}

TEST_F(BaseOt, AFlippedBitIsAnErrorOrChangesKeys) {
  const BaseKeyPairs right = sender.keys(receiver.message());
  int accepted = 0;
  for (int bit = 0; bit < 40; ++bit) {
    Bytes message = receiver.message();
    message[static_cast<std::size_t>(bit) / 8] ^= std::byte(1 << bit % 8);
    try {
      const BaseKeyPairs keys = sender.keys(message);
      EXPECT_NE(keys.zero[0], right.zero[0]);
      EXPECT_NE(keys.one[0], right.one[0]);
      EXPECT_EQ(keys.zero[1], right.zero[1]);
      ++accepted;
    } catch (const ProtocolError&) {
    }
  }
  EXPECT_LT(accepted, 30) << "most strings are not points";
}

// Choices must not show: each point by itself, and their order, look the same for either choice.
TEST_F(BaseOt, PointsLookTheSameForEitherChoice) {
  std::array<int, 2> smaller{};
  for (const int choice : {0, 1}) {
    for (int run = 0; run < 4; ++run) {
      const BaseOtReceiver one(session, mask_of(static_cast<std::uint64_t>(choice)), OtPair::random());
      for (std::size_t i = 0; i < kBaseOts; ++i) {
        const ByteView pair = ByteView(one.message()).subspan(64 * i, 64);
        smaller[static_cast<std::size_t>(choice)] +=
            std::ranges::lexicographical_compare(pair.first(32), pair.last(32)) ? 1 : 0;
      }
    }
  }
  for (const int count : smaller) EXPECT_NEAR(count, 256, 6 * 11.4);
}

// A point that comes again would be the one that was not chosen.
TEST_F(BaseOt, PointsAreAllDrawnAnew) {
  std::set<Bytes> points;
  for (int run = 0; run < 3; ++run) {
    const BaseOtReceiver one(session, choices, OtPair::random());
    for (std::size_t at = 0; at < kBaseReceiverBytes; at += kPointBytes) {
      const ByteView point = ByteView(one.message()).subspan(at, kPointBytes);
      points.emplace(point.begin(), point.end());
    }
  }
  EXPECT_EQ(points.size(), 3 * 2 * kBaseOts);
}

}  // namespace
}  // namespace blindfl::ot::base_ot_test

// Masks between A's: they add up to 0, are uniformly random, and none comes twice.

#include "blindfl/protocol/session/output_masks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <type_traits>

#include "blindfl/base/error.h"
#include "blindfl/base/int128.h"
#include "blindfl/protocol/session/output.h"
#include "blindfl/protocol/session/steps.h"
#include "testing/schemes.h"
#include "testing/several_parties.h"
#include "testing/uniformity.h"

namespace blindfl::protocol::output_masks_test {
namespace {

using Key = OutputMasks::Key;

/// Those of so many A's, each pair with a key of its own.
std::vector<OutputMasks> masks_of(std::size_t peers) {
  Random random;
  std::map<std::pair<std::size_t, std::size_t>, Key> keys;
  std::vector<OutputMasks> all;
  for (std::size_t own = 0; own < peers; ++own) {
    std::vector<Key> of_own(peers);
    for (std::size_t other = 0; other < peers; ++other) {
      if (other == own) continue;
      Key& key = keys[std::minmax(own, other)];
      if (key.empty()) {
        key.resize(32);
        random.fill(key);
      }
      of_own[other] = key;
    }
    all.emplace_back(testing::names_of_as(peers), own, of_own);
  }
  return all;
}

TEST(OutputMasks, AddUpToZeroInTheRing) {
  for (const std::size_t peers : {2, 3, 5, 16}) {
    for (const int ring : {1, 36, 62, 64}) {
      SCOPED_TRACE(std::to_string(peers) + " A's, ring " + std::to_string(ring));
      std::vector<OutputMasks> all = masks_of(peers);
      for (int opening = 0; opening < 3; ++opening) {
        std::vector<std::uint64_t> sum(12);
        for (OutputMasks& one : all) {
          const auto mask = one.next({4, 3, ring});
          ASSERT_EQ(mask.size(), sum.size());
          for (std::size_t i = 0; i < sum.size(); ++i) {
            EXPECT_EQ(low_bits(mask[i], ring), mask[i]) << "nothing above the ring";
            sum[i] += mask[i];
          }
        }
        for (const std::uint64_t v : sum) EXPECT_EQ(low_bits(v, ring), 0U);
      }
    }
  }
}

TEST(OutputMasks, OfAllButTwoDoNotAddUpToZero) {
  std::vector<OutputMasks> all = masks_of(4);
  std::vector<std::uint64_t> sum(64);
  for (std::size_t a = 0; a < 3; ++a) {
    const auto mask = all[a].next({8, 8, 36});
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += mask[i];
  }
  EXPECT_EQ(std::ranges::count_if(sum, [](std::uint64_t v) { return low_bits(v, 36) == 0; }), 0);
}

// Those who help B give it all they share with the others. What two honest ones share is left, and hides both.
TEST(OutputMasks, OfTwoHonestOnesHideThemFromAllOthersTogether) {
  constexpr std::size_t kPeers = 5;
  constexpr std::size_t kFirst = 1;
  constexpr std::size_t kSecond = 3;
  const OutputMasks::Shape shape{40, 40, 37};
  Random random;
  std::vector<std::vector<Key>> keys(kPeers, std::vector<Key>(kPeers));
  for (std::size_t i = 0; i < kPeers; ++i) {
    for (std::size_t j = i + 1; j < kPeers; ++j) {
      keys[i][j].resize(32);
      random.fill(keys[i][j]);
      keys[j][i] = keys[i][j];
    }
  }
  const auto names = testing::names_of_as(kPeers);
  // The mask of one honest A without what it shares with the others.
  const auto left = [&](std::size_t honest) {
    auto mask = OutputMasks(names, honest, keys[honest]).next(shape);
    for (std::size_t other = 0; other < kPeers; ++other) {
      if (other == kFirst || other == kSecond) continue;
      const std::size_t own = honest < other ? 0 : 1;
      std::vector<Key> of_two(2);
      of_two[1 - own] = keys[honest][other];
      const auto shared = OutputMasks(testing::names_of_as(2), own, of_two).next(shape);
      for (std::size_t i = 0; i < mask.size(); ++i) mask[i] = low64(low_bits(mask[i] - shared[i], shape.ring_bits));
    }
    return mask;
  };
  const auto first = left(kFirst);
  const auto second = left(kSecond);
  EXPECT_TRUE(testing::looks_uniform<std::uint64_t>(first, shape.ring_bits));
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(low_bits(first[i] + second[i], shape.ring_bits), 0U);
}

TEST(OutputMasks, AreUniformlyRandom) {
  std::vector<OutputMasks> all = masks_of(3);
  std::vector<std::uint64_t> words;
  for (int opening = 0; opening < 20; ++opening) {
    const auto mask = all[1].next({16, 16, 37});
    words.insert(words.end(), mask.begin(), mask.end());
  }
  EXPECT_TRUE(testing::looks_uniform<std::uint64_t>(words, 37));
}

TEST(OutputMasks, NeverComeTwice) {
  std::vector<OutputMasks> all = masks_of(3);
  std::set<std::uint64_t> seen;
  std::size_t words = 0;
  const std::vector<OutputMasks::Shape> shapes = {{8, 2, 62}, {8, 2, 62}, {4, 4, 62}, {16, 1, 62}};
  for (int step = 0; step < 50; ++step) {
    for (const OutputMasks::Shape& shape : shapes) {
      for (OutputMasks& one : all) {
        for (const std::uint64_t word : one.next(shape)) {
          seen.insert(word);
          ++words;
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), words) << "64-bit words repeat by chance with 2^-34";
}

// A copy would give its masks for other values.
static_assert(!std::is_copy_constructible_v<OutputMasks> && !std::is_copy_assignable_v<OutputMasks>);

// The same shares are opened twice, as if by two layers.
TEST(OutputMasks, AreOnAllThatLeavesAnAAndOnNothingThatBOpens) {
  constexpr std::size_t kPeers = 3;
  constexpr std::size_t kRows = 40;
  constexpr int kRing = 36;
  constexpr int kScale = 16;
  const testing::PlainScheme scheme;
  testing::SeveralParties parties(kPeers, scheme, testing::Record::kYes);
  const auto share = [](Session& session, UInt128 value) {
    ShareMatrix all(kRows, kRows, kScale, kRing);
    std::ranges::fill(all.values(), value);
    return SessionShare{&session, 0, {std::move(all), kRing - kOutputHeadroom}};
  };
  for (int layer = 0; layer < 2; ++layer) {
    const auto [of_as, z] = parties.run(
        [&](std::size_t place, Session& session) {
          const SessionShare mine = share(session, 5 + place);
          return open_output(std::span(&mine, 1)).has_value();
        },
        [&](const Sessions& sessions) {
          std::vector<SessionShare> parts;
          for (Session* session : sessions) parts.push_back(share(*session, 0));
          return open_output(parts).value();
        });
    EXPECT_EQ(of_as, std::vector<bool>(kPeers));
    EXPECT_EQ(z, std::vector<double>(kRows * kRows, std::ldexp(5 + 6 + 7, -kScale)));
  }
  for (std::size_t place = 0; place < kPeers; ++place) {
    SCOPED_TRACE(place);
    std::vector<std::uint64_t> left;  // of both openings
    for (const testing::RecordedMessage& message : parties.recording(Party::kA, place).messages()) {
      if (message.message.step != steps::kMaskedOutputShare) continue;
      BufferSource in(message.payload);
      while (in.remaining() > 0) left.push_back(in.read_u64());
    }
    ASSERT_EQ(left.size(), 2 * kRows * kRows);
    EXPECT_TRUE(testing::looks_uniform<std::uint64_t>(left, kRing));
    std::vector<std::uint64_t> between;  // what a mask that comes twice would leave: 0
    for (std::size_t i = 0; i < left.size() / 2; ++i) {
      between.push_back(low64(low_bits(left[i] - left[left.size() / 2 + i], kRing)));
    }
    EXPECT_TRUE(testing::looks_uniform<std::uint64_t>(between, kRing));
  }
}

/// What both masks of two A's leave of a value that is hidden by them.
std::vector<std::uint64_t> left_of(OutputMasks& first, ByteView about_first, OutputMasks& second,
                                   ByteView about_second) {
  const OutputMasks::Shape shape{40, 40, 37};
  const auto one = first.next(shape, about_first);
  const auto other = second.next(shape, about_second);
  std::vector<std::uint64_t> left(one.size());
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = low64(low_bits(one[i] + other[i], shape.ring_bits));
  return left;
}
bool is_nothing(const std::vector<std::uint64_t>& words) {
  return std::ranges::all_of(words, [](std::uint64_t v) { return v == 0; });
}

TEST(OutputMasks, AddUpToZeroOnlyForTheSameOutput) {
  std::vector<OutputMasks> two = masks_of(2);
  EXPECT_TRUE(is_nothing(left_of(two[0], as_bytes("layer 1"), two[1], as_bytes("layer 1"))));
  for (const std::string_view other : {"layer 2", "layer 1 ", ""}) {
    const auto left = left_of(two[0], as_bytes("layer 1"), two[1], as_bytes(other));
    EXPECT_TRUE(testing::looks_uniform<std::uint64_t>(left, 37)) << other;
  }
  EXPECT_TRUE(is_nothing(left_of(two[0], {}, two[1], {}))) << "they are in step again";
}

TEST(OutputMasks, AddUpToZeroOnlyWhereAllBoundTheSame) {
  std::vector<OutputMasks> two = masks_of(2);
  const auto left = [&] { return left_of(two[0], {}, two[1], {}); };
  const auto expect_noise = [&] { EXPECT_TRUE(testing::looks_uniform<std::uint64_t>(left(), 37)); };
  two[0].bind("step", as_bytes("1"));
  expect_noise();
  two[1].bind("step", as_bytes("2"));
  expect_noise();
  two[1].bind("order", as_bytes("2"));
  two[1].bind("step", as_bytes("1"));
  expect_noise();
  two[0].bind("order", as_bytes("2"));
  EXPECT_TRUE(is_nothing(left()));
  std::vector<OutputMasks> new_keys = masks_of(2);
  new_keys[0].bind_as(two[0]);
  EXPECT_FALSE(is_nothing(left_of(new_keys[0], {}, new_keys[1], {})));
  new_keys[1].bind_as(two[1]);
  EXPECT_TRUE(is_nothing(left_of(new_keys[0], {}, new_keys[1], {})));
  // What is bound is not what an output is about.
  std::vector<OutputMasks> others = masks_of(2);
  others[0].bind("", {});
  EXPECT_FALSE(is_nothing(left_of(others[0], {}, others[1], Bytes(16))));
}

TEST(OutputMasks, StayBoundWhereNewKeysAreAgreedOn) {
  testing::PlainScheme scheme;
  testing::SeveralParties parties(2, scheme);
  bind_outputs(parties.a(0), "order of rows", as_bytes("one"));
  bind_outputs(parties.b(), "order of rows", as_bytes("one"));  // does nothing
  parties.agree("run 2");
  const auto left = [&] { return left_of(*parties.a(0).output_masks(), {}, *parties.a(1).output_masks(), {}); };
  EXPECT_FALSE(is_nothing(left()));
  bind_outputs(parties.a(1), "order of rows", as_bytes("one"));
  EXPECT_TRUE(is_nothing(left()));
}

TEST(OutputMasks, OfASessionResumedAreOthersThoughTheRunIsTheSame) {
  testing::PlainScheme scheme;
  std::set<std::uint64_t> seen;
  std::size_t words = 0;
  testing::SeveralParties parties(2, scheme);
  for (int session = 0; session < 4; ++session) {
    // The same run, names and identities; first in a new session, and then agreed anew in the same one.
    std::optional<testing::SeveralParties> other;
    if (session == 1) other.emplace(2, scheme);
    if (session >= 2) parties.agree("run 1");
    testing::SeveralParties& now = other ? *other : parties;
    const auto first = now.a(0).output_masks()->next({8, 4, 62});
    const auto second = now.a(1).output_masks()->next({8, 4, 62});
    for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(low_bits(first[i] + second[i], 62), 0U);
    for (const std::uint64_t word : first) seen.insert(word);
    words += first.size();
  }
  EXPECT_EQ(seen.size(), words);
}

TEST(OutputMasks, LeaveOtherSecretsOfTwoAlone) {
  std::vector<OutputMasks> all = masks_of(3);
  EXPECT_EQ(all[0].secret_with(2, "alignment"), all[2].secret_with(0, "alignment"));
  EXPECT_EQ(all[0].secret_with(2, "alignment"), all[0].secret_with(2, "alignment"));
  const std::set<Key> different = {all[0].secret_with(1, "alignment"), all[0].secret_with(2, "alignment"),
                                   all[1].secret_with(2, "alignment"), all[0].secret_with(1, "another")};
  EXPECT_EQ(different.size(), 4U);
  EXPECT_THROW((void)all[0].secret_with(0, "alignment"), InvalidArgument);
  EXPECT_THROW((void)all[0].secret_with(3, "alignment"), InvalidArgument);
}

TEST(OutputMasks, TakeAKeyWithEachOtherA) {
  const auto names = testing::names_of_as(2);
  EXPECT_THROW(OutputMasks(names, 2, std::vector<Key>(2)), InvalidArgument);
  EXPECT_THROW(OutputMasks(names, 0, std::vector<Key>(2)), InvalidArgument);
  EXPECT_THROW(OutputMasks(names, 0, {Key(), Key(31)}), InvalidArgument);
  EXPECT_THROW(OutputMasks(names, 0, {Key(32), Key(32)}), InvalidArgument);
  EXPECT_THROW(OutputMasks(names, 0, {Key(), Key(32), Key(32)}), InvalidArgument);
  EXPECT_THROW((void)OutputMasks(names, 0, {Key(), Key(32)}).next({1, 1, 65}), InvalidArgument);
}

}  // namespace
}  // namespace blindfl::protocol::output_masks_test

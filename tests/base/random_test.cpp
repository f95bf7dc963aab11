#include "blindfl/base/random.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "blindfl/base/bytes.h"
#include "blindfl/base/error.h"

namespace blindfl::random_test {
namespace {

using Key = std::array<std::byte, KeyStream::kKeyBytes>;

// Reproducible numbers must not get where masks are drawn, no seed must get into Random, and a copy of a generator
// would draw the same masks twice.
static_assert(!std::is_convertible_v<SeededRandom, Random>);
static_assert(!std::is_convertible_v<SeededRandom&, Random&>);
static_assert(!std::is_constructible_v<Random, SeededRandom>);
static_assert(!std::is_constructible_v<Random, int>);
static_assert(!std::is_constructible_v<Random, std::uint64_t>);
static_assert(!std::is_constructible_v<Random, Key>);
static_assert(!std::is_constructible_v<Random, KeyStream>);
static_assert(!std::is_copy_constructible_v<Random> && !std::is_copy_assignable_v<Random>);
static_assert(!std::is_copy_constructible_v<KeyStream> && !std::is_copy_assignable_v<KeyStream>);
static_assert(!std::is_convertible_v<std::uint64_t, SeededRandom>);

template <class Generator>
Bytes draw(Generator& random, std::size_t count) {
  Bytes bytes(count);
  random.fill(bytes);
  return bytes;
}

Key counting_key() {
  Key key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(i);
  return key;
}

// 255 degrees of freedom: about 255, with a deviation of 23.
double chi_square(std::span<const std::byte> bytes) {
  std::array<double, 256> counts{};
  for (const std::byte b : bytes) ++counts[static_cast<std::size_t>(b)];
  const double expected = static_cast<double>(bytes.size()) / 256;
  double sum = 0;
  for (const double count : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

TEST(KeyStream, IsAes256InCounterMode) {
  KeyStream stream(Key{});
  // AES-256 of the counters 0 and 1 under the key of zeros.
  const std::array<unsigned, 32> expected = {0xdc, 0x95, 0xc0, 0x78, 0xa2, 0x40, 0x89, 0x89,   //
                                             0xad, 0x48, 0xa2, 0x14, 0x92, 0x84, 0x20, 0x87,   //
                                             0x53, 0x0f, 0x8a, 0xfb, 0xc7, 0x45, 0x36, 0xb9,   //
                                             0xa9, 0x63, 0xb4, 0xf1, 0xc4, 0xcb, 0x73, 0x8b};  //
  const Bytes bytes = draw(stream, expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(static_cast<unsigned>(bytes[i]), expected[i]) << i;
}

TEST(KeyStream, GivesTheSameBytesWhateverTheRequests) {
  constexpr std::size_t kLargest = 5000;
  constexpr std::size_t kRequests = 3;
  const Key key = counting_key();
  KeyStream reference(key);
  const Bytes expected = draw(reference, kRequests * kLargest);
  Bytes bytes(kRequests * kLargest);
  for (std::size_t size = 1; size <= kLargest; ++size) {
    KeyStream stream(key);
    for (std::size_t i = 0; i < kRequests; ++i) stream.fill(std::span(bytes).subspan(i * size, size));
    ASSERT_TRUE(
        std::equal(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(kRequests * size), expected.begin()))
        << "requests of " << size;
  }
}

TEST(KeyStream, GivesTheSameBytesForMixedRequests) {
  const Key key = counting_key();
  SeededRandom sizes(1);
  Bytes pieces;
  KeyStream stream(key);
  while (pieces.size() < 200000) {
    // Nothing, a few bytes, and both sides of the buffer's 4096.
    const std::array<std::size_t, 4> choices = {0, 1 + sizes.below(40), 4090 + sizes.below(12), sizes.below(20000)};
    const Bytes piece = draw(stream, choices[sizes.below(4)]);
    pieces.insert(pieces.end(), piece.begin(), piece.end());
  }
  KeyStream reference(key);
  EXPECT_TRUE(pieces == draw(reference, pieces.size()));
}

TEST(KeyStream, OverwritesWhatTheCallersMemoryHeld) {
  const Key key = counting_key();
  for (const std::size_t size : {std::size_t{10}, std::size_t{10000}}) {
    KeyStream a(key);
    KeyStream b(key);
    Bytes dirty(size, std::byte{0x5A});
    a.fill(dirty);
    EXPECT_TRUE(dirty == draw(b, size)) << size;
  }
}

TEST(KeyStream, DependsOnEveryByteOfTheKey) {
  KeyStream original(counting_key());
  const Bytes expected = draw(original, 16);
  for (std::size_t i = 0; i < KeyStream::kKeyBytes; ++i) {
    Key key = counting_key();
    key[i] ^= std::byte{0x80};
    KeyStream other(key);
    EXPECT_NE(draw(other, 16), expected) << "byte " << i;
  }
}

TEST(KeyStream, GoesOnAfterAMove) {
  const Key key = counting_key();
  KeyStream reference(key);
  const Bytes expected = draw(reference, 100);
  KeyStream first(key);
  Bytes bytes = draw(first, 37);
  KeyStream second(std::move(first));
  const Bytes rest = draw(second, 63);
  bytes.insert(bytes.end(), rest.begin(), rest.end());
  EXPECT_EQ(bytes, expected);
}

TEST(Random, IsAnotherStreamEachTime) {
  Random a;
  Random b;
  EXPECT_NE(draw(a, 32), draw(b, 32));
  EXPECT_NE(a.next_u64(), a.next_u64());
  EXPECT_TRUE(a.next_u128() != b.next_u128());
}

TEST(Random, HasUniformBytes) {
  Random random;
  const double statistic = chi_square(draw(random, std::size_t{1} << 20));
  EXPECT_LT(statistic, 530);
  EXPECT_GT(statistic, 80) << "too even to be random";
}

TEST(Random, FillsEveryBitOfIntegers) {
  Random random;
  std::vector<UInt128> values(200);
  random.fill_integers(std::span(values));
  UInt128 ones = 0;
  UInt128 zeros = 0;
  for (const UInt128 v : values) {
    ones |= v;
    zeros |= ~v;
  }
  EXPECT_EQ(low64(ones) & high64(ones), ~std::uint64_t{0});
  EXPECT_EQ(low64(zeros) & high64(zeros), ~std::uint64_t{0});
}

TEST(Random, ForksIntoIndependentStreams) {
  Random parent;
  Random first = parent.fork();
  Random second = parent.fork();
  const std::array streams = {draw(parent, 64), draw(first, 64), draw(second, 64)};
  EXPECT_NE(streams[0], streams[1]);
  EXPECT_NE(streams[0], streams[2]);
  EXPECT_NE(streams[1], streams[2]);
  EXPECT_LT(chi_square(draw(first, std::size_t{1} << 18)), 530);
}

TEST(Random, DrawsEvenlyBelowALimit) {
  Random random;
  std::array<int, 7> counts{};
  for (int i = 0; i < 70000; ++i) ++counts.at(random.below(counts.size()));
  // 10000 expected, with a deviation of 93.
  for (const int count : counts) EXPECT_NEAR(count, 10000, 700);
  EXPECT_EQ(random.below(1), 0U);
  EXPECT_THROW((void)random.below(0), InvalidArgument);
}

TEST(Random, DerivedRepeatsForTheSameKeyAndContextOnly) {
  Random random;
  std::array<std::byte, KeyStream::kKeyBytes> key{};
  random.fill(key);
  auto other_key = key;
  other_key.back() ^= std::byte{1};
  const auto derived = [&](const auto& from, std::string_view context) {
    Random made = Random::derived(from, as_bytes(context));
    return draw(made, 5000);
  };
  const Bytes first = derived(key, "context");
  EXPECT_EQ(derived(key, "context"), first);
  EXPECT_NE(derived(key, "contexts"), first);
  EXPECT_NE(derived(key, ""), first);
  EXPECT_NE(derived(other_key, "context"), first);
  // Forks repeat too, and are streams of their own.
  Random one = Random::derived(key, as_bytes("context"));
  Random same = Random::derived(key, as_bytes("context"));
  Random fork = one.fork();
  Random same_fork = same.fork();
  EXPECT_EQ(draw(fork, 100), draw(same_fork, 100));
  EXPECT_EQ(draw(one, 100), draw(same, 100));
  EXPECT_NE(draw(one, 100), draw(fork, 100));
}

std::vector<std::uint64_t> first_numbers(SeededRandom random) {
  std::vector<std::uint64_t> numbers(100);
  std::ranges::generate(numbers, [&] { return random.next_u64(); });
  return numbers;
}

TEST(SeededRandom, IsReproducible) {
  EXPECT_EQ(first_numbers(SeededRandom(5, 6)), first_numbers(SeededRandom(5, 6)));
  EXPECT_EQ(first_numbers(SeededRandom(5)), first_numbers(SeededRandom(5, 0)));
}

TEST(SeededRandom, DoesNotChangeFromReleaseToRelease) {
  SeededRandom random(0);
  // The first block of AES-256 under the key of zeros, see KeyStream.
  EXPECT_EQ(random.next_u64(), 0x898940a278c095dcU);
  EXPECT_EQ(random.next_u64(), 0x8720849214a248adU);
}

TEST(SeededRandom, ChangesWithSeedAndPurpose) {
  const auto numbers = first_numbers(SeededRandom(1, 2));
  EXPECT_NE(numbers, first_numbers(SeededRandom(2, 2)));
  EXPECT_NE(numbers, first_numbers(SeededRandom(1, 3)));
  EXPECT_NE(numbers, first_numbers(SeededRandom(2, 1)));
  EXPECT_NE(numbers, first_numbers(SeededRandom(1, 2 | std::uint64_t{1} << 63)));
}

TEST(SeededRandom, OfAKeyDependsOnAllOfItAndOnThePurpose) {
  const auto numbers = first_numbers(SeededRandom(counting_key(), 2));
  EXPECT_EQ(numbers, first_numbers(SeededRandom(counting_key(), 2)));
  EXPECT_NE(numbers, first_numbers(SeededRandom(counting_key(), 3)));
  for (std::size_t i = 0; i < KeyStream::kKeyBytes; ++i) {
    Key key = counting_key();
    key[i] ^= std::byte{0x80};
    EXPECT_NE(numbers, first_numbers(SeededRandom(key, 2))) << "byte " << i;
  }
}

/// What `draw_in` draws in a child process.
template <class Draw>
Bytes drawn_by_child(const Draw& draw_in) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const Bytes bytes = draw_in();
    const bool written = ::write(ends[1], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
    ::_exit(written ? 0 : 1);
  }
  ::close(ends[1]);
  Bytes bytes(64);
  const ssize_t got = ::read(ends[0], bytes.data(), bytes.size());
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  ::close(ends[0]);
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  return bytes;
}

TEST(Random, AChildProcessDrawsOtherNumbersThanItsParent) {
  Random random;
  (void)draw(random, 8);  // the rest of the buffer is there before the child is
  Random forked = random.fork();
  for (Random* each : {&random, &forked}) {
    const Bytes first = drawn_by_child([&] { return draw(*each, 32); });
    const Bytes second = drawn_by_child([&] { return draw(*each, 32); });
    ASSERT_EQ(first.size(), 32U);
    EXPECT_NE(first, second);
    const Bytes mine = draw(*each, 32);
    EXPECT_NE(mine, first);
    EXPECT_NE(mine, second);
  }
}

TEST(Random, AGrandchildDrawsOtherNumbersThanTheChild) {
  Random random;
  const Bytes both = drawn_by_child([&] {
    Bytes bytes = draw(random, 8);
    const Bytes grandchild = drawn_by_child([&] { return draw(random, 24); });
    bytes.insert(bytes.end(), grandchild.begin(), grandchild.end());
    const Bytes child = draw(random, 24);
    bytes.insert(bytes.end(), child.begin(), child.end());
    return bytes;
  });
  ASSERT_EQ(both.size(), 56U);
  EXPECT_FALSE(std::equal(both.begin() + 8, both.begin() + 32, both.begin() + 32));
}

TEST(Random, ADerivedStreamIsTheSameInAChildProcess) {
  Random derived = Random::derived(counting_key(), as_bytes("masks"));
  (void)draw(derived, 8);
  const Bytes child = drawn_by_child([&] { return draw(derived, 32); });
  EXPECT_EQ(child, draw(derived, 32));
}

TEST(SeededRandom, DrawsBelowALimitEvenly) {
  SeededRandom random(3);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70000; ++i) {
    const std::uint64_t x = random.below(counts.size());
    ASSERT_LT(x, counts.size());
    ++counts[x];
  }
  // 10000 expected, with a deviation of 93.
  for (const int count : counts) EXPECT_NEAR(count, 10000, 600);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(random.below(1), 0U);
}

TEST(SeededRandom, HasNoBiasBelowAHugeLimit) {
  SeededRandom random(4);
  // Without rejection, every third value would come twice as often here, or the lowest third of them.
  constexpr std::uint64_t kLimit = std::uint64_t{3} << 62;
  constexpr int kDraws = 30000;
  std::array<int, 3> by_remainder{};
  std::array<int, 3> by_size{};
  for (int i = 0; i < kDraws; ++i) {
    const std::uint64_t x = random.below(kLimit);
    ASSERT_LT(x, kLimit);
    ++by_remainder[x % 3];
    ++by_size[x >> 62];
  }
  // A deviation of 82.
  for (const int count : by_remainder) EXPECT_NEAR(count, kDraws / 3.0, 500);
  for (const int count : by_size) EXPECT_NEAR(count, kDraws / 3.0, 500);
}

TEST(SeededRandom, RefusesAnEmptyRange) {
  SeededRandom random(1);
  EXPECT_THROW((void)random.below(0), InvalidArgument);
}

TEST(SeededRandom, DrawsUniformReals) {
  SeededRandom random(5);
  constexpr int kDraws = 100000;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = random.uniform();
    ASSERT_GE(x, 0);
    ASSERT_LT(x, 1);
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / kDraws, 1.0 / 2, 0.01);
  EXPECT_NEAR(squares / kDraws, 1.0 / 3, 0.01);
}

TEST(SeededRandom, DrawsNormalReals) {
  SeededRandom random(6);
  constexpr int kDraws = 100000;
  double sum = 0;
  double squares = 0;
  int beyond_two = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = random.normal();
    ASSERT_TRUE(std::isfinite(x));
    sum += x;
    squares += x * x;
    beyond_two += std::abs(x) > 2 ? 1 : 0;
  }
  // Deviations: 0.003, 0.005 and 66.
  EXPECT_NEAR(sum / kDraws, 0, 0.03);
  EXPECT_NEAR(squares / kDraws, 1, 0.04);
  EXPECT_NEAR(beyond_two, 4550, 500);
}

}  // namespace
}  // namespace blindfl::random_test

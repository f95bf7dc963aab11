#include "blindfl/base/secret.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "blindfl/base/int128.h"

namespace blindfl::secret_test {
namespace {

// An integer whose memory is looked at when it goes back to the standard allocator.
template <class T>
struct Watched {
  T value{};

  bool operator==(const Watched&) const = default;
};

// What was seen of the blocks that went back.
struct Returned {
  int blocks = 0;
  int cleared = 0;
};
Returned returned;

}  // namespace
}  // namespace blindfl::secret_test

// Freed memory must not be read, so this looks in the last moment before it is freed: the standard allows a program its
// own allocator for its own types, and ClearingAllocator hands memory back to it.
template <class T>
struct std::allocator<blindfl::secret_test::Watched<T>> {
  using value_type = blindfl::secret_test::Watched<T>;

  allocator() = default;
  template <class U>
  explicit allocator(const std::allocator<U>& /*other*/) {}

  value_type* allocate(std::size_t n) { return static_cast<value_type*>(::operator new(n * sizeof(value_type))); }
  void deallocate(value_type* p, std::size_t n) {
    const auto bytes = std::as_bytes(std::span(p, n));
    ++blindfl::secret_test::returned.blocks;
    blindfl::secret_test::returned.cleared +=
        std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; }) ? 1 : 0;
    ::operator delete(p);
  }
  bool operator==(const allocator& /*other*/) const { return true; }
};

namespace blindfl::secret_test {
namespace {

template <class T>
class SecretVectorOf : public ::testing::Test {
 protected:
  static constexpr Watched<T> kSecret = {static_cast<T>(~T{0})};

  SecretVectorOf() { returned = {}; }

  static void expect_returned_and_cleared(int blocks) {
    EXPECT_EQ(returned.blocks, blocks);
    EXPECT_EQ(returned.cleared, blocks);
  }
};

using Integers = ::testing::Types<std::uint8_t, std::uint32_t, std::uint64_t, UInt128>;
TYPED_TEST_SUITE(SecretVectorOf, Integers);

TYPED_TEST(SecretVectorOf, ClearsItsMemoryWhenItEnds) {
  int blocks = 0;
  for (const std::size_t count : {1, 2, 7, 1000}) {
    { const SecretVector<Watched<TypeParam>> secret(count, this->kSecret); }
    this->expect_returned_and_cleared(++blocks);
  }
}

TYPED_TEST(SecretVectorOf, DoesWhatAnOrdinaryVectorDoesNot) {
  { const std::vector<Watched<TypeParam>> plain(100, this->kSecret); }
  EXPECT_EQ(returned.blocks, 1);
  EXPECT_EQ(returned.cleared, 0) << "this test would find anything cleared";
}

TYPED_TEST(SecretVectorOf, ClearsTheMemoryItGrowsOutOf) {
  SecretVector<Watched<TypeParam>> secret(8, this->kSecret);
  secret.resize(secret.capacity() + 1);
  this->expect_returned_and_cleared(1);
  EXPECT_TRUE(secret[7] == this->kSecret);
  secret.resize(3);
  secret.shrink_to_fit();
  this->expect_returned_and_cleared(2);
}

TYPED_TEST(SecretVectorOf, ClearsWhatWasErasedToo) {
  {
    SecretVector<Watched<TypeParam>> secret(8, this->kSecret);
    secret.clear();
    this->expect_returned_and_cleared(0);
  }
  this->expect_returned_and_cleared(1);
}

TYPED_TEST(SecretVectorOf, ClearsWhatAnAssignmentReplaces) {
  SecretVector<Watched<TypeParam>> secret(8, this->kSecret);
  secret = SecretVector<Watched<TypeParam>>(3);
  this->expect_returned_and_cleared(1);
}

TYPED_TEST(SecretVectorOf, MovesWithoutACopyLeftBehind) {
  SecretVector<Watched<TypeParam>> secret(8, this->kSecret);
  const auto* const block = secret.data();
  const SecretVector<Watched<TypeParam>> moved = std::move(secret);
  this->expect_returned_and_cleared(0);
  EXPECT_EQ(moved.data(), block);
  EXPECT_EQ(moved.size(), 8U);
}

TEST(SecretVector, BehavesAsAVector) {
  SecretVector<int> v = {3, 1, 2};
  v.push_back(0);
  std::ranges::sort(v);
  EXPECT_EQ(v, (SecretVector<int>{0, 1, 2, 3}));
  SecretVector<int> copy = v;
  copy[0] = 9;
  EXPECT_NE(copy, v);
  copy.swap(v);
  EXPECT_EQ(v.front(), 9);
  v.clear();
  EXPECT_TRUE(v.empty());
  EXPECT_EQ(std::span(copy).size(), 4U);
}

TEST(ClearingAllocator, EqualsEveryOther) {
  const ClearingAllocator<int> ints;
  const ClearingAllocator<double> doubles(ints);
  EXPECT_TRUE(ints == doubles);
  EXPECT_TRUE(ints == ClearingAllocator<int>());
}

}  // namespace
}  // namespace blindfl::secret_test

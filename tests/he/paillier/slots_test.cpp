#include "blindfl/he/paillier/slots.h"

#include <gtest/gtest.h>

#include "blindfl/base/error.h"

namespace blindfl::he::paillier::slots_test {
namespace {

TEST(Slots, CountsWhatFits) {
  EXPECT_EQ(Slots(2047, 120).count(), 17U);
  EXPECT_EQ(Slots(2047, 2047).count(), 1U);
  EXPECT_THROW(Slots(2047, 2048), InvalidArgument);
  EXPECT_THROW(Slots(2047, 1), InvalidArgument);
}

class SlotWidths : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Widths, SlotWidths, ::testing::Values(2, 3, 17, 64, 65, 127, 128, 129, 200, 1000, 2047));

TEST_P(SlotWidths, HoldValuesUpToTheEdgeOfTheirWidth) {
  const Slots slots(2047, GetParam());
  const BigInt most = BigInt::power_of_two(static_cast<std::size_t>(GetParam()) - 1) - BigInt(1);
  const BigInt least = BigInt(0) - most;
  Random random;
  const std::vector<std::function<BigInt(std::size_t)>> patterns{
      [](std::size_t) { return BigInt(0); },
      [&](std::size_t) { return BigInt(most); },
      [&](std::size_t) { return BigInt(least); },
      [&](std::size_t i) { return i % 2 == 0 ? most : least; },
      [&](std::size_t i) { return i % 2 == 0 ? least : most; },
      [&](std::size_t i) { return i == 0 ? BigInt(-1) : BigInt(0); },
      [&](std::size_t) { return BigInt::random_bits(static_cast<std::size_t>(GetParam()), random) - most - BigInt(1); },
  };
  for (std::size_t p = 0; p < patterns.size(); ++p) {
    SCOPED_TRACE(p);
    std::vector<BigInt> values;
    for (std::size_t i = 0; i < slots.count(); ++i) {
      values.push_back(patterns[p](i));
      if (values.back() < least) values.back() = least;
    }
    std::vector<BigInt> unpacked(slots.count());
    EXPECT_TRUE(slots.unpack(slots.pack(std::span<const BigInt>(values)), unpacked));
    EXPECT_EQ(unpacked, values);
  }
}

TEST_P(SlotWidths, AddSlotBySlot) {
  const Slots slots(2047, GetParam());
  // Narrow slots have no room for a sum of other numbers.
  const BigInt half = GetParam() < 4 ? BigInt(0) : BigInt::power_of_two(static_cast<std::size_t>(GetParam()) - 3);
  std::vector<BigInt> a(slots.count(), half);
  std::vector<BigInt> b(slots.count(), BigInt(0) - half - half);
  std::vector<BigInt> sum(slots.count());
  EXPECT_TRUE(slots.unpack(slots.pack(std::span<const BigInt>(a)) + slots.pack(std::span<const BigInt>(b)), sum));
  for (const BigInt& s : sum) EXPECT_EQ(s, BigInt(0) - half);
}

TEST(Slots, RefuseAValueThatOutgrewThem) {
  const Slots slots(2047, 64);
  EXPECT_NO_THROW((void)slots.pack(std::vector<BigInt>{BigInt::power_of_two(62)}));
  EXPECT_THROW((void)slots.pack(std::vector<BigInt>{BigInt::power_of_two(64)}), InvalidArgument);
  EXPECT_THROW((void)slots.pack(std::vector<BigInt>(slots.count() + 1)), InvalidArgument);
}

TEST(Slots, TellWhatIsNotASumOfThem) {
  const Slots slots(2047, 100);
  std::vector<BigInt> values(3);
  EXPECT_TRUE(slots.unpack(BigInt::power_of_two(298), values));
  EXPECT_FALSE(slots.unpack(BigInt::power_of_two(299), values));
  EXPECT_FALSE(slots.unpack(BigInt(0) - BigInt::power_of_two(300), values));
}

TEST(Slots, TakeSignedIntegersOf128Bits) {
  const Slots slots(2047, 130);
  const auto least = static_cast<Int128>(UInt128{1} << 127);
  const std::vector<Int128> values{0, 1, -1, least, -(least + 1)};
  std::vector<BigInt> unpacked(values.size());
  EXPECT_TRUE(slots.unpack(slots.pack(std::span<const Int128>(values)), unpacked));
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(low128(unpacked[i]), static_cast<UInt128>(values[i]));
}

}  // namespace
}  // namespace blindfl::he::paillier::slots_test

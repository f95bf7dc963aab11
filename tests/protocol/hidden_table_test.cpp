#include "blindfl/protocol/align/hidden_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/protocol/align/zero_shares.h"
#include "protocol/psi_all_fixture.h"
#include "testing/thrown.h"
#include "testing/uniformity.h"

namespace blindfl::protocol::hidden_table_test {
namespace {

using ::testing::HasSubstr;

FieldElement power(FieldElement base, int exponent) {
  FieldElement result = 1;
  for (int i = 0; i < exponent; ++i) result = field_product(result, base);
  return result;
}

TEST(FieldElement, AddsAndMultipliesModuloThePrime) {
  const FieldElement most = kFieldPrime - 1;
  EXPECT_EQ(reduced(kFieldPrime), 0U);
  EXPECT_EQ(reduced(~UInt128{0}), 1U);
  EXPECT_EQ(field_sum(most, 1), 0U);
  EXPECT_EQ(field_sum(most, most), kFieldPrime - 2);
  EXPECT_EQ(field_difference(0, 1), most);
  EXPECT_EQ(field_difference(5, 5), 0U);
  EXPECT_EQ(field_product(most, most), 1U);
  EXPECT_EQ(field_product(most, 0), 0U);
  // 2 to the 127th is 1.
  EXPECT_EQ(power(2, 127), 1U);
  EXPECT_EQ(power(2, 126), UInt128{1} << 126);
  // Worked out with long integers elsewhere.
  EXPECT_EQ(power(3, 200), UInt128{0x8221debd28e3482} << 64 | 0xd638cb0c2ea5d889);
  EXPECT_EQ(field_product(power(5, 100), power(7, 90)), UInt128{0x3d1b199164f850c4} << 64 | 0xe9a9875740b60f90);
}

TEST(FieldElement, HasAnInverse) {
  Random random;
  for (int i = 0; i < 100; ++i) {
    const FieldElement a = random_field_element(random);
    EXPECT_EQ(field_product(a, field_inverse(a)), 1U);
  }
  EXPECT_EQ(field_inverse(kFieldPrime - 1), kFieldPrime - 1);
}

TEST(FieldElement, OfBytesIsLittleEndianAndBelowThePrime) {
  std::array<std::byte, 16> bytes{std::byte{5}, std::byte{1}};
  EXPECT_EQ(field_element_of(bytes), 261U);
  bytes.fill(std::byte{0xFF});
  EXPECT_EQ(field_element_of(bytes), 0U);
}

std::vector<HiddenEntry> random_entries(std::size_t count, Random& random) {
  std::vector<HiddenEntry> entries(count);
  for (HiddenEntry& entry : entries) {
    entry = {{random.next_u64(), random_field_element(random)}, random_field_element(random)};
  }
  return entries;
}

TEST(HiddenTable, GivesEachKeysValue) {
  Random random;
  ThreadPool pool(2);
  for (const std::size_t count : {0U, 1U, 2U, 255U, 256U, 257U, 1000U, 3000U}) {
    const std::vector<HiddenEntry> entries = random_entries(count, random);
    const auto table = HiddenTable::of(entries, random, pool);
    ASSERT_TRUE(table);
    const HiddenShape shape = HiddenShape::of(count);
    ASSERT_EQ(table->numbers().size(), shape.numbers());
    const HiddenTable arrived(shape, {table->numbers().begin(), table->numbers().end()});
    for (const HiddenEntry& entry : entries) EXPECT_EQ(arrived.at(entry.key), entry.value);
    for (const HiddenEntry& other : random_entries(100, random)) EXPECT_NE(arrived.at(other.key), other.value);
  }
}

TEST(HiddenTable, IsAsLargeAsItsNumberOfKeysSays) {
  EXPECT_EQ(HiddenShape::of(0).numbers(), 1U);
  EXPECT_EQ(HiddenShape::of(1).numbers(), 1U);
  EXPECT_EQ(HiddenShape::of(256).numbers(), 256U);
  EXPECT_EQ(HiddenShape::of(257).numbers(), 2U * 416);
  EXPECT_EQ(HiddenShape::of(kMostIds).bins, std::uint64_t{1} << 18);
  // Bernstein's inequality, as the header says: no bin of the largest table overflows but with a chance of 2^-41.
  const double more = HiddenShape::kMostPerBin - HiddenShape::kKeysPerBin;
  const double chance = std::exp(-more * more / (2 * (HiddenShape::kKeysPerBin + more / 3)));
  EXPECT_LT(chance * (1 << 18), std::exp2(-41));
}

TEST(HiddenTable, IsRefusedWhereABinOverflowsOrTwoKeysAreEqual) {
  Random random;
  ThreadPool pool;
  std::vector<HiddenEntry> entries = random_entries(600, random);
  entries[7].key = entries[411].key;
  EXPECT_FALSE(HiddenTable::of(entries, random, pool));
  entries = random_entries(600, random);
  for (HiddenEntry& entry : entries) entry.key.bin = 3;
  EXPECT_FALSE(HiddenTable::of(entries, random, pool));
}

/// Numbers of tables of one key set each time with new random values; or of all zeros.
std::vector<UInt128> numbers_of(std::span<const HiddenEntry> keys, bool random_values, Random& random) {
  ThreadPool pool;
  std::vector<UInt128> numbers;
  for (int i = 0; i < 40; ++i) {
    std::vector<HiddenEntry> entries(keys.begin(), keys.end());
    for (HiddenEntry& entry : entries) entry.value = random_values ? random_field_element(random) : 0;
    const auto table = HiddenTable::of(entries, random, pool);
    numbers.insert(numbers.end(), table->numbers().begin(), table->numbers().end());
  }
  return numbers;
}

TEST(HiddenTable, OfRandomValuesIsRandomWhateverTheKeys) {
  Random random;
  // Keys as unlike random ones as can be.
  std::vector<HiddenEntry> keys(200);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i].key.node = i;
  EXPECT_TRUE(testing::looks_uniform<UInt128>(numbers_of(keys, true, random), 127));
  // In bins, what the keys leave open is random too.
  std::vector<HiddenEntry> in_bins(600);
  for (std::size_t i = 0; i < in_bins.size(); ++i) in_bins[i].key = {i * (~std::uint64_t{0} / 600), i};
  EXPECT_TRUE(testing::looks_uniform<UInt128>(numbers_of(in_bins, true, random), 127));
  // Where the values are not random, the test sees it.
  EXPECT_FALSE(testing::looks_uniform<UInt128>(numbers_of(keys, false, random), 127));
}

TEST(HiddenTable, OfAnotherShapeIsRefused) {
  EXPECT_THROW(HiddenTable(HiddenShape::of(5), std::vector<FieldElement>(4)), InvalidArgument);
}

TEST(HiddenTable, IsOfNumbersBelowThePrime) {
  const std::vector<UInt128> right{0, 1, kFieldPrime - 1};
  EXPECT_NO_THROW(check_field_elements(right));
  for (const UInt128 wrong : {kFieldPrime, ~UInt128{0}}) {
    const std::vector<UInt128> numbers{0, wrong};
    EXPECT_THROW(check_field_elements(numbers), ProtocolError);
  }
}

class SharesOfZero : public ::testing::TestWithParam<std::size_t> {
 protected:
  std::vector<ZeroShares> shares(const Nonces& nonces) {
    std::vector<ZeroShares> all;
    for (std::size_t a = 0; a < GetParam(); ++a) all.emplace_back(peers_[a], nonces[a], nonces);
    return all;
  }
  Nonces nonces() {
    Nonces all(GetParam());
    for (Nonce& nonce : all) random_.fill(nonce);
    return all;
  }

  Random random_;
  std::vector<AlignedPeers> peers_ = peers_of(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Parties, SharesOfZero, ::testing::Values(2, 3, 5), ::testing::PrintToStringParamName());

TEST_P(SharesOfZero, AddUpToZeroOverAllAndOverNoFewer) {
  const std::vector<ZeroShares> all = shares(nonces());
  for (const std::string id : {"", "anna", "bert"}) {
    for (std::uint32_t subset = 1; subset < 1U << GetParam(); ++subset) {
      FieldElement sum = 0;
      for (std::size_t a = 0; a < all.size(); ++a) {
        if ((subset >> a & 1U) != 0) sum = field_sum(sum, all[a].of(id));
      }
      EXPECT_EQ(sum == 0, subset == (1U << GetParam()) - 1) << subset;
    }
  }
}

TEST_P(SharesOfZero, AreOthersInEachAlignmentThoughTheSecretsAreTheSame) {
  const Nonces first = nonces();
  const std::vector<ZeroShares> one = shares(first);
  const std::vector<ZeroShares> again = shares(first);
  for (std::size_t changed = 0; changed < GetParam(); ++changed) {
    Nonces second = first;
    random_.fill(second[changed]);
    const std::vector<ZeroShares> other = shares(second);
    for (std::size_t a = 0; a < GetParam(); ++a) {
      EXPECT_NE(one[a].of("anna"), other[a].of("anna"));
      EXPECT_EQ(one[a].of("anna"), again[a].of("anna"));
      const std::vector<std::string> ids{"anna"};
      EXPECT_NE(one[a].of_order(ids, std::vector<std::uint32_t>{0}),
                other[a].of_order(ids, std::vector<std::uint32_t>{0}));
    }
  }
}

TEST_P(SharesOfZero, OfAnOrderAddUpOnlyWhereItIsTheSameOrderOfTheSameIds) {
  const std::vector<ZeroShares> all = shares(nonces());
  const std::vector<std::string> ids{"a", "bc", "ab", "c"};
  using Rows = std::vector<std::uint32_t>;
  const auto is_zero = [&](const Rows& of_first, const Rows& of_others) {
    FieldElement sum = all[0].of_order(ids, of_first);
    for (std::size_t a = 1; a < all.size(); ++a) sum = field_sum(sum, all[a].of_order(ids, of_others));
    return sum == 0;
  };
  EXPECT_TRUE(is_zero({}, {}));
  EXPECT_TRUE(is_zero({2, 0, 1}, {2, 0, 1}));
  EXPECT_FALSE(is_zero({2, 0, 1}, {0, 2, 1}));
  EXPECT_FALSE(is_zero({2, 0}, {2, 0, 1}));
  EXPECT_FALSE(is_zero({}, {0}));
  // The same letters, cut elsewhere.
  EXPECT_FALSE(is_zero({0, 1}, {2, 3}));
}

TEST_P(SharesOfZero, ProveAnOrderToEachOtherAAndToNoneForAnother) {
  const std::vector<ZeroShares> all = shares(nonces());
  const std::vector<std::string> ids{"a", "bc", "ab", "c"};
  using Rows = std::vector<std::uint32_t>;
  const auto other_of = [](std::size_t of, std::size_t other) { return other < of ? other : other - 1; };
  for (std::size_t by = 0; by < all.size(); ++by) {
    const auto proofs = all[by].order_proofs(ids, Rows{2, 0});
    ASSERT_EQ(proofs.size(), all.size() - 1);
    for (std::size_t to = 0; to < all.size(); ++to) {
      if (to == by) continue;
      const FieldElement proof = proofs[other_of(by, to)];
      EXPECT_EQ(proof, all[to].expected_proofs(ids, Rows{2, 0})[other_of(to, by)]);
      EXPECT_NE(proof, all[to].expected_proofs(ids, Rows{0, 2})[other_of(to, by)]);
      EXPECT_NE(proof, all[to].expected_proofs(ids, Rows{2})[other_of(to, by)]);
      // What one said is no answer to it.
      EXPECT_NE(proof, all[by].expected_proofs(ids, Rows{2, 0})[other_of(by, to)]);
    }
  }
}

TEST_P(SharesOfZero, RefuseNoncesThatAreNotOfThisAlignment) {
  const Nonces right = nonces();
  const auto words = [&](const Nonces& nonces) {
    return testing::message_of<ProtocolError>([&] { ZeroShares(peers_[0], right[0], nonces); });
  };
  Nonces wrong = right;
  std::swap(wrong[0], wrong[1]);
  EXPECT_THAT(words(wrong), HasSubstr("came back as another"));
  wrong = right;
  random_.fill(wrong[0]);
  EXPECT_THAT(words(wrong), HasSubstr("came back as another"));
  wrong = right;
  wrong[1] = right[0];
  EXPECT_THAT(words(wrong), HasSubstr("the same random number"));
  wrong = right;
  wrong.pop_back();
  EXPECT_THAT(words(wrong), HasSubstr("a random number of each"));
}

}  // namespace
}  // namespace blindfl::protocol::hidden_table_test

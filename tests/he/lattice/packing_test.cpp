#include "blindfl/he/lattice/packing.h"

#include <gtest/gtest.h>

#include <vector>

#include "blindfl/base/random.h"

namespace blindfl::he::lattice {
namespace {

TEST(Packing, GivesBackWhatWasPackedForEveryWidth) {
  SeededRandom random(1);
  for (int bits = 20; bits <= 49; ++bits) {
    for (const std::size_t count : {kPackedBlock, 4 * kPackedBlock}) {
      std::vector<std::uint64_t> values(count);
      for (auto& v : values) v = random.below(std::uint64_t{1} << bits);
      values[0] = (std::uint64_t{1} << bits) - 1;
      std::vector<std::uint64_t> words(packed_bytes(count, bits) / 8, ~std::uint64_t{0});
      pack(values, bits, words);
      std::vector<std::uint64_t> back(count);
      unpack(words, bits, back);
      EXPECT_EQ(back, values) << bits << " bits";
    }
  }
}

TEST(Packing, PutsLanesSideBySideLowestBitFirst) {
  std::vector<std::uint64_t> values(kPackedBlock);
  values[3] = 5;      // lane 3, row 0
  values[8 + 3] = 1;  // lane 3, row 1
  std::vector<std::uint64_t> words(packed_bytes(kPackedBlock, 35) / 8);
  pack(values, 35, words);
  EXPECT_EQ(words[3], 5 + (std::uint64_t{1} << 35));
  EXPECT_EQ(words[2], 0U);
}

}  // namespace
}  // namespace blindfl::he::lattice

// Every set of kernels against the definition, by OpenSSL's AES one block at a time; and so against each other.

#include "blindfl/ot/kernels.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <array>
#include <string>

#include "blindfl/base/error.h"
#include "blindfl/base/random.h"
#include "blindfl/ot/session.h"
#include "ot/ot_pair.h"

namespace blindfl::ot::kernels_test {
namespace {

Block aes(const Block& key, const Block& in) {
  EVP_CIPHER_CTX* const context = EVP_CIPHER_CTX_new();
  Block out;
  int written = 0;
  EVP_EncryptInit_ex(context, EVP_aes_128_ecb(), nullptr, reinterpret_cast<const unsigned char*>(&key), nullptr);
  EVP_EncryptUpdate(context, reinterpret_cast<unsigned char*>(&out), &written,
                    reinterpret_cast<const unsigned char*>(&in), sizeof in);
  EVP_CIPHER_CTX_free(context);
  return out;
}

class KernelSet : public ::testing::TestWithParam<std::string> {
 protected:
  SecretBlocks random_blocks(std::size_t n) {
    SecretBlocks blocks(n);
    random_.fill(std::as_writable_bytes(std::span(blocks)));
    return blocks;
  }
  const Kernels& kernels_ = kernels_by_name(GetParam());
  Random random_;
};

TEST_P(KernelSet, EncryptsAsTheStandardSays) {
  // FIPS 197, appendix B.
  const std::array<unsigned char, 16> key = {0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6,
                                             0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c};
  const std::array<unsigned char, 16> in = {0x32, 0x43, 0xf6, 0xa8, 0x88, 0x5a, 0x30, 0x8d,
                                            0x31, 0x31, 0x98, 0xa2, 0xe0, 0x37, 0x07, 0x34};
  const std::array<unsigned char, 16> expected = {0x39, 0x25, 0x84, 0x1d, 0x02, 0xdc, 0x09, 0xfb,
                                                  0xdc, 0x11, 0x85, 0x97, 0x19, 0x6a, 0x0b, 0x32};
  Block block;
  std::memcpy(&block, key.data(), sizeof block);
  const CipherKeys keys(kernels_, &block, 1);
  std::memcpy(&block, in.data(), sizeof block);
  kernels_.encrypt(keys.at(0), &block, &block, 1);
  EXPECT_EQ(std::memcmp(&block, expected.data(), sizeof block), 0);
}

TEST_P(KernelSet, EncryptsUnderEachOfManyKeys) {
  const SecretBlocks keys = random_blocks(37);
  const SecretBlocks in = random_blocks(5);
  const CipherKeys expanded(kernels_, keys.data(), keys.size());
  for (std::size_t k = 0; k < keys.size(); ++k) {
    SecretBlocks out(in.size());
    kernels_.encrypt(expanded.at(k), in.data(), out.data(), in.size());
    for (std::size_t i = 0; i < in.size(); ++i) EXPECT_EQ(out[i], aes(keys[k], in[i]));
  }
}

TEST_P(KernelSet, FoldsStreamsByTheBitsOfTheLeaves) {
  for (const int depth : {2, 4, 8}) {
    const SecretBlocks keys = random_blocks(std::size_t{1} << depth);
    const CipherKeys expanded(kernels_, keys.data(), keys.size());
    const Block counter{0xFFFFFFFFFFFFFFF8, random_.next_u64()};  // the counter passes 2^64
    for (const bool first_unknown : {false, true}) {
      AlignedVector<std::byte> rows(static_cast<std::size_t>(depth) * kRowBytes);
      AlignedVector<std::byte> sum(kRowBytes);
      kernels_.fold(expanded.at(0), depth, first_unknown, counter, rows.data(), sum.data());
      for (std::uint64_t i = 0; i < kRowBytes / 16; ++i) {
        std::vector<Block> expected(static_cast<std::size_t>(depth) + 1);
        for (std::size_t y = first_unknown ? 1 : 0; y < keys.size(); ++y) {
          const Block stream = aes(keys[y], {counter.low + i, counter.high});
          for (int j = 0; j < depth; ++j) expected[static_cast<std::size_t>(j)] ^= stream & mask_of(y >> j & 1);
          expected.back() ^= stream;
        }
        for (std::size_t j = 0; j < static_cast<std::size_t>(depth); ++j) {
          EXPECT_EQ(std::memcmp(rows.data() + j * kRowBytes + 16 * i, &expected[j], 16), 0) << depth << ' ' << j;
        }
        EXPECT_EQ(std::memcmp(sum.data() + 16 * i, &expected.back(), 16), 0) << depth;
      }
    }
  }
}

TEST_P(KernelSet, TransposesBitByBit) {
  AlignedVector<std::byte> rows(kBaseOts * kRowBytes);
  random_.fill(rows);
  SecretBlocks out(kTileOts);
  kernels_.transpose(rows.data(), out.data());
  for (std::size_t c = 0; c < kTileOts; ++c) {
    Block expected{};
    for (std::size_t r = 0; r < kBaseOts; ++r) {
      const std::uint64_t bit = std::to_integer<std::uint64_t>(rows[r * kRowBytes + c / 8]) >> (c % 8) & 1;
      (r < 64 ? expected.low : expected.high) |= bit << (r % 64);
    }
    ASSERT_EQ(out[c], expected) << c;
  }
}

TEST_P(KernelSet, HashesAnyRangeWithItsTweak) {
  const SecretBlocks key = random_blocks(1);
  const CipherKeys expanded(kernels_, key.data(), 1);
  const Block offset = random_blocks(1)[0];
  for (const std::size_t count : {0, 1, 3, 4, 7, 8, 31, 32, 33, 130}) {
    const SecretBlocks in = random_blocks(count + 1);
    SecretBlocks out = random_blocks(count + 1);
    const Block behind = out[count];
    kernels_.hash(expanded.at(0), in.data(), offset, out.data(), 77, count, 5);
    for (std::size_t i = 0; i < count; ++i) {
      const Block once = aes(key[0], in[i] ^ offset);
      EXPECT_EQ(out[i], aes(key[0], once ^ Block{77 + i, 5}) ^ once) << i << " of " << count;
    }
    EXPECT_EQ(out[count], behind) << "nothing is written behind the last of " << count;
  }
}

TEST_P(KernelSet, GrowsEightTreesSideBySide) {
  const SecretBlocks key = random_blocks(1);
  const CipherKeys expanded(kernels_, key.data(), 1);
  for (const std::size_t count : {1, 2, 3, 8, 13}) {
    const SecretBlocks parents = random_blocks(8 * count);
    SecretBlocks children = random_blocks(16 * count + 1);
    const Block behind = children[16 * count];
    std::array<Block, 16> sums;
    kernels_.grow(expanded.at(0), parents.data(), count, 40, children.data(), sums.data());
    std::array<Block, 16> expected{};
    for (std::size_t i = 0; i < 16 * count; ++i) {
      const Block parent = parents[i / 16 * 8 + i % 8];
      ASSERT_EQ(children[i], aes(key[0], parent ^ Block{i / 8 % 2, 40 + i % 8}) ^ parent) << i << " of " << count;
      expected[i % 16] ^= children[i];
    }
    EXPECT_EQ(sums, expected);
    EXPECT_EQ(children[16 * count], behind);
  }
}

template <class Word>
void expect_rows_are_added(const Kernels& kernels, Random& random, std::size_t blocks, std::size_t trees, bool spread) {
  constexpr std::size_t kLeaves = 5;
  constexpr std::size_t kColumns = 7;
  constexpr std::size_t kWords = sizeof(Block) / sizeof(Word);
  SecretBlocks drawn(8 * kLeaves + 1);
  random.fill(std::as_writable_bytes(std::span(drawn)));
  const CipherKeys key(kernels, &drawn.back(), 1);
  std::vector<std::uint32_t> to(8 * kLeaves);
  for (auto& column : to) column = static_cast<std::uint32_t>(random.below(kColumns));
  AlignedVector<Word> columns((kColumns + 1) * blocks * kWords);
  AlignedVector<Word> sums(9 * blocks * kWords);
  random.fill_integers(std::span(columns));
  random.fill_integers(std::span(sums));
  // Carries run through all bits where sums are just below 2^64 and 2^128.
  columns[0] = ~Word{0};
  sums[0] = ~std::uint64_t{0};
  AlignedVector<Word> expected_columns = columns;
  AlignedVector<Word> expected_sums = sums;
  for (std::size_t i = 0; i < kLeaves * trees * blocks; ++i) {
    const std::size_t block = i % blocks;
    const std::size_t q = i / blocks % trees;
    const std::size_t v = i / blocks / trees;
    const Block leaf = drawn[8 * v + q];
    const Block made = aes(drawn.back(), leaf ^ Block{block, 16 + q}) ^ leaf;
    std::array<Word, kWords> words;
    std::memcpy(words.data(), &made, sizeof made);
    for (std::size_t w = 0; w < kWords; ++w) {
      expected_columns[((spread ? to[8 * v + q] : v) * blocks + block) * kWords + w] += words[w];
      expected_sums[(q * blocks + block) * kWords + w] += words[w];
    }
  }
  kernels.add_rows(key.at(0), {.leaves = drawn.data(),
                               .count = kLeaves,
                               .trees = trees,
                               .first = 16,
                               .blocks = blocks,
                               .wide = sizeof(Word) == 16,
                               .to = spread ? to.data() : nullptr,
                               .columns = reinterpret_cast<std::byte*>(columns.data()),
                               .sums = reinterpret_cast<std::byte*>(sums.data())});
  EXPECT_TRUE(columns == expected_columns) << blocks << ' ' << trees << ' ' << spread;
  EXPECT_TRUE(sums == expected_sums) << blocks << ' ' << trees << ' ' << spread;
}

TEST_P(KernelSet, AddsTheRowsOfLeavesAsNumbers) {
  for (const std::size_t blocks : {1, 2, 3, 4, 5, 8, 11, 16}) {
    for (const std::size_t trees : {1, 5, 8}) {
      for (const bool spread : {false, true}) {
        expect_rows_are_added<std::uint64_t>(kernels_, random_, blocks, trees, spread);
        expect_rows_are_added<UInt128>(kernels_, random_, blocks, trees, spread);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, KernelSet, ::testing::ValuesIn(kernel_names()),
                         [](const auto& info) { return info.param; });

TEST(Kernels, ThePortableOnesAreAlwaysThere) {
  EXPECT_EQ(available_kernels().back(), &portable_kernels());
  EXPECT_THROW((void)kernels_by_name("no such"), InvalidArgument);
}

TEST(Kernels, KeysMoveAndAreFreedOnce) {
  for (const Kernels* kernels : available_kernels()) {
    const SecretBlocks seeds(3, Block{});
    CipherKeys first(*kernels, seeds.data(), 3);
    CipherKeys second(std::move(first));
    CipherKeys third(*kernels, seeds.data(), 2);
    third = std::move(second);
    Block out;
    const Block in{1, 2};
    kernels->encrypt(third.at(2), &in, &out, 1);
    EXPECT_EQ(out, aes({}, in));
  }
}

}  // namespace
}  // namespace blindfl::ot::kernels_test

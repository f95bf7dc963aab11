#include "blindfl/base/aes_ctr.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "blindfl/base/bytes.h"
#include "blindfl/base/error.h"

namespace blindfl::aes_ctr_test {
namespace {

using Key = std::array<std::byte, AesCtr::kKeyBytes>;

Key counting_key(unsigned first) {
  Key key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(first + 7 * i);
  return key;
}

Bytes bytes_of(std::string_view digits) {
  Bytes bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoul(std::string(digits.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

Bytes draw(AesCtr& stream, std::size_t bytes) {
  Bytes out(bytes);
  stream.fill(out);
  return out;
}

class Implementation : public ::testing::TestWithParam<std::string> {};

// Counter mode encrypts the numbers 0, 1, 2 and so on, highest byte first.
TEST_P(Implementation, GivesTheSameBytesAsOpenssl) {
  for (const unsigned first : {0U, 1U, 200U}) {
    const auto mine = AesCtr::make(GetParam(), counting_key(first));
    const auto openssl = AesCtr::make("openssl", counting_key(first));
    // Every number of blocks that a vector loop may end with, and past the counter's lowest byte.
    for (std::size_t chunks : {1, 2, 3, 5, 7, 8, 9, 16, 17, 70}) {
      EXPECT_EQ(draw(*mine, chunks * AesCtr::kChunk), draw(*openssl, chunks * AesCtr::kChunk)) << chunks;
    }
  }
}

// The first block encrypts zeros, as NIST's KeySbox and VarKey vectors for AES-256 do (AESAVS, appendices C and E).
TEST_P(Implementation, GivesTheBytesOfTheStandard) {
  const std::pair<std::string_view, std::string_view> vectors[] = {
      {"c47b0294dbbbee0fec4757f22ffeee3587ca4730c3d33b691df38bab076bc558", "46f2fb342d6f0ab477476fc501242c5f"},
      {"28d46cffa158533194214a91e712fc2b45b518076675affd910edeca5f41ac64", "4bf3b0a69aeb6657794f2901b1440ad4"},
      {"8000000000000000000000000000000000000000000000000000000000000000", "e35a6dcb19b201a01ebcfa8aa22b5759"},
      {"ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff", "4bf85f1b5d54adbc307b0a048389adcb"}};
  for (const auto& [key, block] : vectors) {
    const Bytes bytes = bytes_of(key);
    Key used;
    std::ranges::copy(bytes, used.begin());
    const auto stream = AesCtr::make(GetParam(), used);
    Bytes first = draw(*stream, AesCtr::kChunk);
    first.resize(16);
    EXPECT_EQ(first, bytes_of(block)) << key;
  }
}

TEST_P(Implementation, WritesNothingBeyondItsEnd) {
  const auto stream = AesCtr::make(GetParam(), counting_key(3));
  Bytes out(4 * AesCtr::kChunk, std::byte{0x5A});
  stream->fill(std::span(out).subspan(AesCtr::kChunk, AesCtr::kChunk));
  stream->fill(std::span(out).first(0));
  for (std::size_t i = 0; i < out.size(); ++i) {
    EXPECT_TRUE(i / AesCtr::kChunk == 1 || out[i] == std::byte{0x5A}) << i;
  }
}

TEST(AesCtr, RefusesWhatItDoesNotHave) {
  EXPECT_EQ(AesCtr::implementations().back(), "openssl");
  EXPECT_THROW((void)AesCtr::make("enigma", Key{}), InvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(All, Implementation, ::testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const auto name : AesCtr::implementations()) names.emplace_back(name);
                           return names;
                         }()),
                         [](const auto& name) { return name.param; });

}  // namespace
}  // namespace blindfl::aes_ctr_test

#include "blindfl/base/aes_ctr.h"

#include <gtest/gtest.h>

#include <string>

#include "blindfl/base/bytes.h"
#include "blindfl/base/error.h"

namespace blindfl {
namespace {

using Key = std::array<std::byte, AesCtr::kKeyBytes>;

Key counting_key(unsigned first) {
  Key key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(first + 7 * i);
  return key;
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
}  // namespace blindfl

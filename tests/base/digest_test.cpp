#include "blindfl/base/digest.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "blindfl/base/error.h"

namespace blindfl {
namespace {

std::string hex(const Bytes& bytes) {
  std::string text;
  for (const std::byte b : bytes) {
    char digits[3];
    (void)std::snprintf(digits, sizeof digits, "%02x", std::to_integer<unsigned>(b));
    text += digits;
  }
  return text;
}

TEST(Digest, IsSha256) {
  EXPECT_EQ(hex(digest_of("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(digest_of("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest_of("abc").size(), kDigestBytes);
}

TEST(Digest, OfPiecesIsThatOfTheWhole) {
  DigestOfPieces pieces;
  pieces.add(as_bytes("a"));
  pieces.add({});
  pieces.add(as_bytes("bc"));
  EXPECT_EQ(pieces.finish(), digest_of("abc"));
  EXPECT_THROW(pieces.add({}), InvalidArgument);
  EXPECT_THROW((void)pieces.finish(), InvalidArgument);
  EXPECT_EQ(DigestOfPieces().finish(), digest_of(""));
}

}  // namespace
}  // namespace blindfl

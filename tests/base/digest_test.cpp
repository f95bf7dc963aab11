#include "blindfl/base/digest.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "blindfl/base/error.h"

namespace blindfl::digest_test {
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

TEST(Digest, WithAKeyIsHmacSha256) {
  // RFC 4231, cases 1, 2 and 6.
  EXPECT_EQ(hex(keyed_digest_of(Bytes(20, std::byte{0x0b}), as_bytes("Hi There"))),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hex(keyed_digest_of(as_bytes("Jefe"), as_bytes("what do ya want for nothing?"))),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(keyed_digest_of(Bytes(131, std::byte{0xaa}),
                                as_bytes("Test Using Larger Than Block-Size Key - Hash Key First"))),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
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
}  // namespace blindfl::digest_test

#include "blindfl/base/text.h"

#include <gtest/gtest.h>

namespace blindfl::text_test {
namespace {

TEST(Text, WritesBytesAsHexadecimalDigits) {
  EXPECT_EQ(to_hex({}), "");
  EXPECT_EQ(to_hex(Bytes{std::byte{0x00}, std::byte{0x0F}, std::byte{0xA5}, std::byte{0xFF}}), "000fa5ff");
}

TEST(Text, TellsAndReplacesWhatCannotBePrinted) {
  EXPECT_TRUE(is_printable(""));
  EXPECT_TRUE(is_printable(" az~"));
  for (const std::string_view bad : {"\n", "a\x1b", "\x7f", "\x80", "tab\t"}) EXPECT_FALSE(is_printable(bad));
  EXPECT_EQ(printable("a\x1b[2J\n\xFF~ "), "a?[2J??~ ");
}

}  // namespace
}  // namespace blindfl::text_test

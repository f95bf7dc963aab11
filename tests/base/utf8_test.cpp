#include "blindfl/base/utf8.h"

#include <gtest/gtest.h>

#include "blindfl/base/error.h"

namespace blindfl::utf8_test {
namespace {

TEST(Utf8, KnowsHowLongACharacterIs) {
  EXPECT_EQ(utf8_length("a"), 1U);
  EXPECT_EQ(utf8_length(std::string_view("\0", 1)), 1U);
  EXPECT_EQ(utf8_length("\xC3\xA4rger"), 2U);
  EXPECT_EQ(utf8_length("\xE2\x82\xAC"), 3U);
  EXPECT_EQ(utf8_length("\xF0\x9F\x98\x80!"), 4U);
  EXPECT_EQ(utf8_length("\xF4\x8F\xBF\xBF"), 4U);
}

TEST(Utf8, KnowsWhatIsNoCharacter) {
  for (const std::string_view bad :
       {"", "\x80", "\xBF", "\xC3", "\xC3(", "\xE2\x82", "\xE2(\xAC", "\xF0\x9F\x98", "\xF8\x88\x80\x80\x80", "\xFF",
        // Longer than need be, surrogates, beyond the last.
        "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xE0\x9F\xBF", "\xF0\x80\x80\x80", "\xF0\x8F\xBF\xBF", "\xED\xA0\x80",
        "\xED\xBF\xBF", "\xF4\x90\x80\x80", "\xF7\xBF\xBF\xBF"}) {
    EXPECT_EQ(utf8_length(bad), 0U) << ::testing::PrintToString(bad);
  }
}

TEST(Utf8, KnowsWholeTexts) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("\xC3\xA4 \xE2\x82\xAC"));
  EXPECT_FALSE(is_utf8("a\xC3"));
  EXPECT_FALSE(is_utf8("\xFF!"));
}

TEST(Utf8, WritesWhatItReads) {
  for (const char32_t c :
       {U'\0', U'a', U'\x7F', U'\x80', U'\x7FF', U'\x800', U'\xD7FF', U'\xE000', U'\xFFFF', U'\x10000', U'\x10FFFF'}) {
    std::string text;
    append_utf8(text, c);
    EXPECT_EQ(utf8_length(text), text.size());
  }
  std::string text = "1 ";
  append_utf8(text, U'\x20AC');
  EXPECT_EQ(text, "1 \xE2\x82\xAC");
  for (const auto c : {0xD800U, 0xDFFFU, 0x110000U}) {
    EXPECT_THROW(append_utf8(text, static_cast<char32_t>(c)), InvalidArgument);
  }
}

}  // namespace
}  // namespace blindfl::utf8_test

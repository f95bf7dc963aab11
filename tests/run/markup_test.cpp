#include "blindfl/run/markup.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <string>

#include "blindfl/base/error.h"
#include "run/well_formed.h"

namespace blindfl::run::markup_test {
namespace {

using blindfl::testing::Page;

TEST(HtmlEscaped, LeavesNoMarkup) {
  EXPECT_EQ(html_escaped("<a href=\"x\">&'b'</a>"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;b&#39;&lt;/a&gt;");
  EXPECT_EQ(html_escaped("\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80\n\t"), "\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80\n\t");
}

TEST(HtmlEscaped, ReplacesWhatIsNoCharacterOfAPage) {
  const std::string_view replacement = "\xEF\xBF\xBD";
  for (const std::string& bad : {std::string(1, '\0'), std::string("\x1B"), std::string("\r"), std::string("\x7F"),
                                 std::string("\xFF"), std::string("\xC2\x85"), std::string("\xEF\xBF\xBE")}) {
    EXPECT_EQ(html_escaped(bad), replacement) << ::testing::PrintToString(bad);
  }
  EXPECT_EQ(html_escaped("\xC0\xBCscript>"), std::string("\xEF\xBF\xBD\xEF\xBF\xBDscript&gt;")) << "a hidden bracket";
}

TEST(Markup, EndsWhatItBegins) {
  Markup out;
  out.open("div", {{"class", "a&b"}, {"title", ""}}).element("b", "1 < 2").leaf("br", {}).text("\"end\"").close();
  EXPECT_EQ(out.take(), "<div class=\"a&amp;b\"><b>1 &lt; 2</b>\n<br/>\n&quot;end&quot;</div>\n");
  EXPECT_THROW(Markup().close(), InvalidArgument);
  Markup open;
  open.open("p");
  EXPECT_THROW((void)open.take(), InvalidArgument);
}

TEST(Page, NoticesWhatIsNotWellFormed) {
  EXPECT_TRUE(Page("<!DOCTYPE html>\n<a b=\"c\"><d/>&amp;</a>").is_well_formed());
  for (const char* bad :
       {"<a>", "</a>", "<a></b>", "<a><b></a></b>", "<a b=c></a>", "<a b></a>", "<a b=\"<\"></a>", "<a>>",
        "<a>&nbsp;</a>", "<a>&</a>", "<a b=\"1\" b=\"2\"/>", "words", "<a>\"</a>", "< a/>", "<a"}) {
    EXPECT_NONFATAL_FAILURE({ EXPECT_FALSE(Page(bad).is_well_formed()); }, " near: ");
  }
}

}  // namespace
}  // namespace blindfl::run::markup_test

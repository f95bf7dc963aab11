#include "blindfl/run/attack_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "blindfl/run/report.h"
#include "run/sample_attacks.h"
#include "run/sample_reports.h"
#include "run/well_formed.h"

namespace blindfl::run::attack_page_test {
namespace {

using blindfl::testing::Page;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

AttackFigure figure(double value, Works works) {
  AttackFigure figure;
  figure.value = value;
  figure.chance = 0.5;
  figure.standard_error = 0.1;
  figure.works = works;
  return figure;
}

TEST(AttackPage, TakesThreeStandardErrorsOnTheRightSideForMoreThanChance) {
  EXPECT_TRUE(gives_away(figure(0.81, Works::kAbove)));
  EXPECT_FALSE(gives_away(figure(0.79, Works::kAbove)));
  EXPECT_FALSE(gives_away(figure(0.1, Works::kAbove)));
  EXPECT_TRUE(gives_away(figure(0.19, Works::kBelow)));
  EXPECT_FALSE(gives_away(figure(0.9, Works::kBelow)));
  EXPECT_TRUE(gives_away(figure(0.19, Works::kBothWays)));
  EXPECT_TRUE(gives_away(figure(0.81, Works::kBothWays)));
  EXPECT_FALSE(gives_away(figure(0.5, Works::kBothWays)));
  AttackFigure exact = figure(0, Works::kAbove);
  exact.chance = exact.standard_error = 0;  // of a search that finds nothing by chance
  EXPECT_FALSE(gives_away(exact));
  exact.value = 1;
  EXPECT_TRUE(gives_away(exact));
}

TEST(AttackPage, SaysNumbersVerdictsAdviceAndWhatWasNotTried) {
  const std::string html = attacks_html(blindfl::testing::sample_attacks(true));
  ASSERT_TRUE(Page(html).is_well_formed());
  EXPECT_THAT(html, AllOf(HasSubstr("gives away"), HasSubstr("no more than chance"), HasSubstr("0.500 \xC2\xB1 0.017"),
                          HasSubstr("shared.model.top"), HasSubstr("What could not be tried"),
                          HasSubstr("the peer&#39;s folder of the same run"), HasSubstr(R"(href="report.html")")));
  EXPECT_THAT(html, HasSubstr("2 attacks tried: these gave something away: binary columns from one opening."));
  // What gives nothing away needs no change.
  EXPECT_THAT(html, Not(HasSubstr("advice of the other")));
  EXPECT_THAT(attacks_html(blindfl::testing::sample_attacks(false)), HasSubstr("nothing to compare with"));
}

TEST(AttackPage, LoadsAndRunsNothing) {
  const Page page(attacks_html(blindfl::testing::sample_attacks(true)));
  EXPECT_THAT(page.named("script"), SizeIs(0));
  EXPECT_THAT(page.named("link"), SizeIs(0));
  EXPECT_THAT(page.named("img"), SizeIs(0));
  EXPECT_THAT(page.named("meta"), SizeIs(3));
}

TEST(AttackPage, EscapesWhateverItIsGiven) {
  AttackPage page = blindfl::testing::sample_attacks(true);
  for (std::string* text :
       {&page.summary.run, &page.seen, &page.results.figures[0].attack, &page.results.figures[0].of,
        &page.results.figures[0].measure, &page.results.figures[0].advice, &page.results.untried[0].why}) {
    *text = "<script>\"'&</p>";
  }
  const std::string html = attacks_html(page);
  EXPECT_TRUE(Page(html).is_well_formed());
  EXPECT_THAT(html, Not(HasSubstr("<script")));
}

TEST(AttackPage, OfNothingSaysSo) {
  AttackPage page = blindfl::testing::sample_attacks(false);
  page.results.figures.clear();
  const std::string html = attacks_html(page);
  EXPECT_TRUE(Page(html).is_well_formed());
  EXPECT_THAT(html, AllOf(HasSubstr("No attack could be tried."), Not(HasSubstr("What to change"))));
}

TEST(AttackPage, IsLinkedFromTheReportOnceHoweverOften) {
  const std::string report = report_html(blindfl::testing::sample_of(Party::kA, "Logistic regression", 1));
  EXPECT_THAT(report, AllOf(HasSubstr(place_of_attacks_link()), Not(HasSubstr("attacks.html"))));
  const auto once = with_attacks_link(report, "earlier <words>");
  ASSERT_TRUE(once.has_value());
  EXPECT_TRUE(Page(*once).is_well_formed());
  EXPECT_THAT(*once, AllOf(HasSubstr(R"(href="attacks.html")"), HasSubstr("earlier &lt;words&gt;")));
  const auto twice = with_attacks_link(*once, "later words");
  ASSERT_TRUE(twice.has_value());
  EXPECT_TRUE(Page(*twice).is_well_formed());
  EXPECT_THAT(*twice, AllOf(HasSubstr("later words"), Not(HasSubstr("earlier &lt;words"))));
  EXPECT_EQ(with_attacks_link("<html></html>", "words"), std::nullopt);
  EXPECT_EQ(with_attacks_link(R"(<p id="attacks">cut)", "words"), std::nullopt);
}

}  // namespace
}  // namespace blindfl::run::attack_page_test

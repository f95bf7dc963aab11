#include "blindfl/run/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "blindfl/base/error.h"
#include "run/sample_reports.h"
#include "run/well_formed.h"
#include "testing/steps.h"

namespace blindfl::run::report_test {
namespace {

using blindfl::testing::Page;
using blindfl::testing::PageElement;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A report of A's, with all that A may have, and every text replaced if `words` are given.
RunReport report_of_a(const std::string& words = "") {
  const auto text = [&](const char* usual) { return words.empty() ? std::string(usual) : words; };
  RunReport report;
  report.summary = {.party = Party::kA,
                    .run = text("credit"),
                    .release = text("0.1.0"),
                    .model = text("logistic regression"),
                    .state = RunState::kFinished,
                    .started = std::chrono::sys_seconds(std::chrono::seconds(1794753005)),
                    .ended = std::chrono::sys_seconds(std::chrono::seconds(1794753065)),
                    .steps = 10,
                    .epochs = 2,
                    .seconds = 60,
                    .sent = {.messages = 3, .bytes = 12'345},
                    .received = {.messages = 4, .bytes = 67'890'000},
                    .results = {{"rows_per_second", 5123}}};
  report.facts = {{text("batch size"), text("128")}};
  report.curves = {{text("train"), "rows_per_second", {{1, 10}, {2, 20}, {3, kNan}}}};
  report.traffic = {{protocol::steps::kForwardOperand, {.messages = 10, .bytes = 100'000}, {.messages = 0, .bytes = 0}},
                    {protocol::steps::kOutputShare, {.messages = 10, .bytes = 8'000}, {.messages = 0, .bytes = 2'000}}};
  report.phases = {{text("waiting"), 45}, {text("computing"), 15}};
  report.costs = {{text("bytes per step"), 1000, 1500, Unit::kBytes}, {text("seconds"), 0, 2, Unit::kSeconds}};
  return report;
}

RunReport report_of_b(const std::string& words = "") {
  RunReport report = report_of_a(words);
  report.summary.party = Party::kB;
  report.summary.results = {{words.empty() ? "auc" : words, 0.75}};
  report.curves.push_back({"train", words.empty() ? "loss" : words, {{1, 0.7}, {2, 0.5}}});
  report.curves.push_back({"test", words.empty() ? "loss" : words, {{2, 0.6}}});
  report.roc = {{1, 0, 0}, {0.5, 0.25, 0.75}, {0, 1, 1}};
  report.calibration = {{0.1, 0.2, 10}, {0.9, 0.8, 10}};
  return report;
}

std::string text_of(const Page& page) {
  std::string text;
  for (const PageElement& element : page.elements()) {
    if (element.tag != "style") text += element.text + "\n";
  }
  return text;
}

TEST(Report, IsWellFormed) {
  std::vector<RunReport> reports = {RunReport{}, report_of_a(), report_of_b()};
  for (const auto& [name, report] : testing::sample_reports()) reports.push_back(report);
  for (const RunReport& report : reports) {
    const std::string html = report_html(report);
    const Page page(html);
    EXPECT_TRUE(page.is_well_formed());
    EXPECT_THAT(page.named("html"), SizeIs(1));
    EXPECT_THAT(page.named("body"), SizeIs(1));
    EXPECT_THAT(page.named("h1"), SizeIs(1));
  }
}

TEST(Report, NeedsNothingFromElsewhere) {
  const std::string html = report_html(report_of_b());
  const Page page(html);
  for (const PageElement& element : page.elements()) {
    for (const char* tag :
         {"script", "link", "img", "iframe", "object", "embed", "image", "use", "a", "base", "form"}) {
      EXPECT_NE(element.tag, tag);
    }
    for (const auto& [name, value] : element.attributes) {
      EXPECT_FALSE(name.starts_with("on") || name == "src" || name == "href" || name == "style") << name;
      if (name != "xmlns") {
        EXPECT_THAT(value, Not(HasSubstr("://")));
      }
    }
  }
  const std::string style = page.named("style").front().text;
  EXPECT_THAT(style, AllOf(Not(HasSubstr("url(")), Not(HasSubstr("@import")), Not(HasSubstr("&"))));
  EXPECT_THAT(style, AllOf(HasSubstr("prefers-color-scheme: dark"), HasSubstr("@media print")));
  EXPECT_THAT(html, HasSubstr("content=\"width=device-width, initial-scale=1\""));
  EXPECT_THAT(html, HasSubstr("default-src &#39;none&#39;"));
}

TEST(Report, TakesNobodysWordsForMarkup) {
  const std::string words = "</td></svg></style><script>alert(1)</script>&\"' onload=\"x\" \x1B[2J \xFF<!--";
  RunReport report = report_of_b(words);
  report.summary.party = Party::kB;
  const std::string html = report_html(report);
  const Page page(html);
  EXPECT_TRUE(page.is_well_formed());
  EXPECT_THAT(html, AllOf(Not(HasSubstr("<script")), Not(HasSubstr("<!--")), Not(HasSubstr("\x1B"))));
  EXPECT_THAT(html, Not(HasSubstr("\xFF")));
  EXPECT_THAT(text_of(page), HasSubstr("&lt;/td&gt;&lt;/svg&gt;&lt;/style&gt;&lt;script&gt;"));
  RunReport empty = report;
  empty.curves.clear();
  EXPECT_EQ(Page(html).named("style").size(), 1U);
}

std::vector<std::string> captions_of(const Page& page) {
  std::vector<std::string> captions;
  for (const PageElement& caption : page.named("figcaption")) captions.push_back(caption.text);
  return captions;
}

TEST(Report, ShowsWhatBMeasured) {
  const std::string html = report_html(report_of_b());
  const Page page(html);
  EXPECT_THAT(captions_of(page), ::testing::ElementsAre("loss", HasSubstr("ROC"), HasSubstr("Calibration"),
                                                        "rows a second", "Bytes by kind of message", "Time by phase"));
  // The ROC goes from corner to corner of the plot, its middle point is a quarter to the right and three quarters up.
  std::vector<std::string> lines;
  for (const PageElement& line : page.named("polyline")) lines.push_back(line.attributes.at("points"));
  EXPECT_THAT(lines, Contains("58.0,228.0 153.5,66.0 440.0,12.0"));
  EXPECT_THAT(text_of(page), AllOf(HasSubstr("0.75"), HasSubstr("\ntrain"), HasSubstr("\ntest")));
}

TEST(Report, IsCalledAfterItsModelAndItsDay) {
  RunReport report = report_of_b();
  EXPECT_THAT(report_html(report), HasSubstr("<h1>logistic regression, 15 Nov 2026, party B</h1>"));
  report.model_name = "Logistic regression";
  const std::string html = report_html(report);
  EXPECT_THAT(html, HasSubstr("<h1>Logistic regression, 15 Nov 2026, party B</h1>"));
  EXPECT_THAT(html, HasSubstr("<title>Logistic regression, 15 Nov 2026, party B - BlindFL</title>"));
  EXPECT_THAT(html, HasSubstr("Run credit.")) << "what both parties know it by is there as well";
  report.model_name = report.summary.model = "";
  EXPECT_THAT(report_html(report), HasSubstr("<h1>Run credit, 15 Nov 2026, party B</h1>"));
}

TEST(Report, PutsTrainingAndValidationLossIntoOnePlot) {
  const std::string html = report_html(testing::sample_of_two_classes());
  const Page page(html);
  std::size_t losses = 0;
  for (const std::string& caption : captions_of(page)) losses += caption.find("loss") != std::string::npos ? 1 : 0;
  EXPECT_EQ(losses, 1U);
  std::vector<std::string> names;
  for (const PageElement& key : page.named("span")) names.push_back(key.text);
  EXPECT_THAT(names, ::testing::IsSupersetOf({"\ntrain", "\nvalidation (log loss)", "\ntest (log loss)"}));
  std::vector<std::string> classes;
  for (const PageElement& line : page.named("polyline")) classes.push_back(line.attributes.at("class"));
  EXPECT_THAT(classes, ::testing::IsSupersetOf({"line behind c0", "line c0", "line c1"}));
  EXPECT_THAT(html, HasSubstr("Lines are smoothed"));
}

TEST(Report, MarksTheBestEpochAndPutsTheTestThere) {
  RunReport report = report_of_b();
  report.curves = {{"validation", "auc", {{0, 0.5}, {10, 0.9}, {20, 0.8}}}, {"test", "auc", {{20, 0.9}}}};
  report.summary.best = {.step = 10, .epoch = 1};
  const Page page(report_html(report));
  EXPECT_THAT(text_of(page), HasSubstr("best: epoch 1\n"));
  std::vector<std::string> dots;
  for (const PageElement& path : page.named("path")) dots.push_back(path.attributes.at("d"));
  EXPECT_THAT(dots, Contains("M249.0,12.0h0")) << "in the middle and at the top, as the validation's best";
}

TEST(Report, ShowsSingleValuesAsNumbers) {
  RunReport report = report_of_b();
  report.curves = {{"validation", "auc", {{5, 0.8125}}},
                   {"test", "auc", {{5, 0.75}}},
                   {"train", "bytes_sent", {{1, 1.5e6}, {2, 1.5e6}, {3, 1.5e6}}},
                   {"train", "seconds_per_step", {{1, 0.35}, {2, kNan}}}};
  const Page page(report_html(report));
  for (const std::string& caption : captions_of(page)) {
    EXPECT_THAT(caption, AllOf(Not(HasSubstr("AUC")), Not(HasSubstr("log line")), Not(HasSubstr("time of a step"))));
  }
  EXPECT_THAT(text_of(page), AllOf(HasSubstr("0.75\nAUC\n"), HasSubstr("0.8125\nvalidation AUC\n"),
                                   HasSubstr("1.5 MB\nsent per log line\n"), HasSubstr("350 ms\ntime of a step\n"),
                                   Not(HasSubstr("test AUC"))));
}

TEST(Report, PutsTheBaselineBesideTheResult) {
  RunReport report = report_of_b();
  EXPECT_THAT(report_html(report), Not(HasSubstr("B alone")));
  report.summary.baseline = {{"auc", 0.625}, {"ks", 0.25}};
  EXPECT_THAT(text_of(Page(report_html(report))), HasSubstr("0.75\nAUC\nB alone: 0.625\n"));
}

TEST(Report, ShowsClassesAsAHeatTable) {
  RunReport report = report_of_b();
  report.classes = {{"no", "yes"}, {90, 10, 25, 75}};
  const Page page(report_html(report));
  EXPECT_THAT(captions_of(page), Contains(HasSubstr("Confusion matrix")));
  EXPECT_THAT(text_of(page), HasSubstr("no\n90\n10\n90.0%\n"));
  EXPECT_THAT(text_of(page), HasSubstr("yes\n25\n75\n75.0%\n"));
  std::vector<std::string> heat;
  for (const PageElement& cell : page.named("td")) {
    const auto found = cell.attributes.find("class");
    if (found != cell.attributes.end() && found->second.starts_with("heat")) heat.push_back(found->second);
  }
  EXPECT_THAT(heat, ::testing::ElementsAre("heat right h9", "heat wrong h1", "heat wrong h3", "heat right h8"));
  report.classes.counts.pop_back();
  EXPECT_THROW((void)report_html(report), InvalidArgument);
}

TEST(Report, CountsTheRarestOfManyClassesTogether) {
  const RunReport report = testing::sample_of_many_classes(1000);
  const std::string html = report_html(report);
  EXPECT_LT(html.size(), 120'000U);
  EXPECT_THAT(html, AllOf(HasSubstr("986 others"), HasSubstr("class of number 13<"), Not(HasSubstr("number 14<"))));
  std::size_t cells = 0;
  for (const PageElement& cell : Page(html).named("td")) {
    const auto found = cell.attributes.find("class");
    cells += found != cell.attributes.end() && found->second.starts_with("heat") ? 1 : 0;
  }
  EXPECT_EQ(cells, 225U);
}

TEST(Report, ShowsPredictionsOfARegressionAndItsResiduals) {
  const std::string html = report_html(testing::sample_of_regression(1, 200'000));
  const Page page(html);
  EXPECT_THAT(captions_of(page), AllOf(Contains("Predicted by actual"), Contains("Residuals: how many rows")));
  EXPECT_THAT(text_of(page), HasSubstr("actual (600 of 200,000 rows)"));
  EXPECT_LT(html.size(), report_html(testing::sample_of_regression(1, 600)).size() + 2'000)
      << "not larger than with as many rows as are drawn";
  EXPECT_EQ(html, report_html(testing::sample_of_regression(1, 200'000))) << "the same rows every time";
}

TEST(Report, ShowsWhatThePlannerWeighedFolded) {
  RunReport report = report_of_b();
  report.plan = {
      {"source", "A's 300 features", "exchanged over lattice", 0.0123, 1.5e6, true},
      {"source", "A's 300 features", "encrypted updates over paillier", 0, 0, false, "no steps are declared"}};
  const Page page(report_html(report));
  EXPECT_THAT(text_of(page),
              AllOf(HasSubstr("What the planner weighed"),
                    HasSubstr("source\nA&#39;s 300 features\nexchanged over lattice\nchosen\n12.3 ms\n1.5 MB\n"),
                    HasSubstr("encrypted updates over paillier\nnot possible\n-\n-\n"),
                    HasSubstr("Not possible: no steps are declared.")));
  for (const PageElement& cell : page.named("td")) {
    if (cell.text == "exchanged over lattice") {
      EXPECT_THAT(cell.around, Contains("details"));
    }
  }
}

TEST(Report, DrawsOnlyTheTrafficThatMattersAndFoldsTheRest) {
  const RunReport report = testing::sample_of_a();
  const Page page(report_html(report));
  std::vector<std::string> open;
  std::vector<std::string> folded;
  for (const PageElement& text : page.named("text")) {
    (std::ranges::find(text.around, "details") == text.around.end() ? open : folded).push_back(text.text);
  }
  const std::string first(net::describe(report.traffic.front().step).name);
  const std::string last(net::describe(report.traffic.back().step).name);
  EXPECT_THAT(open, AllOf(Contains(first), Not(Contains(last))));
  EXPECT_THAT(folded, AllOf(Contains(last), Not(Contains(first))));
  EXPECT_THAT(text_of(page), HasSubstr("other: " + std::to_string(report.traffic.size() - 5) + " kinds, 95.6 MB\n"));
  EXPECT_THAT(text_of(page), HasSubstr("All " + std::to_string(report.traffic.size()) + " kinds of messages"));
}

TEST(Report, WritesByteAxesInUnits) {
  const std::string html = report_html(testing::sample_of_a());
  EXPECT_THAT(html, AllOf(HasSubstr(">1.5 MB</text>"), HasSubstr(">500 kB</text>"), Not(HasSubstr("e+0"))));
}

TEST(Report, ShowsWhatBGetsAloneAndWhichModelIsKept) {
  RunReport report = report_of_b();
  EXPECT_THAT(report_html(report), Not(HasSubstr("B alone")));
  report.summary.baseline = {{"auc", 0.625}};
  report.summary.best = {.step = 1200, .epoch = 24};
  report.summary.stopped_early = true;
  const std::string page = report_html(report);
  EXPECT_THAT(page, AllOf(HasSubstr("B alone"), HasSubstr("0.625"), HasSubstr("(epoch 24), the best in validation"),
                          HasSubstr("training stopped early")));
  report.summary.stopped_early = false;
  report.summary.still_falling = true;
  EXPECT_THAT(report_html(report), HasSubstr("The loss was still falling when training ended"));
}

TEST(Report, AddsUpWhatCrossedTheLink) {
  const std::string text = text_of(Page(report_html(report_of_a())));
  EXPECT_THAT(text, AllOf(HasSubstr("forward operand\nencrypted\n10\n100,000\n0\n0\n10 kB\n"),
                          HasSubstr("output share\nshare\n10\n8,000\n0\n2,000\n1 kB\n"),
                          HasSubstr("all\n\n20\n108,000\n0\n2,000\n11 kB\n")));
  EXPECT_THAT(text, HasSubstr("A&#39;s share of Z, rounded"));
}

TEST(Report, ShowsTimesAndCosts) {
  const std::string text = text_of(Page(report_html(report_of_a())));
  EXPECT_THAT(text, AllOf(HasSubstr("45 s, 75%"), HasSubstr("15 s, 25%")));
  EXPECT_THAT(text, HasSubstr("bytes per step\n1 kB\n1.5 kB\n1.5\n"));
  EXPECT_THAT(text, HasSubstr("seconds\n0 ms\n2 s\n-\n"));
  EXPECT_THAT(text, HasSubstr("Started 2026-11-15T14:30:05Z, ended 2026-11-15T14:31:05Z."));
}

TEST(Report, SaysWhoLearnedWhatThisPartyFirst) {
  for (const Party party : {Party::kA, Party::kB}) {
    RunReport report = party == Party::kA ? report_of_a() : report_of_b();
    report.model = {
        .numeric = true, .categorical = true, .encrypted_update = true, .matching = Matching::kIntersection};
    const std::string html = report_html(report);
    const std::string own(name_of(party));
    const std::string other(name_of(peer_of(party)));
    EXPECT_LT(html.find("What " + own + " learned"), html.find("What " + other + " learned"));
    for (const std::string& who : {own, other}) {
      EXPECT_THAT(html, AllOf(HasSubstr("What " + who + " could work out"), HasSubstr("What " + who + " never saw")));
    }
    for (const Party of : {Party::kA, Party::kB}) {
      const Disclosure said = disclosure_of(of, report.model);
      for (const auto* texts : {&said.learned, &said.could_work_out, &said.never_saw}) {
        for (const std::string& sentence : *texts) EXPECT_THAT(html, HasSubstr(html_escaped(sentence)));
      }
    }
  }
}

TEST(Report, OfBothPartiesSaysWhatBCouldWorkOutAboutA) {
  for (const bool of_a : {true, false}) {
    RunReport report = of_a ? report_of_a() : report_of_b();
    report.model.numeric_layer = {.in_a = 54, .out = 64};
    report.model.openings = 10;
    const std::string html = report_html(report);
    EXPECT_THAT(html, AllOf(HasSubstr(html_escaped(open_top_warning())), HasSubstr("64 outputs, 54 features of A"),
                            HasSubstr("opened 10 times"), HasSubstr("rounded to 16 fractional bits")));
  }
}

TEST(Report, OfAIsRefusedWithAnythingOfLabelsOrScores) {
  EXPECT_NO_THROW((void)report_html(report_of_a()));
  const auto refused = ThrowsMessage<InvalidArgument>(HasSubstr("nothing of A's may"));
  RunReport result = report_of_a();
  result.summary.results.push_back({"auc", 0.5});
  EXPECT_THAT([&] { (void)report_html(result); }, refused);
  RunReport curve = report_of_a();
  curve.curves.push_back({"train", "loss", {}});
  EXPECT_THAT([&] { (void)report_html(curve); }, refused);
  RunReport roc = report_of_a();
  roc.roc = {{1, 0, 0}};
  EXPECT_THAT([&] { (void)report_html(roc); }, refused);
  RunReport calibrated = report_of_a();
  calibrated.calibration = {{0.5, 0.5, 1}};
  EXPECT_THAT([&] { (void)report_html(calibrated); }, refused);
  RunReport classes = report_of_a();
  classes.classes = {{"no"}, {1}};
  EXPECT_THAT([&] { (void)report_html(classes); }, refused);
  RunReport predictions = report_of_a();
  predictions.regression = {{1}, {1}};
  EXPECT_THAT([&] { (void)report_html(predictions); }, refused);
}

TEST(Report, OfAIsRefusedWithABaselineOrAConfusionMatrix) {
  RunReport alone = report_of_a();
  alone.summary.baseline = {{"auc", 0.5}};
  EXPECT_THROW((void)report_html(alone), InvalidArgument);
  RunReport matrix = report_of_a();
  matrix.summary.confusion = {.classes = {"no", "yes"}, .counts = {1, 0, 0, 1}};
  EXPECT_THROW((void)report_html(matrix), InvalidArgument);
  RunReport loss = report_of_a();
  loss.summary.still_falling = true;
  EXPECT_THROW((void)report_html(loss), InvalidArgument);
}

TEST(Report, OfAHasNoPlaceForThemEither) {
  const std::string html = report_html(report_of_a());
  for (const char* word :
       {"ROC", "Calibration", "auc", "AUC", ">loss<", "How good the model is</h2>", "Confusion", "Predicted"})
    EXPECT_THAT(html, Not(HasSubstr(word)));
  EXPECT_THAT(html, HasSubstr("This party has no labels."));
}

TEST(Report, OfALongRunStaysSmall) {
  RunReport report = report_of_b();
  for (int i = 0; i < 100'000; ++i) {
    report.curves.front().points.push_back({static_cast<double>(i), static_cast<double>(i % 100)});
  }
  const std::string html = report_html(report);
  EXPECT_LT(html.size(), 120'000U);
  EXPECT_THAT(html, HasSubstr("means of up to 334 points each"));
}

TEST(CurvesOf, ParsesSetsAndNames) {
  MetricsFile metrics;
  metrics.lines = {
      {.step = 1, .epoch = 1, .seconds = 0, .set = "train", .values = {{"loss", 0.5}, {"rows_per_second", 7}}},
      {.step = 1, .epoch = 1, .seconds = 0, .set = "test", .values = {{"loss", 0.6}}},
      {.step = 2, .epoch = 1, .seconds = 0, .set = "train", .values = {{"loss", kNan}}}};
  const std::vector<MeasureCurve> curves = curves_of(metrics);
  ASSERT_THAT(curves, SizeIs(3));
  EXPECT_EQ(curves[0].set + " " + curves[0].name, "train loss");
  ASSERT_THAT(curves[0].points, SizeIs(2));
  EXPECT_EQ(curves[0].points[1].x, 2);
  EXPECT_EQ(curves[1].name, "rows_per_second");
  EXPECT_EQ(curves[2].set, "test");
  EXPECT_EQ(curves[2].points[0].y, 0.6);
}

}  // namespace
}  // namespace blindfl::run::report_test

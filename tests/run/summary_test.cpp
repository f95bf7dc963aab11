#include "blindfl/run/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "blindfl/base/error.h"

namespace blindfl::run::summary_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

RunSummary example() {
  using std::chrono::seconds;
  return {.party = Party::kB,
          .run = "credit \"2026\"",
          .release = "0.1.0",
          .model = "logistic regression",
          .state = RunState::kFinished,
          .started = std::chrono::sys_seconds(seconds(1794753005)),
          .ended = std::chrono::sys_seconds(seconds(1794753065)),
          .steps = 2540,
          .epochs = 10,
          .seconds = 59.5,
          .sent = {.messages = 3, .bytes = 1ULL << 60},
          .received = {.messages = 4, .bytes = 5},
          .results = {{"auc", 0.75}, {"ks", NAN}}};
}

TEST(Summary, IsThisText) {
  EXPECT_EQ(summary_text(example()),
            R"({"format":"BlindFL run","version":1,"party":"B","run":"credit \"2026\"","release":"0.1.0",)"
            R"("model":"logistic regression","state":"finished","started":"2026-11-15T14:30:05Z",)"
            R"("ended":"2026-11-15T14:31:05Z","steps":2540,"epochs":10,"seconds":59.5,)"
            R"("sent":{"messages":3,"bytes":1152921504606846976},"received":{"messages":4,"bytes":5},)"
            R"("results":{"auc":0.75,"ks":null}})"
            "\n");
}

TEST(Summary, IsReadAsItWasWritten) {
  for (const RunState state : {RunState::kRunning, RunState::kFinished, RunState::kInterrupted, RunState::kFailed}) {
    RunSummary summary = example();
    summary.state = state;
    if (state == RunState::kRunning) summary.ended.reset();
    const RunSummary read = parse_summary(summary_text(summary), "s");
    EXPECT_EQ(summary_text(read), summary_text(summary));
    EXPECT_EQ(read.ended, summary.ended);
    EXPECT_EQ(read.sent, summary.sent);
    EXPECT_TRUE(std::isnan(read.results[1].value));
  }
}

TEST(Summary, HasWhatIsKnownOfTheQuality) {
  RunSummary summary = example();
  summary.rows = {.training = 540, .validation = 30, .test = 30};
  summary.range_checks = {.inside = 23, .outside = 1};
  summary.best = {.step = 120, .epoch = 24};
  summary.stopped_early = true;
  summary.still_falling = false;
  summary.confusion = {.classes = {"no", "yes"}, .counts = {10, 5, 0, 15}};
  summary.baseline = {{"auc", 0.625}};
  const std::string text = summary_text(summary);
  EXPECT_THAT(text,
              HasSubstr(R"("rows":{"training":540,"validation":30,"test":30},"range_checks":{"inside":23,"outside":1},)"
                        R"("best":{"step":120,"epoch":24},)"
                        R"("stopped_early":true,"still_falling":false,"confusion":{"classes":["no","yes"],)"
                        R"("precision":[1,0.75],"recall":[0.6666666666666666,1],"counts":[[10,5],[0,15]]},)"
                        R"("baseline":{"auc":0.625}})"));
  const RunSummary read = parse_summary(text, "s");
  EXPECT_EQ(summary_text(read), text);
  EXPECT_EQ(read.best, summary.best);
  EXPECT_EQ(read.rows, summary.rows);
  EXPECT_EQ(read.range_checks, summary.range_checks);
  RunSummary torn = summary;
  torn.confusion.counts.pop_back();
  EXPECT_THROW((void)summary_text(torn), InvalidArgument);
  std::string forged = text;
  forged.replace(forged.find("[[10,5]"), 7, "[[10]  ");
  EXPECT_THROW((void)parse_summary(forged, "s"), DataError);
}

TEST(Summary, KeepsNothingOfTheQualityForA) {
  RunSummary summary = example();
  summary.party = Party::kA;
  summary.results = {};
  summary.rows = {.training = 540, .validation = 30, .test = 30};
  summary.best = {.step = 120, .epoch = 24};
  EXPECT_NO_THROW((void)summary_text(summary)) << "A counts rows, and is told which step is kept";
  RunSummary with_baseline = summary;
  with_baseline.baseline = {{"auc", 0.5}};
  EXPECT_THROW((void)summary_text(with_baseline), InvalidArgument);
  RunSummary with_matrix = summary;
  with_matrix.confusion = {.classes = {"no", "yes"}, .counts = {1, 0, 0, 1}};
  EXPECT_THROW((void)summary_text(with_matrix), InvalidArgument);
  RunSummary with_loss = summary;
  with_loss.still_falling = false;
  EXPECT_THROW((void)summary_text(with_loss), InvalidArgument);
}

TEST(Summary, KeepsNothingOfLabelsOrScoresForA) {
  RunSummary summary = example();
  summary.party = Party::kA;
  EXPECT_THAT([&] { (void)summary_text(summary); }, ThrowsMessage<InvalidArgument>(HasSubstr("'auc'")));
  summary.results = {{"rows_per_second", 5000}};
  const std::string text = summary_text(summary);
  EXPECT_EQ(parse_summary(text, "s").results.size(), 1U);
  std::string forged = text;
  forged.replace(forged.find("rows_per_second"), 15, "auc");
  EXPECT_THROW((void)parse_summary(forged, "s"), DataError);
}

TEST(Summary, NeedsANameThatFitsALine) {
  for (const std::string& name : {std::string(), std::string(65, 'x'), std::string("a\nb"), std::string("\xC3\xA4")}) {
    RunSummary summary = example();
    summary.run = name;
    EXPECT_THAT([&] { (void)summary_text(summary); }, ThrowsMessage<InvalidArgument>(HasSubstr("name")));
  }
  RunSummary twice = example();
  twice.results = {{"auc", 1}, {"auc", 2}};
  EXPECT_THROW((void)summary_text(twice), InvalidArgument);
}

TEST(ParseSummary, RefusesEverythingElse) {
  const std::string good = summary_text(example());
  const auto with = [&](std::string_view part, std::string_view other) {
    std::string text = good;
    const std::size_t at = text.find(part);
    EXPECT_NE(at, std::string::npos) << part;
    return text.replace(at, part.size(), other);
  };
  for (const std::string& bad :
       {std::string(), std::string("{}"), std::string("[]"), good.substr(0, good.size() / 2),
        with("BlindFL run", "Blind run"), with("\"version\":1", "\"version\":-1"), with("\"B\"", "\"C\""),
        with("\"B\"", "1"), with("finished", "done"), with("2026-11-15T14:30", "2026-11-15 14:30"),
        with("2026-11-15T14:30", "2026-11-31T14:30"), with("T14:31", "T14:61"), with("2540", "2540.5"),
        with("\"seconds\":59.5", "\"seconds\":null"), with("\"messages\":3", "\"messages\":\"3\""),
        with("0.75", "\"0.75\""), with("\"release\":\"0.1.0\",", ""), with("credit", "\\u0007"),
        std::string(kMaxSummaryBytes + 1, ' ')}) {
    EXPECT_THAT([&] { (void)parse_summary(bad, "s.json"); }, ThrowsMessage<DataError>(StartsWith("s.json: ")))
        << bad.substr(0, 300);
  }
  EXPECT_THAT([&] { (void)parse_summary(with("\"version\":1", "\"version\":2"), "s"); },
              ThrowsMessage<DataError>(AllOf(HasSubstr("version 2"), HasSubstr("use the release"))));
  EXPECT_NO_THROW((void)parse_summary(with("\"version\":1", "\"version\":1,\"more\":[1]"), "s"));
}

}  // namespace
}  // namespace blindfl::run::summary_test

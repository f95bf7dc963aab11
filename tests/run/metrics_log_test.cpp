#include "blindfl/run/metrics_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>
#include <string>

#include "blindfl/base/error.h"
#include "testing/scratch_folder.h"

namespace blindfl::run::metrics_log_test {
namespace {

using blindfl::testing::content_of;
using blindfl::testing::mode_of;
using blindfl::testing::ScratchFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

MetricsFile read_text(const std::string& text) {
  std::istringstream in(text);
  return read_metrics(in, "m.jsonl");
}

constexpr std::string_view kGood =
    "{\"step\":1,\"epoch\":1,\"seconds\":0.5,\"set\":\"train\",\"values\":{\"loss\":1}}\n";

TEST(MetricsLog, WritesALineAtATime) {
  const ScratchFolder folder;
  const auto path = folder / "metrics.jsonl";
  MetricsLog log(path, Party::kB);
  log.write({.step = 1, .epoch = 1, .seconds = 0.5, .set = "train", .values = {{"loss", 0.4375}}});
  EXPECT_EQ(content_of(path),
            "{\"step\":1,\"epoch\":1,\"seconds\":0.5,\"set\":\"train\",\"values\":{\"loss\":0.4375}}\n");
  log.write({.step = 2,
             .epoch = 1,
             .seconds = 1,
             .set = "te\"st",
             .values = {{"auc", 0.75}, {"loss", std::numeric_limits<double>::infinity()}}});
  EXPECT_THAT(
      content_of(path),
      HasSubstr(
          "\n{\"step\":2,\"epoch\":1,\"seconds\":1,\"set\":\"te\\\"st\",\"values\":{\"auc\":0.75,\"loss\":null}}\n"));
  EXPECT_EQ(mode_of(path), 0600U);
  EXPECT_THROW(MetricsLog(path, Party::kB), ConfigError) << "an older file is never overwritten";
}

TEST(MetricsLog, IsReadAsItWasWritten) {
  const ScratchFolder folder;
  const auto path = folder / "metrics.jsonl";
  MetricsLog log(path, Party::kB);
  log.write({.step = 1U << 31, .epoch = 7, .seconds = 1.0 / 3, .set = "test", .values = {{"auc", 0.1}, {"ks", NAN}}});
  log.write({});
  const MetricsFile file = read_metrics(path);
  ASSERT_EQ(file.lines.size(), 2U);
  EXPECT_FALSE(file.cut_within_line);
  EXPECT_EQ(file.lines[0].step, 1U << 31);
  EXPECT_EQ(file.lines[0].epoch, 7U);
  EXPECT_EQ(file.lines[0].seconds, 1.0 / 3);
  EXPECT_EQ(file.lines[0].set, "test");
  ASSERT_EQ(file.lines[0].values.size(), 2U);
  EXPECT_EQ(file.lines[0].values[0].name, "auc");
  EXPECT_EQ(file.lines[0].values[0].value, 0.1);
  EXPECT_TRUE(std::isnan(file.lines[0].values[1].value));
  EXPECT_TRUE(file.lines[1].values.empty());
}

TEST(MetricsLog, KeepsNothingOfLabelsOrScoresForA) {
  const ScratchFolder folder;
  const auto path = folder / "metrics.jsonl";
  MetricsLog log(path, Party::kA);
  for (const char* name : {"loss", "auc", "accuracy", "Rows_per_second", "rows_per_second ", ""}) {
    EXPECT_THAT(
        [&] {
          log.write({.values = {{"bytes_sent", 1}, {name, 0.5}}});
        },
        ThrowsMessage<InvalidArgument>(HasSubstr("nothing of A's may")));
  }
  EXPECT_EQ(content_of(path), "");
  for (const std::string_view name : work_measures()) log.write({.values = {{std::string(name), 1}}});
  EXPECT_EQ(read_metrics(path).lines.size(), work_measures().size());
}

TEST(MetricsLog, RefusesWhatItCouldNotReadBack) {
  const ScratchFolder folder;
  MetricsLog log(folder / "metrics.jsonl", Party::kB);
  EXPECT_THAT(
      [&] {
        log.write({.values = {{"loss", 1}, {"auc", 1}, {"loss", 2}}});
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("twice")));
  EXPECT_THAT([&] { log.write({.set = std::string(kMaxMetricsLineBytes, 'x')}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("at most")));
  EXPECT_EQ(content_of(folder / "metrics.jsonl"), "");
}

TEST(MetricsLog, GoesOnAfterACheckpoint) {
  const ScratchFolder folder;
  const auto path = folder / "metrics.jsonl";
  {
    MetricsLog log(path, Party::kB);
    for (std::uint64_t step = 1; step <= 5; ++step) log.write({.step = step, .set = "train", .values = {{"loss", 1}}});
    log.write({.step = 3, .set = "test", .values = {}});
  }
  {
    MetricsLog log = MetricsLog::resume(path, Party::kB, 3);
    log.write({.step = 4, .set = "again", .values = {}});
  }
  const MetricsFile file = read_metrics(path);
  ASSERT_EQ(file.lines.size(), 4U);
  EXPECT_EQ(file.lines[2].step, 3U);
  EXPECT_EQ(file.lines[3].set, "again");
}

TEST(MetricsLog, ForgetsATestThatWillBeDoneAgain) {
  const ScratchFolder folder;
  const auto path = folder / "metrics.jsonl";
  {
    MetricsLog log(path, Party::kB);
    for (const char* set : {"train", "validation", "test"}) log.write({.step = 5, .set = set, .values = {{"auc", 1}}});
  }
  (void)MetricsLog::resume(path, Party::kB, 5);
  const MetricsFile file = read_metrics(path);
  ASSERT_EQ(file.lines.size(), 2U);
  EXPECT_EQ(file.lines[1].set, "validation");
}

TEST(MetricsLog, GoesOnWhereAKilledRunLeftHalfALine) {
  const ScratchFolder folder;
  const auto path = folder.write("metrics.jsonl", std::string(kGood) + std::string(kGood).substr(0, 20));
  EXPECT_TRUE(read_metrics(path).cut_within_line);
  MetricsLog::resume(path, Party::kB, 10).write({.step = 2, .set = "train", .values = {}});
  const MetricsFile file = read_metrics(path);
  EXPECT_EQ(file.lines.size(), 2U);
  EXPECT_FALSE(file.cut_within_line);
  EXPECT_THAT([&] { (void)MetricsLog::resume(folder / "absent", Party::kB, 1); },
              ThrowsMessage<DataError>(HasSubstr("is not there")));
  const auto other = folder.write("other", "something else\n");
  EXPECT_THROW((void)MetricsLog::resume(other, Party::kB, 1), DataError);
  EXPECT_EQ(content_of(other), "something else\n") << "a foreign file is not touched";
}

TEST(ReadMetrics, TakesAnEmptyFileAndOneCutWithinALine) {
  EXPECT_TRUE(read_text("").lines.empty());
  EXPECT_FALSE(read_text("").cut_within_line);
  for (std::size_t size = 1; size < kGood.size(); ++size) {
    const MetricsFile file = read_text(std::string(kGood) + std::string(kGood.substr(0, size)));
    EXPECT_EQ(file.lines.size(), 1U);
    EXPECT_TRUE(file.cut_within_line);
  }
}

TEST(ReadMetrics, NamesTheLineThatIsWrong) {
  for (const char* bad : {
           "",
           "{}",
           "[]",
           "1",
           "not json",
           "{\"step\":1}",
           R"({"step":-1,"epoch":1,"seconds":0,"set":"train","values":{}})",
           R"({"step":1.5,"epoch":1,"seconds":0,"set":"train","values":{}})",
           R"({"step":"1","epoch":1,"seconds":0,"set":"train","values":{}})",
           R"({"step":1,"epoch":99999999999999999999,"seconds":0,"set":"train","values":{}})",
           R"({"step":1,"epoch":1,"seconds":"0","set":"train","values":{}})",
           R"({"step":1,"epoch":1,"seconds":0,"set":5,"values":{}})",
           R"({"step":1,"epoch":1,"seconds":0,"set":"train","values":[]})",
           R"({"step":1,"epoch":1,"seconds":0,"set":"train","values":{"loss":"0.5"}})",
           R"({"step":1,"epoch":1,"seconds":0,"set":"train","values":{"loss":{}}})",
           R"({"step":1,"epoch":1,"seconds":0,"set":"train","values":{"loss":1,"loss":2}})",
       }) {
    EXPECT_THAT([&] { (void)read_text(std::string(kGood) + bad + "\n"); },
                ThrowsMessage<DataError>(StartsWith("m.jsonl: line 2: ")))
        << bad;
  }
}

TEST(ReadMetrics, RefusesALineWithoutEnd) {
  EXPECT_THAT([] { (void)read_text(std::string(kGood) + std::string(10 * kMaxMetricsLineBytes, ' ')); },
              ThrowsMessage<DataError>(AllOf(StartsWith("m.jsonl: line 2: "), HasSubstr("longer than"))));
}

}  // namespace
}  // namespace blindfl::run::metrics_log_test

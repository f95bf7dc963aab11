// `blindfl init`: what it makes of files, what it asks, and that what it writes can be read.

#include "blindfl/app/init/init.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "blindfl/app/commands.h"
#include "blindfl/app/init/guess.h"
#include "blindfl/app/init/party_draft.h"
#include "blindfl/app/job/job.h"
#include "blindfl/app/run.h"
#include "testing/scratch_folder.h"
#include "testing/thrown.h"

namespace blindfl::app {
namespace {

using job::ColumnKind;
using job::ModelKind;
using job::Transform;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A hundred people: B's file, with a label of `classes` classes.
std::string people(std::size_t classes, char delimiter = ',') {
  std::ostringstream text;
  const char d = delimiter;
  text << "person_id" << d << "age" << d << "amount" << d << "town" << d << "tags" << d << "note" << d << "same" << d
       << "row" << d << "flag" << d << "label\n";
  for (std::size_t i = 0; i < 100; ++i) {
    text << "pseudonym" << i * 7919 % 1000 + 1000 << d << (i % 9 == 0 ? "NA" : std::to_string(20 + i % 50)) << d
         << (i % 50 == 7 ? 123457 : 1 + i % 10) << d << "town" << i % 5 << d << "red|green"
         << (i % 3 == 0 ? "|blue" : "") << d << "words of " << i << d << "x" << d << i << d << i % 2 << d << i % classes
         << "\n";
  }
  return text.str();
}

class Init : public ::testing::Test {
 protected:
  struct Result {
    int code = 0;
    std::string out;
    std::string err;
  };
  /// Without a terminal.
  Result call(std::vector<std::string> words) {
    words.insert(words.begin(), "init");
    std::ostringstream out;
    std::ostringstream err;
    const int code = run(std::vector<Command>{command_}, words, out, err);
    return {code, out.str(), err.str()};
  }
  /// With somebody who answers.
  std::string answer(const std::string& answers, const std::vector<std::string>& words) {
    std::istringstream in(answers);
    std::ostringstream out;
    init::Questions questions(&in, out);
    init::write_jobs(Arguments(command_, words), questions, out);
    return out.str();
  }
  [[nodiscard]] std::string at(std::string_view name) const { return (folder_ / name).string(); }
  [[nodiscard]] static const job::Column& column(const job::Job& job, std::string_view name) {
    for (const job::Column& each : job.own.data.columns) {
      if (each.name == name) return each;
    }
    ADD_FAILURE() << "no column " << name;
    return job.own.data.columns.front();
  }
  /// The same as the program's, but that nobody is at its terminal.
  static void run_without_terminal(const Arguments& arguments, std::ostream& out) {
    init::Questions questions(nullptr, out);
    init::write_jobs(arguments, questions, out);
  }

  testing::ScratchFolder folder_;
  Command command_ = [] {
    Command command = init_command();
    command.run = run_without_terminal;
    return command;
  }();
};

TEST_F(Init, WritesAJobThatCanBeRead) {
  (void)folder_.write("b.csv", people(2));
  const Result result = call({"--party", "B", "--data", at("b.csv"), "--model", "lr", "--out", at("job.yaml")});
  ASSERT_EQ(result.code, kDone) << result.err;
  const job::Job job = job::load_job(folder_ / "job.yaml");
  EXPECT_EQ(job.own.party, job::PartyName::kB);
  EXPECT_EQ(job.shared.model.kind, ModelKind::kLr);
  EXPECT_EQ(job.own.data.id_column, "person_id");
  EXPECT_EQ(job.own.data.label_column, "label");
  EXPECT_EQ(job.shared.alignment.mode, job::AlignmentMode::kIntersection);
  EXPECT_EQ(job.own.link.listen, "0.0.0.0:7000");
  EXPECT_EQ(column(job, "age").transform, Transform::kStandardise);
  EXPECT_EQ(column(job, "age").missing, job::MissingValue::kMean);
  EXPECT_EQ(column(job, "amount").transform, Transform::kLog);
  EXPECT_EQ(column(job, "town").kind, ColumnKind::kCategorical);
  EXPECT_TRUE(column(job, "town").one_hot) << "lr has no embeddings";
  EXPECT_EQ(column(job, "tags").kind, ColumnKind::kMulti);
  EXPECT_EQ(column(job, "tags").separator, "|");
  EXPECT_TRUE(column(job, "tags").one_hot);
  EXPECT_EQ(column(job, "note").kind, ColumnKind::kIgnore);
  EXPECT_EQ(column(job, "same").kind, ColumnKind::kIgnore);
  EXPECT_EQ(column(job, "row").kind, ColumnKind::kIgnore);
  EXPECT_EQ(column(job, "flag").transform, Transform::kNone);
  EXPECT_EQ(testing::mode_of(folder_ / "job.yaml"), 0600U);
}

TEST_F(Init, TellsWhatItSawButNoValue) {
  (void)folder_.write("b.csv", people(2));
  const Result result = call({"--party", "B", "--data", at("b.csv"), "--out", at("job.yaml")});
  EXPECT_THAT(result.out, AllOf(HasSubstr("all 100 rows looked at"), HasSubstr("text, 5 distinct"),
                                HasSubstr("the same in all rows"), HasSubstr("12 missing")));
  EXPECT_THAT(result.out, AllOf(HasSubstr("model wdl: labels of two classes, and columns of categories"),
                                HasSubstr("shared:\n  model:\n    kind: wdl\n"), HasSubstr("--shared-from"),
                                HasSubstr("blindfl keygen --name b"), HasSubstr("blindfl plan --job")));
  const std::string all = result.out + testing::content_of(folder_ / "job.yaml");
  EXPECT_THAT(all, AllOf(Not(HasSubstr("pseudonym")), Not(HasSubstr("town1")), Not(HasSubstr("words of")),
                         Not(HasSubstr("123457")), Not(HasSubstr("green"))));
  EXPECT_FALSE(column(job::load_job(folder_ / "job.yaml"), "town").one_hot) << "wdl embeds";
}

TEST_F(Init, SaysWhenOneHotColumnsAreCheaperThanEmbeddings) {
  (void)folder_.write("b.csv", people(2));
  const Result embedded = call({"--party", "B", "--data", at("b.csv"), "--model", "wdl", "--out", at("wdl.yaml")});
  ASSERT_EQ(embedded.code, kDone) << embedded.err;
  EXPECT_THAT(embedded.out,
              ::testing::ContainsRegex(
                  "Embeddings will take about [0-9.]+ times the time and [0-9.]+ times the traffic "
                  "of one-hot columns \\(--model mlp\\), which are often as good with few categories; `blindfl plan`"));
  const Result plain = call({"--party", "B", "--data", at("b.csv"), "--model", "lr", "--out", at("lr.yaml")});
  EXPECT_THAT(plain.out, Not(HasSubstr("Embeddings")));
}

TEST_F(Init, TakesTheSectionThatThePeerSent) {
  (void)folder_.write("b.csv", people(3));
  const Result of_b = call({"--party", "B", "--data", at("b.csv"), "--out", at("b.yaml")});
  ASSERT_EQ(of_b.code, kDone) << of_b.err;
  const std::size_t begin = of_b.out.find("shared:\n");
  const std::string section = of_b.out.substr(begin, of_b.out.find("\n\n", begin) + 1 - begin);
  (void)folder_.write("from_b.yaml", section);
  (void)folder_.write("a.csv", people(2));
  for (const char* from : {"from_b.yaml", "b.yaml"}) {
    const Result of_a = call({"--party", "A", "--data", at("a.csv"), "--dial", "b.org:7000", "--shared-from", at(from),
                              "--out", at(std::string("a-") + from)});
    ASSERT_EQ(of_a.code, kDone) << of_a.err;
    const job::Job a = job::load_job(folder_ / (std::string("a-") + from));
    EXPECT_EQ(a.shared, job::load_job(folder_ / "b.yaml").shared);
    EXPECT_EQ(a.shared.model.kind, ModelKind::kMlr);
    EXPECT_EQ(a.shared.model.classes, 3U);
    EXPECT_EQ(a.own.data.label_column, std::nullopt);
    EXPECT_EQ(column(a, "label").kind, ColumnKind::kIgnore) << "A has no labels";
    EXPECT_EQ(a.own.link.dial, "b.org:7000");
  }
}

TEST_F(Init, WritesAPairForOneMachine) {
  (void)folder_.write("a.tsv", people(2, '\t'));
  (void)folder_.write("b.csv", people(2, ';'));
  const Result result = call(
      {"--both", "--data", at("a.tsv"), "--peer-data", at("b.csv"), "--out", at("try.yaml"), "--kind", "town=ignore"});
  ASSERT_EQ(result.code, kDone) << result.err;
  const job::Job a = job::load_job(folder_ / "try-a.yaml");
  const job::Job b = job::load_job(folder_ / "try-b.yaml");
  EXPECT_EQ(a.shared, b.shared);
  EXPECT_EQ(a.own.data.delimiter, "tab");
  EXPECT_EQ(b.own.data.delimiter, ";");
  EXPECT_EQ(a.own.link.dial, b.own.link.listen);
  EXPECT_NE(a.own.run.folder, b.own.run.folder);
  EXPECT_EQ(column(a, "town").kind, ColumnKind::kIgnore);
}

TEST_F(Init, AsksAWhatItAccepts) {
  (void)folder_.write("a.csv", people(2));
  const auto words = [&](const std::string& out, std::vector<std::string> more = {}) {
    std::vector<std::string> all{"--party", "A",     "--data",     at("a.csv"), "--dial",  "b.org:7000",
                                 "--model", "lr",    "--id",       "person_id", "--align", "intersection",
                                 "--out",   at(out), "--plaintext"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const auto accepted = [&](const char* file) { return job::load_job(folder_ / file).own.accept; };
  // At a terminal.
  const std::string asked = answer("open_top\n", words("yes.yaml"));
  EXPECT_THAT(asked,
              AllOf(HasSubstr("could recover A's"), HasSubstr("What A accepts: open_top, or nothing [nothing]: "),
                    Not(HasSubstr("Nothing is accepted"))));
  EXPECT_EQ(accepted("yes.yaml"), job::Acceptance::kOpenTop);
  EXPECT_THAT(answer("\n", words("no.yaml")), HasSubstr("Nothing is accepted"));
  EXPECT_EQ(accepted("no.yaml"), job::Acceptance::kNothing);
  // Where nobody answers, an option says it; without one, the line is there as a comment, explained.
  EXPECT_EQ(call(words("option.yaml", {"--accept", "open_top"})).code, kDone);
  EXPECT_EQ(accepted("option.yaml"), job::Acceptance::kOpenTop);
  const Result silent = call(words("silent.yaml"));
  EXPECT_EQ(silent.code, kDone) << silent.err;
  EXPECT_THAT(silent.out, AllOf(HasSubstr("Nothing is accepted"), HasSubstr("`train` at A will\nnot start"),
                                HasSubstr("write accept: open_top there")));
  EXPECT_THAT(testing::content_of(folder_ / "silent.yaml"),
              AllOf(HasSubstr("\n  #accept: nothing\n"), HasSubstr("# what A accepts, and only A says.")));
  EXPECT_THAT(call(words("wrong.yaml", {"--accept", "all"})).err, HasSubstr("--accept must be open_top or nothing"));
}

TEST_F(Init, DoesNotLetBAccept) {
  (void)folder_.write("b.csv", people(2));
  const Result result = call({"--party", "B", "--data", at("b.csv"), "--accept", "open_top", "--out", at("b.yaml")});
  EXPECT_EQ(result.code, kWrongUsage);
  EXPECT_THAT(result.err, HasSubstr("--accept is A's to say"));
  EXPECT_THAT(call({"--party", "B", "--data", at("b.csv"), "--out", at("b.yaml")}).out, Not(HasSubstr("accepted")));
}

TEST_F(Init, NeverReplacesAFileUnlessTold) {
  (void)folder_.write("b.csv", people(2));
  const std::vector<std::string> words{"--party", "B", "--data", at("b.csv"), "--out", at("job.yaml")};
  (void)folder_.write("job.yaml", "mine");
  const Result result = call(words);
  EXPECT_EQ(result.code, kFailed);
  EXPECT_THAT(result.err, AllOf(HasSubstr("is there already"), HasSubstr("--force")));
  EXPECT_EQ(testing::content_of(folder_ / "job.yaml"), "mine");
  std::vector<std::string> forced = words;
  forced.emplace_back("--force");
  EXPECT_EQ(call(forced).code, kDone);
  EXPECT_THAT(testing::content_of(folder_ / "job.yaml"), HasSubstr("A job file of BlindFL"));
}

TEST_F(Init, AsksWhatIsNotGiven) {
  (void)folder_.write("b.csv", people(2));
  // party, data, id (taken), label, model, alignment, address, certificate, key, the peer's
  const std::string out = answer("B\n" + at("b.csv") + "\n\nflag\nlr\n\n\n\n\n\n", {"--out", at("job.yaml")});
  EXPECT_THAT(out, AllOf(HasSubstr("Which party this is: A, or B, who has the labels: "),
                         HasSubstr("Column that names the people, or none [person_id]: "),
                         HasSubstr("Column that is to be predicted [label]: "), HasSubstr("[wdl]: "),
                         HasSubstr("[intersection]: "), HasSubstr("[0.0.0.0:7000]: ")));
  const job::Job job = job::load_job(folder_ / "job.yaml");
  EXPECT_EQ(job.own.data.label_column, "flag");
  EXPECT_EQ(job.own.link.certificate, folder_ / "keys/b.crt");
  EXPECT_THAT(testing::message_of<UsageError>([&] { (void)answer("A\n", {}); }), HasSubstr("--data is missing"));
}

TEST_F(Init, SaysWhichFlagIsMissingOrWrong) {
  const std::string data = folder_.write("b.csv", people(2)).string();
  (void)folder_.write("plain.csv", "u,v\n1.5,2\n2.5,3\n3.5,9\n");
  const auto complaint = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--out", at("no.yaml")});
    const Result result = call(std::move(words));
    EXPECT_NE(result.code, kDone);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "no.yaml"));
    return result.err;
  };
  EXPECT_THAT(complaint({"--data", data}), HasSubstr("--party is missing"));
  EXPECT_THAT(complaint({"--party", "C", "--data", data}), HasSubstr("--party must be A or B"));
  EXPECT_THAT(complaint({"--party", "B"}), HasSubstr("--data is missing"));
  EXPECT_THAT(complaint({"--party", "A", "--data", data}), HasSubstr("--dial is missing"));
  EXPECT_THAT(complaint({"--party", "A", "--data", data, "--label", "age"}), HasSubstr("--label is for B"));
  EXPECT_THAT(complaint({"--party", "B", "--data", at("plain.csv")}), HasSubstr("--label is missing"));
  EXPECT_THAT(complaint({"--party", "B", "--data", data, "--label", "lable"}), HasSubstr("did you mean 'label'?"));
  EXPECT_THAT(complaint({"--party", "B", "--data", data, "--label", "age"}), HasSubstr("missing values"));
  EXPECT_THAT(complaint({"--party", "B", "--data", data, "--model", "svm"}), HasSubstr("there is no 'svm', only: lr"));
  EXPECT_THAT(complaint({"--party", "B", "--data", data, "--label", "town", "--model", "linear"}),
              HasSubstr("the labels are words"));
  EXPECT_THAT(complaint({"--party", "B", "--data", data, "--id", "none", "--align", "union"}),
              HasSubstr("needs a column with ids"));
  EXPECT_THAT(complaint({"--party", "B", "--data", data, "--kind", "age=colour"}), HasSubstr("there is no kind"));
  EXPECT_THAT(complaint({"--party", "B", "--data", data, "--kind", "label=ignore"}), HasSubstr("the id or the label"));
  EXPECT_THAT(complaint({"--party", "B", "--data", data, "--listen", "a:1", "--dial", "b:2"}), HasSubstr("exclude"));
  EXPECT_THAT(complaint({"--party", "B", "--data", data, "--plaintext", "--key", "k"}), HasSubstr("leave out --key"));
  EXPECT_THAT(complaint({"--party", "B", "--data", data, "--listen", "nowhere"}), HasSubstr("HOST:PORT"));
  EXPECT_THAT(complaint({"--party", "A", "--data", data, "--dial", "b:2", "--model", "mlr"}),
              HasSubstr("--classes is missing"));
  EXPECT_THAT(complaint({"--both", "--data", data}), HasSubstr("--peer-data is missing"));
  EXPECT_THAT(complaint({"--both", "--data", data, "--party", "A"}), HasSubstr("leave out --party"));
  EXPECT_THAT(complaint({"--party", "B", "--data", at("none.csv")}), HasSubstr("none.csv"));
}

TEST_F(Init, KnowsLibsvmFiles) {
  (void)folder_.write("b.txt", "+1 1:1 5:1\n-1 3:1\n+1 2:1 3:1 7:1\n");
  const Result result = call({"--party", "B", "--data", at("b.txt"), "--out", at("job.yaml")});
  ASSERT_EQ(result.code, kDone) << result.err;
  const job::Job job = job::load_job(folder_ / "job.yaml");
  EXPECT_EQ(job.own.data.format, job::FileFormat::kLibsvm);
  EXPECT_EQ(job.own.data.libsvm.features, 7U);
  EXPECT_EQ(job.own.data.libsvm.first_index, 1U);
  EXPECT_EQ(job.own.data.numeric, (job::Encoding{.scale = 0, .largest = 1, .clip = false}));
  EXPECT_EQ(job.shared.model.kind, ModelKind::kLr);
  EXPECT_EQ(job.shared.alignment.mode, job::AlignmentMode::kAligned);
}

TEST_F(Init, RelativePathsBeginAtTheJobFile) {
  (void)folder_.write("b.csv", people(2));
  std::filesystem::create_directory(folder_ / "jobs");
  const std::string relative = std::filesystem::relative(folder_ / "b.csv").string();
  const Result result = call({"--party", "B", "--data", relative, "--out", at("jobs/job.yaml")});
  ASSERT_EQ(result.code, kDone) << result.err;
  const job::Job job = job::load_job(folder_ / "jobs/job.yaml");
  EXPECT_TRUE(std::filesystem::equivalent(job.own.data.train.value(), folder_ / "b.csv"));
}

TEST(InitPaths, OfAJobFileHereBeginHere) {
  EXPECT_EQ(init::seen_from("", "data/b.csv"), "data/b.csv");
  EXPECT_EQ(init::seen_from("jobs", "data/b.csv"), "../data/b.csv");
  EXPECT_EQ(init::seen_from("", "/data/b.csv"), "/data/b.csv");
}

TEST_F(Init, FilesWithoutAHeaderHaveNumberedColumns) {
  (void)folder_.write("b.csv", "1.5,x,0\n2.5,y,1\n3.25,x,1\n");
  const Result result =
      call({"--party", "B", "--data", at("b.csv"), "--label", "3", "--model", "lr", "--out", at("job.yaml")});
  ASSERT_EQ(result.code, kDone) << result.err;
  const job::Job job = job::load_job(folder_ / "job.yaml");
  EXPECT_FALSE(job.own.data.header);
  EXPECT_EQ(column(job, "2").kind, ColumnKind::kCategorical);
}

init::ColumnProfile profile(const std::string& name, const std::vector<std::string>& cells) {
  init::ColumnProfile all(name);
  for (const std::string& cell : cells) all.add(cell);
  return all;
}

TEST(InitGuess, ModelFollowsTheLabels) {
  const auto kind = [](const std::string& name, const std::vector<std::string>& cells) {
    return init::guess_model(profile(name, cells), false).kind;
  };
  EXPECT_EQ(kind("y", {"-1", "1", "1"}), ModelKind::kLr);
  EXPECT_EQ(kind("y", {"yes", "no", "no"}), ModelKind::kLr);
  EXPECT_EQ(kind("y", {"a", "b", "c"}), ModelKind::kMlr);
  EXPECT_EQ(kind("y", {"0", "1", "2", "1"}), ModelKind::kMlr);
  EXPECT_EQ(kind("claims", {"0", "1", "2", "1"}), ModelKind::kPoisson);
  EXPECT_EQ(kind("y", {"0.5", "1", "2"}), ModelKind::kLinear);
  std::vector<std::string> many;
  many.reserve(40);
  for (int i = 0; i < 40; ++i) many.push_back(std::to_string(i * i));
  EXPECT_EQ(kind("y", many), ModelKind::kLinear);
  EXPECT_EQ(init::guess_model(profile("y", {"0", "1"}), true).kind, ModelKind::kWdl);
}

TEST(InitGuess, LargeLabelsGetLargeDerivatives) {
  const init::ColumnProfile prices = profile("price", {"100.5", "-90000", "70"});
  EXPECT_EQ(init::largest_derivative(ModelKind::kLinear, prices), 0x1p19);
  EXPECT_EQ(init::largest_derivative(ModelKind::kMlr, prices), 256);
}

TEST(InitGuess, IdsAreUniqueAndCalledSo) {
  init::Sample sample;
  sample.columns = {profile("age", {"1", "2", "3"}), profile("customerId", {"9", "5", "7"})};
  EXPECT_EQ(init::guess_id(sample), "customerId");
  sample.columns[1] = profile("customerId", {"9", "5", "9"});
  EXPECT_EQ(init::guess_id(sample), std::nullopt);
  sample.columns[0] = profile("who", {"ann", "bob", "cid"});
  EXPECT_EQ(init::guess_id(sample), "who");
  sample.columns = {profile("paid", {"1", "2", "3"}), profile("x", {"9", "5", "7"})};
  EXPECT_EQ(init::guess_id(sample), std::nullopt) << "'paid' only ends like it";
}

TEST(InitGuess, UnusualMarksOfMissingNumbersAreFound) {
  const init::ColumnProfile income = profile("income", {"1.5", "-", "2.5", "N/A"});
  EXPECT_TRUE(income.is_numeric());
  EXPECT_EQ(income.missing(), 2U);
  EXPECT_FALSE(profile("grade", {"a", "-", "b"}).is_numeric());
  EXPECT_EQ(init::guess_column(income, false).column.missing, job::MissingValue::kMean);
}

TEST(InitGuess, CodesAreCategoriesAndSentencesAreNot) {
  const init::ColumnGuess code = init::guess_column(profile("region_code", {"3", "1", "3", "7"}), false);
  EXPECT_EQ(code.column.kind, ColumnKind::kCategorical);
  std::vector<std::string> sentences;
  sentences.reserve(50);
  for (int i = 0; i < 50; ++i) {
    sentences.push_back("word" + std::to_string(i) + ", other" + std::to_string(i * 3) + ", more" + std::to_string(i));
  }
  EXPECT_EQ(init::guess_column(profile("text", sentences), false).column.kind, ColumnKind::kIgnore);
}

TEST(InitHelp, ShowsHowToBegin) {
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(run(std::vector<std::string>{"init", "--help"}, out, err), kDone);
  EXPECT_THAT(out.str(), AllOf(HasSubstr("blindfl init --party B --data b.csv --label income"),
                               HasSubstr("--shared-from FILE"), HasSubstr("--both")));
}

}  // namespace
}  // namespace blindfl::app

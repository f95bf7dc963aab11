// `blindfl init`: what it makes of files, what it asks, and that what it writes can be read.

#include "blindfl/app/init/init.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "blindfl/app/commands/run.h"
#include "blindfl/app/init/guess.h"
#include "blindfl/app/init/party_draft.h"
#include "blindfl/app/job/job.h"
#include "blindfl/app/link/identity_files.h"
#include "testing/scratch_folder.h"
#include "testing/thrown.h"

namespace blindfl::app::init_test {
namespace {

using data::ColumnKind;
using job::ModelKind;
using prepare::Transform;
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
  [[nodiscard]] static const prepare::ColumnSpec& column(const job::Job& job, std::string_view name) {
    for (const prepare::ColumnSpec& each : job.own.data.columns) {
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
  const Result result =
      call({"--party", "B", "--data", at("b.csv"), "--id", "person_id", "--model", "lr", "--out", at("job.yaml")});
  ASSERT_EQ(result.code, kDone) << result.err;
  const job::Job job = job::load_job(folder_ / "job.yaml");
  EXPECT_EQ(job.own.party, Party::kB);
  EXPECT_EQ(job.shared.model.kind, ModelKind::kLr);
  EXPECT_EQ(job.own.data.id_column, "person_id");
  EXPECT_EQ(job.own.data.label_column, "label");
  EXPECT_EQ(job.shared.alignment.mode, job::AlignmentMode::kIntersection);
  EXPECT_EQ(job.own.link.listen, "0.0.0.0:7000");
  EXPECT_EQ(column(job, "age").transform, Transform::kStandardise);
  EXPECT_EQ(column(job, "age").missing, data::Missing::kMean);
  EXPECT_EQ(column(job, "amount").transform, Transform::kLog);
  EXPECT_EQ(column(job, "town").kind, ColumnKind::kCategory);
  EXPECT_TRUE(column(job, "town").one_hot) << "lr has no embeddings";
  EXPECT_EQ(column(job, "tags").kind, ColumnKind::kCategories);
  EXPECT_EQ(column(job, "tags").separator, "|");
  EXPECT_TRUE(column(job, "tags").one_hot);
  EXPECT_EQ(column(job, "note").kind, ColumnKind::kIgnored);
  EXPECT_EQ(column(job, "same").kind, ColumnKind::kIgnored);
  EXPECT_EQ(column(job, "row").kind, ColumnKind::kIgnored);
  EXPECT_EQ(column(job, "flag").transform, Transform::kNone);
  EXPECT_EQ(testing::mode_of(folder_ / "job.yaml"), 0600U);
}

TEST_F(Init, TellsWhatItSawButNoValue) {
  (void)folder_.write("b.csv", people(2));
  const Result result = call({"--party", "B", "--data", at("b.csv"), "--id", "person_id", "--out", at("job.yaml")});
  EXPECT_THAT(result.out, AllOf(HasSubstr("all 100 rows looked at"), HasSubstr("text, 5 distinct"),
                                HasSubstr("the same in all rows"), HasSubstr("12 missing")));
  EXPECT_THAT(result.out, AllOf(HasSubstr("model wdl: labels of two classes, and columns of categories"),
                                HasSubstr("shared:\n  model:\n    kind: wdl\n"), HasSubstr("--shared-from"),
                                HasSubstr("identity: there was none, so it was made"), HasSubstr("fingerprint: "),
                                HasSubstr("put it at " + at("keys/a.crt")), HasSubstr("blindfl plan --job")));
  const std::string all = result.out + testing::content_of(folder_ / "job.yaml");
  EXPECT_THAT(all, AllOf(Not(HasSubstr("pseudonym")), Not(HasSubstr("town1")), Not(HasSubstr("words of")),
                         Not(HasSubstr("123457")), Not(HasSubstr("green"))));
  EXPECT_FALSE(column(job::load_job(folder_ / "job.yaml"), "town").one_hot) << "wdl embeds";
}

TEST_F(Init, SaysWhenOneHotColumnsAreCheaperThanEmbeddings) {
  (void)folder_.write("b.csv", people(2));
  const Result embedded =
      call({"--party", "B", "--data", at("b.csv"), "--id", "person_id", "--model", "wdl", "--out", at("wdl.yaml")});
  ASSERT_EQ(embedded.code, kDone) << embedded.err;
  EXPECT_THAT(embedded.out,
              ::testing::ContainsRegex(
                  "Embeddings will take about [0-9.]+ times the time and [0-9.]+ times the traffic "
                  "of one-hot columns \\(--model lr\\), which are often as good with few categories; `blindfl plan`"));
  const Result plain =
      call({"--party", "B", "--data", at("b.csv"), "--id", "person_id", "--model", "lr", "--out", at("lr.yaml")});
  ASSERT_EQ(plain.code, kDone) << plain.err;
  EXPECT_THAT(plain.out, Not(HasSubstr("Embeddings")));
}

TEST_F(Init, TakesTheSectionThatThePeerSent) {
  (void)folder_.write("b.csv", people(3));
  const Result of_b = call({"--party", "B", "--data", at("b.csv"), "--id", "person_id", "--out", at("b.yaml")});
  ASSERT_EQ(of_b.code, kDone) << of_b.err;
  const std::size_t begin = of_b.out.find("shared:\n");
  const std::string section = of_b.out.substr(begin, of_b.out.find("\n\n", begin) + 1 - begin);
  (void)folder_.write("from_b.yaml", section);
  (void)folder_.write("a.csv", people(2));
  for (const char* from : {"from_b.yaml", "b.yaml"}) {
    const Result of_a =
        call({"--party", "A", "--data", at("a.csv"), "--id", "person_id", "--kind", "label=ignore", "--dial",
              "b.org:7000", "--shared-from", at(from), "--out", at(std::string("a-") + from)});
    ASSERT_EQ(of_a.code, kDone) << of_a.err;
    const job::Job a = job::load_job(folder_ / (std::string("a-") + from));
    EXPECT_EQ(a.shared, job::load_job(folder_ / "b.yaml").shared);
    EXPECT_EQ(a.shared.model.kind, ModelKind::kMlr);
    EXPECT_EQ(a.shared.model.classes, 3U);
    EXPECT_EQ(a.own.data.label_column, std::nullopt);
    EXPECT_EQ(column(a, "label").kind, ColumnKind::kIgnored) << "A has no labels";
    EXPECT_EQ(a.own.link.dial, "b.org:7000");
  }
}

TEST_F(Init, NamesSeveralAs) {
  (void)folder_.write("b.csv", people(2));
  const auto key = make_identity_files("b", folder_ / "keys", 30);
  for (const char* name : {"shop", "bank"}) (void)make_identity_files(name, folder_ / name, 30);
  const std::vector<std::string> at_b = {"--party",       "B",
                                         "--data",        at("b.csv"),
                                         "--id",          "person_id",
                                         "--model",       "lr",
                                         "--out",         at("job.yaml"),
                                         "--key",         key.key.string(),
                                         "--certificate", key.certificate.string(),
                                         "--peer",        "shop=" + at("shop/shop.crt"),
                                         "--force"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), at_b.begin(), at_b.end());
    return call(more);
  };
  const std::string bank = "bank=" + at("bank/bank.crt");
  const Result result = with({"--listen", "shop=0.0.0.0:7001", "--dial", "bank=bank.org:7002", "--peer", bank});
  ASSERT_EQ(result.code, kDone) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("shared.model.top is open, which each A must accept"),
                                HasSubstr("to all other parties"), HasSubstr("--certificate " + at("bank/bank.crt"))));
  const job::Job job = job::load_job(folder_ / "job.yaml");
  EXPECT_THAT(job.own.link.names_of_as(), ::testing::ElementsAre("shop", "bank"));
  EXPECT_EQ(job.own.link.peers[0].listen, "0.0.0.0:7001");
  EXPECT_EQ(job.own.link.peers[1].dial, "bank.org:7002");
  EXPECT_EQ(job.own.link.peers[1].certificate, folder_ / "bank/bank.crt");
  EXPECT_FALSE(job.shared.model.shared_top());

  EXPECT_THAT(with({"--listen", "shop=x:1", "--listen", "bank=x:2"}).err, HasSubstr("--peer bank=FILE is missing"));
  EXPECT_THAT(with({"--listen", "shop=x:1", "--peer", bank}).err, HasSubstr("--peer bank: there is neither"));
  EXPECT_THAT(with({"--listen", "shop=x:1", "--listen", "x:2", "--peer", bank}).err, HasSubstr("say NAME=HOST:PORT"));
  EXPECT_THAT(with({"--listen", "shop=x:1", "--listen", "bank=x:2", "--peer", bank, "--top", "shared"}).err,
              HasSubstr("--top shared is between B and one A"));
  EXPECT_THAT(with({"--other", bank, "--name", "b"}).err, HasSubstr("--name and --other are for A"));
}

TEST_F(Init, NamesTheOtherAs) {
  (void)folder_.write("b.csv", people(2));
  const auto key = make_identity_files("shop", folder_ / "keys", 30);
  const std::vector<std::string> at_a = {
      "--party", "A",         "--data",   at("b.csv"),      "--id",          "person_id",
      "--model", "lr",        "--kind",   "label=ignore",   "--out",         at("job.yaml"),
      "--dial",  "b:7001",    "--key",    key.key.string(), "--certificate", key.certificate.string(),
      "--peer",  at("b.crt"), "--accept", "open_top",       "--other",       "bank=" + at("bank.crt")};
  EXPECT_THAT(call(at_a).err, HasSubstr("--name is missing"));
  std::vector<std::string> named = at_a;
  named.insert(named.end(), {"--name", "shop"});
  const Result result = call(named);
  ASSERT_EQ(result.code, kDone) << result.err;
  EXPECT_THAT(result.out, HasSubstr("A certificate is not here yet: put it at " + at("bank.crt")));
  const job::Job job = job::load_job(folder_ / "job.yaml");
  EXPECT_THAT(job.own.link.names_of_as(), ::testing::ElementsAre("shop", "bank"));
  EXPECT_EQ(job.own.link.dial, "b:7001");
  EXPECT_FALSE(job.shared.model.shared_top());
}

TEST_F(Init, WritesAPairForOneMachine) {
  (void)folder_.write("a.tsv", people(2, '\t'));
  (void)folder_.write("b.csv", people(2, ';'));
  const Result result =
      call({"--both", "--data", at("a.tsv"), "--peer-data", at("b.csv"), "--out", at("try.yaml"), "--kind",
            "town=ignore", "--id", "person_id", "--kind", "row=ignore", "--label", "flag", "--kind", "label=ignore"});
  ASSERT_EQ(result.code, kDone) << result.err;
  const job::Job a = job::load_job(folder_ / "try-a.yaml");
  const job::Job b = job::load_job(folder_ / "try-b.yaml");
  EXPECT_EQ(a.shared, b.shared);
  EXPECT_EQ(a.own.data.delimiter, "tab");
  EXPECT_EQ(b.own.data.delimiter, ";");
  EXPECT_EQ(a.own.link.dial, b.own.link.listen);
  EXPECT_NE(a.own.run.folder, b.own.run.folder);
  EXPECT_EQ(column(a, "town").kind, ColumnKind::kIgnored);
}

TEST_F(Init, AsksAWhatItAccepts) {
  (void)folder_.write("a.csv", people(2));
  const auto words = [&](const std::string& out, std::vector<std::string> more = {}) {
    std::vector<std::string> all{"--party", "A",     "--data",      at("a.csv"), "--dial",       "b.org:7000",
                                 "--model", "lr",    "--id",        "person_id", "--align",      "intersection",
                                 "--out",   at(out), "--plaintext", "--kind",    "label=ignore", "--top",
                                 "open"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const auto accepted = [&](const char* file) { return job::load_job(folder_ / file).own.accept; };
  // At a terminal.
  const std::string asked = answer("open-top\nopen_top\n", words("yes.yaml"));
  EXPECT_THAT(asked, HasSubstr("--accept must be open_top, fine_scores or nothing, not 'open-top'\n"))
      << "and is asked again";
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
  EXPECT_THAT(call(words("wrong.yaml", {"--accept", "all"})).err,
              HasSubstr("--accept must be open_top, fine_scores or nothing"));
}

TEST_F(Init, TakesAnOpenTopOnlyWhereASharedOneCannotBeAndSaysSo) {
  (void)folder_.write("b.csv", people(2));
  const auto drafted = [&](const std::string& out, std::vector<std::string> more) {
    std::vector<std::string> all{"--party",   "B",           "--data", at("b.csv"), "--id",
                                 "person_id", "--plaintext", "--out",  at(out)};
    all.insert(all.end(), more.begin(), more.end());
    const Result result = call(all);
    EXPECT_EQ(result.code, kDone) << result.err;
    return std::pair(job::load_job(folder_ / out).shared.model.top, result.out);
  };
  const auto [usual, said] = drafted("lr.yaml", {"--model", "lr"});
  EXPECT_EQ(usual, protocol::Top::kShared);
  EXPECT_THAT(said, Not(HasSubstr("shared.model.top")));
  const auto [dlrm, of_dlrm] = drafted("dlrm.yaml", {"--model", "dlrm"});
  EXPECT_EQ(dlrm, protocol::Top::kOpen);
  EXPECT_THAT(of_dlrm, HasSubstr("shared.model.top is open, which A must accept, because a shared top is refused "
                                 "(shared.model.top): the interaction of dlrm"));
  for (const char* kind : {"fm", "deepfm"}) {
    const auto [top, of_factors] = drafted(std::string(kind) + ".yaml", {"--model", kind});
    EXPECT_EQ(top, protocol::Top::kShared) << kind;
    EXPECT_THAT(of_factors, Not(HasSubstr("shared.model.top")));
  }
  const auto [union_top, of_union] = drafted("union.yaml", {"--model", "lr", "--align", "union"});
  EXPECT_EQ(union_top, protocol::Top::kOpen);
  EXPECT_THAT(of_union, HasSubstr("a shared top is refused (shared.alignment.mode): union has placeholders"));
  EXPECT_THAT(testing::content_of(folder_ / "union.yaml"),
              HasSubstr("# Written by `blindfl init`, because a shared top is refused"));
  (void)folder_.write("b.csv", "person_id,x,w,label\n1,2,1,0\n2,2,2,1\n3,3,1,0\n4,3,1,1\n");
  const auto [weighted, of_weights] = drafted("weights.yaml", {"--model", "lr", "--weight", "w"});
  EXPECT_EQ(weighted, protocol::Top::kShared);
  EXPECT_THAT(of_weights, HasSubstr("shared.training.row_weights is true, because B's rows have weights"));
  EXPECT_TRUE(job::load_job(folder_ / "weights.yaml").shared.training.row_weights);
  EXPECT_THAT(testing::content_of(folder_ / "weights.yaml"), HasSubstr("A learns that B's rows have weights"));
  const auto [open, of_open] = drafted("open.yaml", {"--model", "lr", "--weight", "w", "--top", "open"});
  EXPECT_EQ(open, protocol::Top::kOpen);
  EXPECT_FALSE(job::load_job(folder_ / "open.yaml").shared.training.row_weights);
}

TEST_F(Init, OfASharedTopAsksAForNothing) {
  (void)folder_.write("a.csv", people(2));
  std::vector<std::string> words{"--party",     "A",      "--data",       at("a.csv"), "--dial",  "b.org:7000",
                                 "--model",     "lr",     "--id",         "person_id", "--align", "intersection",
                                 "--plaintext", "--kind", "label=ignore", "--top",     "shared",  "--out",
                                 at("a.yaml")};
  const std::string asked = answer("", words);
  EXPECT_THAT(asked, AllOf(Not(HasSubstr("What A accepts")), Not(HasSubstr("Nothing is accepted"))));
  const job::Job job = job::load_job(folder_ / "a.yaml");
  EXPECT_EQ(job.shared.model.top, protocol::Top::kShared);
  EXPECT_EQ(job.own.accept, job::Acceptance::kNothing);
  // From the peer's section, with scores that A has to accept.
  const auto from_b = folder_.write("b.yaml",
                                    "shared:\n  model: {kind: lr, top: shared, score_bits: 8}\n"
                                    "  alignment: {mode: intersection}\n");
  words.assign({"--party", "A", "--data", at("a.csv"), "--dial", "b.org:7000", "--id", "person_id", "--plaintext",
                "--kind", "label=ignore", "--shared-from", from_b.string(), "--out", at("fine.yaml")});
  EXPECT_THAT(call(words).out, HasSubstr("write accept: fine_scores there"));
  words.insert(words.end(), {"--accept", "fine_scores", "--force"});
  EXPECT_THAT(call(words).out, Not(HasSubstr("Nothing is accepted")));
  EXPECT_EQ(job::load_job(folder_ / "fine.yaml").own.accept, job::Acceptance::kFineScores);
  words.insert(words.end(), {"--top", "open"});
  EXPECT_THAT(call(words).err, HasSubstr("--top is what --shared-from says; leave out one of them"));
}

TEST_F(Init, DoesNotLetBAccept) {
  (void)folder_.write("b.csv", people(2));
  const Result result = call({"--party", "B", "--data", at("b.csv"), "--accept", "open_top", "--out", at("b.yaml")});
  EXPECT_EQ(result.code, kWrongUsage);
  EXPECT_THAT(result.err, HasSubstr("--accept is A's to say"));
  const Result fine = call({"--party", "B", "--data", at("b.csv"), "--id", "person_id", "--out", at("b.yaml")});
  EXPECT_EQ(fine.code, kDone);
  EXPECT_THAT(fine.out, Not(HasSubstr("accepted")));
}

TEST_F(Init, NeverReplacesAFileUnlessTold) {
  (void)folder_.write("b.csv", people(2));
  const std::vector<std::string> words{"--party", "B",         "--data", at("b.csv"),
                                       "--id",    "person_id", "--out",  at("job.yaml")};
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
  // party, data, id, label, model, alignment, address
  const std::string out = answer("B\n" + at("b.csv") + "\nperson_id\nflag\nlr\n\n\n", {"--out", at("job.yaml")});
  EXPECT_THAT(out,
              AllOf(HasSubstr("Which party this is: A, or B, who has the labels: "),
                    HasSubstr("Column that names the people, or none (different in every row: person_id, note, row): "),
                    HasSubstr("Column that is to be predicted [label]: "), HasSubstr("[wdl]: "),
                    HasSubstr("[intersection]: "), HasSubstr("[0.0.0.0:7000]: ")));
  const job::Job job = job::load_job(folder_ / "job.yaml");
  EXPECT_EQ(job.own.data.label_column, "flag");
  EXPECT_EQ(job.own.link.certificate, folder_ / "keys/b.crt");
  EXPECT_EQ(job.own.link.peer, folder_ / "keys/a.crt");
  EXPECT_EQ(testing::mode_of(folder_ / "keys/b.key"), 0600U);
  EXPECT_THAT(testing::message_of<UsageError>([&] { (void)answer("A\n", {}); }), HasSubstr("--data is missing"));
}

TEST_F(Init, AsksAgainAfterATypo) {
  (void)folder_.write("b.csv", people(2));
  const std::string out = answer("C\nB\nnowhere.csv\n" + at("b.csv") +
                                     "\npersonid\nperson_id\nperson_id\nlable\nflag\nlinreg\nmlr\nlr\nsorted\nunion\n" +
                                     "7000\n0.0.0.0:7001\n",
                                 {"--out", at("job.yaml")});
  EXPECT_THAT(out, AllOf(HasSubstr("--party must be A or B, not 'C'\n"), HasSubstr("no such file as nowhere.csv\n"),
                         HasSubstr("did you mean 'person_id'?\n"), HasSubstr("is taken for the ids"),
                         HasSubstr("did you mean 'label'?\n"), HasSubstr("there is no 'linreg', only: lr"),
                         HasSubstr("there is no 'sorted'"), HasSubstr("must be HOST:PORT")));
  const job::Job job = job::load_job(folder_ / "job.yaml");
  EXPECT_EQ(job.shared.model.kind, ModelKind::kMlr);
  EXPECT_EQ(job.shared.alignment.mode, job::AlignmentMode::kUnion);
  EXPECT_EQ(job.own.link.listen, "0.0.0.0:7001");
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
  EXPECT_THAT(
      complaint({"--party", "B", "--data", data}),
      HasSubstr(
          "--id is missing: Column that names the people, or none (different in every row: person_id, note, row)"));
  EXPECT_THAT(complaint({"--party", "A", "--data", data, "--id", "person_id", "--kind", "label=ignore"}),
              HasSubstr("--dial is missing"));
  EXPECT_THAT(
      complaint({"--party", "A", "--data", data, "--id", "person_id", "--kind", "label=ignore", "--label", "age"}),
      HasSubstr("--label is for B"));
  EXPECT_THAT(complaint({"--party", "B", "--data", at("plain.csv"), "--id", "none"}), HasSubstr("--label is missing"));
  EXPECT_THAT(complaint({"--party", "B", "--data", data, "--id", "person_id", "--label", "lable"}),
              HasSubstr("did you mean 'label'?"));
  EXPECT_THAT(complaint({"--party", "B", "--data", data, "--id", "person_id", "--label", "age"}),
              HasSubstr("missing values"));
  EXPECT_THAT(complaint({"--party", "B", "--data", data, "--id", "person_id", "--model", "svm"}),
              HasSubstr("there is no 'svm', only: lr"));
  EXPECT_THAT(complaint({"--party", "B", "--data", data, "--id", "person_id", "--label", "town", "--model", "linear"}),
              HasSubstr("the labels are words"));
  EXPECT_THAT(complaint({"--party", "B", "--data", data, "--id", "none", "--align", "union"}),
              HasSubstr("needs a column with ids"));
  EXPECT_THAT(complaint({"--party", "B", "--data", data, "--id", "person_id", "--kind", "age=colour"}),
              HasSubstr("there is no kind"));
  EXPECT_THAT(complaint({"--party", "B", "--data", data, "--id", "person_id", "--kind", "label=ignore"}),
              HasSubstr("the id, the label or the weight"));
  EXPECT_THAT(complaint({"--party", "B", "--data", data, "--id", "person_id", "--listen", "a:1", "--dial", "b:2"}),
              HasSubstr("exclude"));
  EXPECT_THAT(complaint({"--party", "B", "--data", data, "--id", "person_id", "--plaintext", "--key", "k"}),
              HasSubstr("leave out --key"));
  EXPECT_THAT(complaint({"--party", "B", "--data", data, "--id", "person_id", "--listen", "nowhere"}),
              HasSubstr("HOST:PORT"));
  EXPECT_THAT(complaint({"--party", "A", "--data", data, "--id", "person_id", "--kind", "label=ignore", "--dial", "b:2",
                         "--model", "mlr"}),
              HasSubstr("--classes is missing"));
  EXPECT_THAT(complaint({"--both", "--data", data}), HasSubstr("--peer-data is missing"));
  EXPECT_THAT(complaint({"--both", "--data", data, "--party", "A"}), HasSubstr("leave out --party"));
  EXPECT_THAT(complaint({"--party", "B", "--data", at("none.csv")}), HasSubstr("none.csv"));
}

TEST_F(Init, KnowsLibsvmFiles) {
  (void)folder_.write("b.txt", "+1 1:1 5:1\n-1 3:1\n+1 2:1 3:1 7:1\n");
  const std::vector<std::string> words{"--party", "B", "--data", at("b.txt"), "--out", at("job.yaml")};
  const Result refused = call(words);
  EXPECT_THAT(refused.err, HasSubstr("--align is missing")) << "never guessed";
  std::vector<std::string> aligned = words;
  aligned.insert(aligned.end(), {"--align", "aligned"});
  const Result result = call(aligned);
  ASSERT_EQ(result.code, kDone) << result.err;
  const job::Job job = job::load_job(folder_ / "job.yaml");
  EXPECT_EQ(job.own.data.format, prepare::FileFormat::kLibsvm);
  EXPECT_EQ(job.own.data.libsvm.features, 7U);
  EXPECT_EQ(job.own.data.libsvm.first_index, 1U);
  EXPECT_EQ(job.own.data.numeric, (FixedPointSpec{.scale = 0, .largest = 1, .clip = false}));
  EXPECT_EQ(job.shared.model.kind, ModelKind::kLr);
  EXPECT_EQ(job.shared.alignment.mode, job::AlignmentMode::kAligned);
}

TEST_F(Init, RelativePathsBeginAtTheJobFile) {
  (void)folder_.write("b.csv", people(2));
  std::filesystem::create_directory(folder_ / "jobs");
  const std::string relative = std::filesystem::relative(folder_ / "b.csv").string();
  const Result result = call({"--party", "B", "--data", relative, "--id", "person_id", "--out", at("jobs/job.yaml")});
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
  const Result result = call({"--party", "B", "--data", at("b.csv"), "--label", "3", "--model", "lr", "--align",
                              "aligned", "--out", at("job.yaml")});
  ASSERT_EQ(result.code, kDone) << result.err;
  const job::Job job = job::load_job(folder_ / "job.yaml");
  EXPECT_FALSE(job.own.data.header);
  EXPECT_EQ(column(job, "2").kind, ColumnKind::kCategory);
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
  EXPECT_EQ(init::largest_derivative(ModelKind::kLinear, prices), 256) << "they are standardised";
  EXPECT_EQ(init::largest_derivative(ModelKind::kPoisson, prices), 0x1p19);
  EXPECT_EQ(init::largest_derivative(ModelKind::kMlr, prices), 256);
}

TEST(InitGuess, IdsAreUniqueAndTakenOnlyWhereThereIsNoOther) {
  init::Sample sample;
  const auto sure = [&] { return init::id_candidates(sample).sure; };
  sample.columns = {profile("age", {"1", "2", "1"}), profile("customerId", {"9", "5", "7"})};
  EXPECT_EQ(sure(), "customerId");
  sample.columns[0] = profile("cents", {"1", "2", "3"});
  EXPECT_EQ(sure(), std::nullopt);
  EXPECT_EQ(init::id_candidates(sample).names, (std::vector<std::string>{"cents", "customerId"}));
  sample.columns = {profile("who", {"ann", "bob", "cid"}), profile("customerId", {"9", "5", "9"})};
  EXPECT_EQ(sure(), "who");
  sample.columns = {profile("paid", {"1", "2", "3"}), profile("x", {"9.5", "5", "7"})};
  EXPECT_EQ(sure(), std::nullopt) << "'paid' only ends like it";
  EXPECT_EQ(init::id_candidates(sample).names, std::vector<std::string>{"paid"}) << "and could be it";
  for (const char* name : {"idx", "sid", "id", "user_id"}) {
    sample.columns[0] = profile(name, {"133", "273", "175"});
    EXPECT_EQ(sure(), name) << "as in FATE's files";
  }
}

TEST(InitGuess, ColumnsThatAreUniqueAreNoFeatures) {
  for (const auto& cells : {std::vector<std::string>{"133", "273", "175"}, std::vector<std::string>{"a", "b", "c"},
                            std::vector<std::string>{"1", "2", "3"}}) {
    EXPECT_EQ(init::guess_column(profile("sid", cells)).column.kind, ColumnKind::kIgnored);
  }
  EXPECT_EQ(init::guess_column(profile("x0", {"0.254879", "-1.5", "2.25"})).column.kind, ColumnKind::kNumeric)
      << "measured numbers hardly repeat";
}

TEST(InitGuess, NumbersThatAreNotFiniteAreNamed) {
  const init::ColumnGuess guess = init::guess_column(profile("x", {"1", "inf", "1", "1e400", "2"}));
  EXPECT_EQ(guess.column.kind, ColumnKind::kNumeric);
  EXPECT_THAT(guess.why, HasSubstr("2 NOT FINITE"));
}

TEST(InitGuess, UnusualMarksOfMissingNumbersAreFound) {
  const init::ColumnProfile income = profile("income", {"1.5", "-", "2.5", "N/A"});
  EXPECT_TRUE(income.is_numeric());
  EXPECT_EQ(income.missing(), 2U);
  EXPECT_FALSE(profile("grade", {"a", "-", "b"}).is_numeric());
  EXPECT_EQ(init::guess_column(income).column.missing, data::Missing::kMean);
}

TEST(InitGuess, CodesAreCategoriesAndSentencesAreNot) {
  const init::ColumnGuess code = init::guess_column(profile("region_code", {"3", "1", "3", "7"}));
  EXPECT_EQ(code.column.kind, ColumnKind::kCategory);
  std::vector<std::string> sentences;
  sentences.reserve(50);
  for (int i = 0; i < 50; ++i) {
    sentences.push_back("word" + std::to_string(i) + ", other" + std::to_string(i * 3) + ", more" + std::to_string(i));
  }
  EXPECT_EQ(init::guess_column(profile("text", sentences)).column.kind, ColumnKind::kIgnored);
}

/// Rows of a bank: the label and the income are both called like a label.
constexpr std::string_view kBank = "customer,age,income,default\n1007,30,50000,0\n1003,40,52000,1\n1001,30,50000,0\n";

TEST_F(Init, NeverGuessesAmongSeveralLabelsOrIds) {
  (void)folder_.write("b.csv", kBank);
  const Result without = call({"--party", "B", "--data", at("b.csv"), "--out", at("job.yaml")});
  EXPECT_NE(without.code, kDone);
  EXPECT_THAT(without.err, AllOf(HasSubstr("--id is missing"), HasSubstr("customer")));
  const Result no_label = call({"--party", "B", "--data", at("b.csv"), "--id", "customer", "--out", at("job.yaml")});
  EXPECT_THAT(no_label.err, HasSubstr("--label is missing: Column that is to be predicted (one of: income, default)"));
  const Result no_id =
      call({"--party", "B", "--data", at("b.csv"), "--id", "none", "--label", "default", "--out", at("job.yaml")});
  EXPECT_THAT(no_id.err, AllOf(HasSubstr("--align is missing"), HasSubstr("nonsense")));
  const Result fine = call({"--party", "B", "--data", at("b.csv"), "--id", "customer", "--label", "default", "--weight",
                            "age", "--out", at("job.yaml")});
  ASSERT_EQ(fine.code, kDone) << fine.err;
  const job::Job job = job::load_job(folder_ / "job.yaml");
  EXPECT_EQ(job.own.data.label_column, "default");
  EXPECT_EQ(job.own.data.weight_column, "age");
  EXPECT_EQ(job.own.data.columns.size(), 1U) << "all others are listed";
  EXPECT_EQ(job.own.data.default_kind, std::nullopt);
}

TEST_F(Init, AsksAboutALabelAtA) {
  (void)folder_.write("a.csv", "id,x,default\n7,0.5,0\n9,1.5,1\n8,2.5,1\n");
  const std::vector<std::string> words{"--party", "A",    "--data", at("a.csv"), "--dial",
                                       "b:7000",  "--id", "id",     "--out",     at("job.yaml")};
  const auto with = [&](const std::string& kind) {
    std::vector<std::string> more = words;
    more.insert(more.end(), {"--kind", kind, "--force"});
    EXPECT_EQ(call(more).code, kDone);
    return column(job::load_job(folder_ / "job.yaml"), "default").kind;
  };
  EXPECT_THAT(call(words).err,
              AllOf(HasSubstr("--kind is missing for column 'default'"), HasSubstr("--kind default=ignore")));
  EXPECT_EQ(with("default=ignore"), ColumnKind::kIgnored);
  EXPECT_EQ(with("default=numeric"), ColumnKind::kNumeric);
  std::vector<std::string> forced = words;
  forced.emplace_back("--force");
  EXPECT_THAT(answer("what\nnumeric\nlr\n\n\n", forced), HasSubstr("It must be numeric or ignore"));
  EXPECT_EQ(column(job::load_job(folder_ / "job.yaml"), "default").kind, ColumnKind::kNumeric);
}

TEST_F(Init, SaysWhatTheSharedSectionTellsOfLabels) {
  (void)folder_.write("b.csv", "id,x,visits\na,0.5,1000\nb,1.5,90000\nc,2.5,70\n");
  std::vector<std::string> words{"--party", "B", "--data", at("b.csv"), "--id", "id", "--label", "visits", "--model"};
  words.insert(words.end(), {"poisson", "--out", at("job.yaml")});
  const Result counts = call(words);
  ASSERT_EQ(counts.code, kDone) << counts.err;
  EXPECT_THAT(counts.out, AllOf(HasSubstr("derivative.largest is 524288"), HasSubstr("A learns this bound")));
  const std::string text = testing::content_of(folder_ / "job.yaml");
  // Those of linear regression are standardised at B, and nothing of them is told.
  words[9] = "linear";
  words[11] = at("linear.yaml");
  EXPECT_THAT(call(words).out, Not(HasSubstr("derivative.largest")));
  EXPECT_THAT(text, HasSubstr("# Follows from the largest of B's labels"));
  (void)folder_.write("c.csv", people(3));
  const Result classes =
      call({"--party", "B", "--data", at("c.csv"), "--id", "person_id", "--out", at("classes.yaml")});
  EXPECT_THAT(classes.out, HasSubstr("shared.model.classes is 3, counted in the labels: A learns it"));
  EXPECT_THAT(testing::content_of(folder_ / "classes.yaml"), HasSubstr("# Counted in B's labels"));
}

TEST_F(Init, TakesFormatsAsSaidAndLibsvmWithoutLabelsAtA) {
  (void)folder_.write("a.txt", "1:1 5:1\n3:1\n2:1 7:1\n");
  const Result of_a =
      call({"--party", "A", "--data", at("a.txt"), "--align", "aligned", "--dial", "b:1", "--out", at("a.yaml")});
  ASSERT_EQ(of_a.code, kDone) << of_a.err;
  EXPECT_EQ(job::load_job(folder_ / "a.yaml").own.data.format, prepare::FileFormat::kLibsvm);
  EXPECT_EQ(job::load_job(folder_ / "a.yaml").own.data.libsvm.features, 7U);
  EXPECT_THAT(call({"--party", "B", "--data", at("a.txt"), "--format", "libsvm", "--align", "aligned"}).err,
              HasSubstr("a.txt: line 1: is not `label index:value ...`"));
  EXPECT_THAT(call({"--party", "B", "--data", at("a.txt"), "--format", "xml"}).err, HasSubstr("--format must be"));
  (void)folder_.write("b.csv", kBank);
  EXPECT_THAT(call({"--party", "B", "--data", at("b.csv"), "--format", "libsvm"}).err, HasSubstr("line 1"));
}

TEST_F(Init, TakesTheIdentityAndThePeersCertificateFromKeys) {
  (void)folder_.write("b.csv", "id,x,y\na,0.5,0\nb,1.5,1\nc,2.5,1\n");
  const std::vector<std::string> words{"--party", "B",       "--data", at("b.csv"),   "--model",
                                       "lr",      "--force", "--out",  at("job.yaml")};
  const auto link = [&](const std::string& said) {
    const Result result = call(words);
    EXPECT_EQ(result.code, kDone) << result.err;
    EXPECT_THAT(result.out, HasSubstr(said));
    return job::load_job(folder_ / "job.yaml").own.link;
  };
  // The peer's came first: it is no identity, for its key is not there.
  (void)make_identity_files("app", folder_ / "elsewhere", 30);
  std::filesystem::create_directory(folder_ / "keys");
  std::filesystem::copy_file(folder_ / "elsewhere/app.crt", folder_ / "keys/app.crt");
  const job::Link made = link("so it was made");
  EXPECT_EQ(made.certificate, folder_ / "keys/b.crt");
  EXPECT_EQ(made.peer, folder_ / "keys/app.crt");
  EXPECT_EQ(testing::mode_of(folder_ / "keys/b.key"), 0600U);
  // Once more: what is there is taken.
  const job::Link taken = link("identity: " + at("keys/b.crt"));
  EXPECT_EQ(taken.key, folder_ / "keys/b.key");
  EXPECT_EQ(taken.peer, folder_ / "keys/app.crt");
  // Two that could be the peer's, and two identities.
  (void)make_identity_files("other", folder_ / "elsewhere", 30);
  std::filesystem::copy_file(folder_ / "elsewhere/other.crt", folder_ / "keys/other.crt");
  EXPECT_THAT(call(words).err, AllOf(HasSubstr("--peer is missing"), HasSubstr("app.crt"), HasSubstr("other.crt")));
  std::filesystem::copy_file(folder_ / "elsewhere/other.key", folder_ / "keys/other.key");
  EXPECT_THAT(call(words).err,
              AllOf(HasSubstr("--certificate and --key are missing"), HasSubstr("b.key"), HasSubstr("other.key")));
  // Beside a certificate that was named, the other one is the peer's.
  (void)make_identity_files("bank", folder_ / "safe", 30);
  std::filesystem::copy_file(folder_ / "elsewhere/app.crt", folder_ / "safe/app.crt");
  std::vector<std::string> named = words;
  named.insert(named.end(), {"--certificate", at("safe/bank.crt"), "--key", at("safe/bank.key")});
  EXPECT_EQ(call(named).code, kDone);
  EXPECT_EQ(job::load_job(folder_ / "job.yaml").own.link.peer, folder_ / "safe/app.crt");
  // A key whose certificate has another name, and one without any.
  std::filesystem::remove(folder_ / "keys/other.key");
  std::filesystem::remove(folder_ / "keys/other.crt");
  std::filesystem::rename(folder_ / "keys/b.crt", folder_ / "keys/bank.crt");
  EXPECT_EQ(link("identity: ").certificate, folder_ / "keys/bank.crt");
  std::filesystem::remove(folder_ / "keys/bank.crt");
  EXPECT_THAT(call(words).err, HasSubstr("no certificate beside it belongs to this key"));
}

TEST(InitHelp, ShowsHowToBegin) {
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(run(std::vector<std::string>{"init", "--help"}, out, err), kDone);
  EXPECT_THAT(out.str(), AllOf(HasSubstr("blindfl init --party B --data b.csv --label income"),
                               HasSubstr("--shared-from FILE"), HasSubstr("--both")));
}

}  // namespace
}  // namespace blindfl::app::init_test

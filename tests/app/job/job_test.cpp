#include "blindfl/app/job/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "blindfl/base/error.h"
#include "testing/job_text.h"
#include "testing/scratch_folder.h"
#include "testing/thrown.h"

namespace blindfl::app::job::job_test {
namespace {

using blindfl::testing::edited_job;
using blindfl::testing::kJobText;
using blindfl::testing::message_of;
using blindfl::testing::ScratchFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Job parse(std::string_view text, const std::vector<std::string>& overrides = {}) {
  return parse_job(text, {.source = "job.yaml"}, overrides);
}

Job overridden(const std::string& assignment) {
  return parse(kJobText, {assignment});
}

/// What a shared top refuses.
Job of_an_open_top(const std::string& assignment) {
  return parse(kJobText, {"shared.model.top=open", assignment});
}

std::string refusal(const std::vector<std::string>& overrides) {
  return message_of<ConfigError>([&] { (void)parse(kJobText, overrides); });
}

TEST(Job, HasTheDefaultsOfItsStructs) {
  Job expected;
  expected.shared.model.kind = ModelKind::kMlp;
  expected.own.party = Party::kB;
  expected.own.data.train = "b.csv";
  expected.own.link.listen = "0.0.0.0:7000";
  expected.own.link.plaintext = true;
  EXPECT_EQ(parse(kJobText), expected);
}

TEST(Job, KnowsTheUsualMarksOfMissingCells) {
  const std::vector<std::string> marks = Job{}.own.data.missing;
  for (const char* mark : {"", "NA", "NaN", "nan", "N/A", "None", "null", "?"}) {
    EXPECT_THAT(marks, ::testing::Contains(mark)) << mark;
  }
}

TEST(Job, HasClassWeightsPositiveClassAndRowWeights) {
  EXPECT_TRUE(of_an_open_top("private.top.class_weights=balanced").own.top.class_weights.balanced);
  EXPECT_THAT(of_an_open_top("private.top.class_weights=[1, 2.5]").own.top.class_weights.weights, ElementsAre(1, 2.5));
  EXPECT_EQ(overridden("private.data.label.positive=no").own.data.label.positive, "no");
  EXPECT_EQ(of_an_open_top("private.data.weight_column=w").own.data.weight_column, "w");
  EXPECT_THAT(refusal({"private.top.class_weights=even"}), HasSubstr("list of numbers from 0 to 1000000, or balanced"));
  EXPECT_THAT(refusal({"private.data.label.positive=x", "shared.model.classes=3"}), HasSubstr("is for two classes"));
  EXPECT_THAT(refusal({"private.data.weight_column=w", "private.party=a"}), HasSubstr("is for B"));
  EXPECT_THAT(refusal({"private.data.label.positive=w", "private.party=a"}), HasSubstr("is for B"));
  EXPECT_THAT(refusal({"private.data.weight_column=w", "private.data.label_column=w"}), HasSubstr("is the same as"));
}

TEST(Job, SaysWhatItsFileSays) {
  const Job job = parse(R"(
shared:
  model: {kind: mlr, top: open, classes: 20, hidden: [128, 64, 16], activation: tanh, embedding_dim: 4, initial_deviation: 0.5}
  training:
    epochs: 3
    learning_rate: 1e-2
    momentum: .9
    schedule:
      - {epoch: 2, learning_rate: 0.005}
      - {epoch: 3, learning_rate: 0.001}
    order_seed: 18446744073709551615
    validation_share: 0.1
    early_stopping: {patience: 2}
    derivative: {clip: yes}
  scheme: {default: paillier-3072, allowed: [lattice, paillier-3072], update: exchanged, features_a: lattice}
  alignment: {mode: only_b}
private:
  party: b
  data:
    train: data/train.csv
    test: "/data/my test.csv"
    delimiter: tab
    id_column: id
    label_column: 7
    missing: ["", -1]
    columns:
      - name: age
        transform: standardise
        missing: constant
        constant: -1.5
      - name: city
        kind: categorical
        vocabulary: {min_count: 5, most: 1000}
      - {name: tags, kind: multi, separator: "|", pooling: mean}
  top: {class_weights: [], metrics: [loss, accuracy]}
  link:
    dial: '[2001:db8::1]:7000'
    certificate: b.crt
    key: b.key
    peer: a.crt
    peer_fingerprint: "0123 4567 89ab cdef 0123 4567 89ab cdef 0123 4567 89AB CDEF 0123 4567 89ab cdef"
  run: {weight_seed: 5, log: debug, ledger: on}
)");
  EXPECT_EQ(job.shared.model.kind, ModelKind::kMlr);
  EXPECT_EQ(job.shared.model.top, protocol::Top::kOpen);
  EXPECT_EQ(job.shared.model.classes, 20U);
  EXPECT_THAT(job.shared.model.hidden, ElementsAre(128, 64, 16));
  EXPECT_EQ(job.shared.model.activation, Activation::kTanh);
  EXPECT_EQ(job.shared.model.initial_deviation, 0.5);
  EXPECT_EQ(job.shared.training.learning_rate, 0.01);
  EXPECT_EQ(job.shared.training.momentum, 0.9);
  EXPECT_THAT(job.shared.training.schedule, ElementsAre(RateChange{.epoch = 2, .learning_rate = 0.005},
                                                        RateChange{.epoch = 3, .learning_rate = 0.001}));
  EXPECT_EQ(job.shared.training.order_seed, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(job.shared.training.early_stopping.patience, 2U);
  EXPECT_TRUE(job.shared.training.derivative.clip);
  EXPECT_EQ(job.shared.training.derivative.scale, 32) << "what is not said stays";
  EXPECT_EQ(job.shared.scheme.default_scheme, "paillier-3072");
  EXPECT_EQ(job.shared.scheme.features_a, "lattice");
  EXPECT_EQ(job.shared.scheme.security, Security::k112);
  EXPECT_EQ(job.shared.alignment.mode, AlignmentMode::kOnlyB);
  EXPECT_EQ(job.own.data.test, "/data/my test.csv");
  EXPECT_EQ(job.own.data.label_column, "7") << "text may look like a number";
  EXPECT_THAT(job.own.data.missing, ElementsAre("", "-1"));
  EXPECT_EQ(job.own.data.columns[0].missing, data::Missing::kConstant);
  EXPECT_EQ(job.own.data.columns[1].missing, data::Missing::kMean) << "the default fills";
  EXPECT_EQ(job.own.data.default_kind, std::nullopt) << "columns that are not listed are an error";
  ASSERT_EQ(job.own.data.columns.size(), 3U);
  EXPECT_EQ(job.own.data.columns[0].constant, -1.5);
  EXPECT_EQ(job.own.data.columns[0].kind, std::nullopt);
  EXPECT_EQ(job.own.data.columns[1].vocabulary.most, 1000U);
  EXPECT_EQ(job.own.data.columns[2].separator, "|");
  EXPECT_THAT(job.own.top.metrics, ElementsAre(Metric::kLoss, Metric::kAccuracy));
  EXPECT_EQ(job.own.link.dial, "[2001:db8::1]:7000");
  EXPECT_EQ(job.own.run.weight_seed, 5U);
  EXPECT_TRUE(job.own.run.ledger);
}

TEST(Job, MayLeaveSectionsEmpty) {
  EXPECT_EQ(parse(edited_job("  alignment:\n", "  training:\n  scheme: {}\n  alignment:\n")), parse(kJobText));
}

TEST(Job, OfAMayHaveAnEmptyTop) {
  EXPECT_EQ(parse(edited_job("  party: b\n", "  party: a\n  top:\n")).own.party, Party::kA);
}

TEST(Job, FindsItsFilesBesideItself) {
  const ScratchFolder folder;
  const std::string text = edited_job("train: b.csv", "train: data/b.csv\n    test: /elsewhere/b.csv");
  const Job job = load_job(folder.write("job.yaml", text), std::vector<std::string>{"private.data.score=here.csv"});
  EXPECT_EQ(job.own.data.train, folder.path() / "data/b.csv");
  EXPECT_EQ(job.own.data.test, "/elsewhere/b.csv");
  EXPECT_EQ(job.own.data.score, "here.csv") << "what is typed is where one types";
  EXPECT_EQ(job.own.run.folder, folder.path() / "run") << "a default is what the file would say";
}

TEST(Job, MustBeAFileThatCanBeRead) {
  const ScratchFolder folder;
  const auto refused = [&](const std::filesystem::path& path) {
    std::string message = message_of<ConfigError>([&] { (void)load_job(path); });
    EXPECT_TRUE(message.starts_with(path.string() + ": ")) << message;
    return message.substr(path.string().size() + 2);
  };
  EXPECT_EQ(refused(folder.path() / "missing.yaml"),
            "cannot be opened: No such file or directory; check the path, or make a job file with `blindfl init`");
  EXPECT_EQ(refused(folder.path()), "is a folder, and not a job file");
  EXPECT_EQ(refused(folder.write("empty.yaml", "")), "is empty; `blindfl parameters` lists what a job file may say");
  EXPECT_EQ(refused(folder.write("comment.yaml", "# nothing\n")),
            "is empty; `blindfl parameters` lists what a job file may say");
  EXPECT_EQ(refused(folder.write("huge.yaml", std::string(kMaxYamlBytes + 10, '#'))),
            "is longer than 1 MiB, which no job file is");
  EXPECT_EQ(refused("/dev/zero"), "is longer than 1 MiB, which no job file is");
}

TEST(Override, WinsOverTheFile) {
  EXPECT_EQ(overridden("shared.training.epochs=3").shared.training.epochs, 3U);
  EXPECT_EQ(overridden("shared.model.kind=lr").shared.model.kind, ModelKind::kLr);
  EXPECT_EQ(overridden("private.run.progress=false").own.run.progress, false);
  EXPECT_THAT(overridden("shared.model.hidden=[3, 2]").shared.model.hidden, ElementsAre(3, 2));
  EXPECT_THAT(overridden("private.top.metrics=[auc]").own.top.metrics, ElementsAre(Metric::kAuc));
  EXPECT_EQ(parse(kJobText, {"shared.training.batch=3", "shared.training.batch=4"}).shared.training.batch, 4U);
}

TEST(Override, SetsAWholeSectionOrList) {
  const Job job = overridden("shared.training={epochs: 2, early_stopping: {minimum_improvement: 0.5}}");
  EXPECT_EQ(job.shared.training.epochs, 2U);
  EXPECT_EQ(job.shared.training.early_stopping.minimum_improvement, 0.5);
  const std::string text = edited_job("    train: b.csv\n", "    train: b.csv\n    columns: [{name: x}, {name: y}]\n");
  const Job other = parse(text, {"private.data.columns=[{name: z, kind: ignore}]"});
  ASSERT_EQ(other.own.data.columns.size(), 1U);
  EXPECT_EQ(other.own.data.columns[0].name, "z");
  EXPECT_EQ(
      message_of<ConfigError>([&] { (void)parse(text, {"private.data.columns=[{kind: ignore}]"}); }),
      "--set: private.data.columns[0].name is missing: as in the header; its number, from 1, in a file without one "
      "(text)")
      << "what the file's first column is called does not count";
}

TEST(Override, TakesTextAsItIs) {
  for (const std::string text : {"a: b", "#1", "[x]", "*", "it's", "a=b", " x", "null", "5"}) {
    EXPECT_EQ(overridden("private.data.id_column=" + text).own.data.id_column, text);
  }
  EXPECT_EQ(overridden("private.data.id_column=\"a b\"").own.data.id_column, "a b");
  EXPECT_EQ(overridden("private.data.delimiter=,").own.data.delimiter, ",");
  EXPECT_EQ(overridden("private.data.train=x y.csv").own.data.train, "x y.csv");
}

TEST(Override, OfNothingTakesAValueAway) {
  EXPECT_EQ(parse(edited_job("  party: b\n", "  party: b\n  run: {weight_seed: 5}\n"), {"private.run.weight_seed="})
                .own.run.weight_seed,
            std::nullopt);
  EXPECT_EQ(refusal({"private.link.listen="}),
            "job.yaml:10:3: private.link: say where the peer is: either listen or dial");
}

TEST(Override, CanGiveWhatIsNeeded) {
  const std::string text = edited_job("    kind: mlp\n", "    hidden: [5]\n");
  EXPECT_EQ(parse(text, {"shared.model.kind=mlp"}).shared.model.kind, ModelKind::kMlp);
}

TEST(Override, IsRefusedWithItsKey) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"", "--set needs KEY=VALUE, as in --set shared.training.epochs=5"},
      {"shared.training.epochs", "--set needs KEY=VALUE, as in --set shared.training.epochs=5"},
      {"=5", "--set needs KEY=VALUE, as in --set shared.training.epochs=5"},
      {"epochs=5", "--set: there is no 'epochs' in a job; did you mean shared.training.epochs?"},
      {"share.training.epochs=5", "--set: there is no 'share' in a job; did you mean shared?"},
      {"shared.trainig.epochs=5", "--set: there is no 'trainig' in shared; did you mean training?"},
      {"shared.training.epoch=5", "--set: there is no 'epoch' in shared.training; did you mean epochs?"},
      {"shared.training.=5",
       "--set: there is no '' in shared.training; there is: epochs, batch, learning_rate, momentum, "
       "weight_decay, schedule, order_seed, validation_share, test_share, early_stopping, checkpoint_every, "
       "row_weights, derivative"},
      {"shared..epochs=5", "--set: there is no '' in shared; there is: model, training, scheme, alignment"},
      {"shared.training.epochs.x=5", "--set: shared.training.epochs is one value, and has no 'x'"},
      {"private.data.columns.age.kind=numeric",
       "--set: private.data.columns is a list: give all of it, as in --set 'private.data.columns=[{...}, {...}]'"},
      {"private.data.columns[0].kind=numeric",

       "--set: private.data.columns is a list: give all of it, as in --set 'private.data.columns=[{...}, {...}]'"},
      {"shared.training.epochs=ten",
       "--set: shared.training.epochs must be a whole number from 1 to 1000000, not 'ten'"},
      {"shared.training.batch=",
       "--set: shared.training.batch must be a whole number from 1 to 1000000, and has no value"},
      {"shared.model.hidden=[1,x]", "--set: shared.model.hidden[1] must be a whole number from 1 to 65536, not 'x'"},
      {"shared.model.hidden=64",
       "--set: shared.model.hidden must be a list of whole numbers from 1 to 65536, not '64'"},
      {"shared.model.hidden=[64", "--set shared.model.hidden:1:1: there is a '[' without its ']', or a ',' is missing"},
      {"shared.training={epoch: 5}", "--set: there is no 'epoch' in shared.training; did you mean epochs?"},
      {"shared.training=5", "--set: shared.training must be a map of options, not '5'"},
      {"private.data.id_column=caf\xE9", "--set: private.data.id_column is not UTF-8"},
      {"shared.training=", "--set: shared.training must be a map of options, and has no value"},
  };
  for (const auto& [assignment, message] : table) EXPECT_EQ(refusal({assignment}), message) << assignment;
}

TEST(Override, OfASecretIsNotRepeated) {
  for (const std::string value : {"swordfish", "'12345'", "[12345]", "-12345", "12345.5"}) {
    const std::string message = refusal({"private.run.weight_seed=" + value});
    EXPECT_THAT(message, HasSubstr("private.run.weight_seed must be a whole number"));
    EXPECT_EQ(message.find("12345"), std::string::npos) << message;
    EXPECT_EQ(message.find("swordfish"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace blindfl::app::job::job_test

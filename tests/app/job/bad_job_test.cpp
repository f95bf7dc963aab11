#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "blindfl/app/job/job.h"
#include "blindfl/base/error.h"
#include "testing/job_text.h"
#include "testing/thrown.h"

namespace blindfl::app::job::bad_job_test {
namespace {

using blindfl::testing::edited_job;
using blindfl::testing::message_of;
using ::testing::HasSubstr;
using ::testing::Not;

std::string refusal(std::string_view text) {
  return message_of<ConfigError>([&] { (void)parse_job(text, {.source = "job.yaml"}); });
}

/// What the job says instead, and what that is told.
struct Bad {
  std::string_view from;
  std::string_view to;
  std::string_view message;
};

void expect_refusals(const std::vector<Bad>& table) {
  for (const Bad& bad : table) {
    EXPECT_EQ(refusal(edited_job(bad.from, bad.to)), "job.yaml:" + std::string(bad.message)) << bad.to;
  }
}

constexpr std::string_view kModel = "    kind: mlp\n";
constexpr std::string_view kShared = "  alignment:\n";
constexpr std::string_view kParty = "  party: b\n";
constexpr std::string_view kData = "    train: b.csv\n";
constexpr std::string_view kLink = "    listen: 0.0.0.0:7000\n    plaintext: true\n";

TEST(BadJob, HasAKeyThatThereIsNot) {
  expect_refusals({
      {"shared:\n", "shred:\n", "1:1: there is no 'shred' in a job; did you mean shared?"},
      {"private:\n", "privat:\n", "6:1: there is no 'privat' in a job; did you mean private?"},
      {"private:\n", "local:\n", "6:1: there is no 'local' in a job; did you mean private?"},
      {"private:\n", "version:\n", "6:1: there is no 'version' in a job; there is: shared, private"},
      {"  model:\n", "  modle:\n", "2:3: there is no 'modle' in shared; did you mean model?"},
      {"  alignment:\n", "  Alignment:\n", "4:3: there is no 'Alignment' in shared; did you mean alignment?"},
      {"  data:\n", "  dta:\n", "8:3: there is no 'dta' in private; did you mean data?"},
      {"  link:\n", "  network:\n", "10:3: there is no 'network' in private; did you mean link?"},
      {kModel, "    kid: mlp\n", "3:5: there is no 'kid' in shared.model; did you mean kind?"},
      {kModel, "    kind: mlp\n    lr: 0.1\n",
       "4:5: there is no 'lr' in shared.model; did you mean shared.training.learning_rate?"},
      {kModel, "    kind: mlp\n    epochs: 3\n",
       "4:5: there is no 'epochs' in shared.model; did you mean shared.training.epochs?"},
      {kModel, "    kind: mlp\n    dlrm: {botom: [1]}\n",
       "4:12: there is no 'botom' in shared.model.dlrm; did you mean bottom?"},
      {kShared, "  training: {lr: 0.1}\n  alignment:\n",
       "4:14: there is no 'lr' in shared.training; did you mean learning_rate?"},
      {kShared, "  training: {batch_size: 5}\n  alignment:\n",
       "4:14: there is no 'batch_size' in shared.training; did you mean batch?"},
      {kShared, "  training: {early_stopping: {patiens: 5}}\n  alignment:\n",
       "4:31: there is no 'patiens' in shared.training.early_stopping; did you mean patience?"},
      {kShared, "  training: {schedule: [{epoch: 2, rate: 0.1}]}\n  alignment:\n",
       "4:36: there is no 'rate' in shared.training.schedule[0]; did you mean learning_rate?"},
      {kShared, "  scheme: {defualt: lattice}\n  alignment:\n",
       "4:12: there is no 'defualt' in shared.scheme; did you mean default?"},
      {kData, "    train: b.csv\n    columns:\n      - name: x\n      - name: y\n        type: numeric\n",
       "13:9: there is no 'type' in private.data.columns[1]; did you mean kind?"},
      {kData, "    train: b.csv\n    columns: [{name: x, vocabulary: {min: 2}}]\n",
       "10:38: there is no 'min' in private.data.columns[0].vocabulary; did you mean min_count?"},
      {kData, "    train: b.csv\n    label: y\n",
       "10:5: private.data.label is a map of options; did you mean label_column?"},
      {kLink, "    connect: x:1\n    plaintext: true\n",
       "11:5: there is no 'connect' in private.link; did you mean dial?"},
      {kParty, "  party: b\n  run: {xyzzy: 1}\n",
       "8:9: there is no 'xyzzy' in private.run; there is: folder, keep, log, progress, ledger, keep_view, "
       "weight_seed"},
      {kParty, "  party: b\n  <<: {a: 1}\n",
       "8:3: there is no '<<' in private; there is: party, accept, data, top, link, limits, resources, run"},
      {kParty, "  party: b\n  \"\\e[2J\": 1\n",
       "8:3: there is no '?[2J' in private; there is: party, accept, data, top, link, limits, resources, run"},
  });
}

TEST(BadJob, HasAValueOfAnotherType) {
  expect_refusals({
      {kShared, "  training: {epochs: ten}\n  alignment:\n",
       "4:22: shared.training.epochs must be a whole number from 1 to 1000000, not 'ten'"},
      {kShared, "  training: {epochs: 2.5}\n  alignment:\n",
       "4:22: shared.training.epochs must be a whole number from 1 to 1000000, not '2.5'"},
      {kShared, "  training: {epochs: \"10\"}\n  alignment:\n",
       "4:22: shared.training.epochs must be a whole number from 1 to 1000000, not '10' in quotes"},
      {kShared, "  training: {epochs: [10]}\n  alignment:\n",
       "4:22: shared.training.epochs must be a whole number from 1 to 1000000, not a list"},
      {kShared, "  training: {epochs: {a: 1}}\n  alignment:\n",
       "4:22: shared.training.epochs must be a whole number from 1 to 1000000, not a map"},
      {kShared, "  training:\n    batch:\n  alignment:\n",
       "5:5: shared.training.batch must be a whole number from 1 to 1000000, and has no value"},
      {kShared, "  training: {epochs: 99999999999999999999}\n  alignment:\n",
       "4:22: shared.training.epochs must be a whole number from 1 to 1000000, not '99999999999999999999'"},
      {kShared, "  training: {learning_rate: fast}\n  alignment:\n",
       "4:29: shared.training.learning_rate must be a number from 0 to 1000000, not 'fast'"},
      {kShared, "  training: {learning_rate: nan}\n  alignment:\n",
       "4:29: shared.training.learning_rate must be a number from 0 to 1000000, not 'nan'"},
      {kShared, "  training: {learning_rate: 0,1}\n  alignment:\n",
       "4:31: there is no '1' in shared.training; there is: epochs, batch, learning_rate, momentum, weight_decay, "
       "schedule, order_seed, validation_share, test_share, early_stopping, checkpoint_every, row_weights, derivative"},
      {kShared, "  training: {derivative: {clip: maybe}}\n  alignment:\n",
       "4:33: shared.training.derivative.clip must be true or false, not 'maybe'"},
      {kShared, "  training: {derivative: {clip: 1}}\n  alignment:\n",
       "4:33: shared.training.derivative.clip must be true or false, not '1'"},
      {kShared, "  training: {schedule: 5}\n  alignment:\n",
       "4:24: shared.training.schedule must be a list of maps, not '5'"},
      {kShared, "  training: {schedule: [5]}\n  alignment:\n",
       "4:25: shared.training.schedule[0] must be a map of options, not '5'"},
      {kShared, "  training: fast\n  alignment:\n", "4:13: shared.training must be a map of options, not 'fast'"},
      {kShared, "  training: [1]\n  alignment:\n", "4:13: shared.training must be a map of options, not a list"},
      {kModel, "    kind: mlp\n    hidden: 64\n",
       "4:13: shared.model.hidden must be a list of whole numbers from 1 to 65536, not '64'"},
      {kModel, "    kind: mlp\n    hidden: [64, , 16]\n",
       "4:18: shared.model.hidden[1] must be a whole number from 1 to 65536, and has no value"},
      {kModel, "    kind: mlp\n    hidden: []\n", "4:13: shared.model.hidden must have 1 to 16 items, not 0"},
      {kData, "    train: [a.csv, b.csv]\n", "9:12: private.data.train must be a path, not a list"},
      {kData, "    train: ''\n", "9:12: private.data.train must not be empty"},
      {kData, "    train: b.csv\n    id_column: ''\n", "10:16: private.data.id_column must not be empty"},
      {kData, "    train: b.csv\n    id_column: {a: b}\n", "10:16: private.data.id_column must be text, not a map"},
      {kData, "    train: b.csv\n    missing: NA\n", "10:14: private.data.missing must be a list of texts, not 'NA'"},
  });
}

TEST(BadJob, HasAValueOutOfRange) {
  expect_refusals({
      {kShared, "  training: {epochs: 0}\n  alignment:\n",
       "4:22: shared.training.epochs must be a whole number from 1 to 1000000, not '0'"},
      {kShared, "  training: {epochs: -1}\n  alignment:\n",
       "4:22: shared.training.epochs must be a whole number from 1 to 1000000, not '-1'"},
      {kShared, "  training: {momentum: 1}\n  alignment:\n",
       "4:24: shared.training.momentum must be a number from 0 to below 1, not '1'"},
      {kShared, "  training: {validation_share: 1.5}\n  alignment:\n",
       "4:32: shared.training.validation_share must be a number from 0 to 0.9, not '1.5'"},
      {kShared, "  training: {learning_rate: 1e999}\n  alignment:\n",
       "4:29: shared.training.learning_rate must be a number from 0 to 1000000, not '1e999'"},
      {kShared, "  scheme: {line_speed: 0}\n  alignment:\n",
       "4:24: shared.scheme.line_speed must be a number above 0 and up to 1000000000, in Mbit/s, not '0'"},
      {kModel, "    kind: mlp\n    largest_weight: 0\n",
       "4:21: shared.model.largest_weight must be a number above 0 and up to 1000000000000, not '0'"},
      {kModel, "    kind: mlp\n    output_scale: 61\n",
       "4:19: shared.model.output_scale must be a whole number from 0 to 60, not '61'"},
      {kModel, "    kind: mlp\n    hidden: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]\n",
       "4:13: shared.model.hidden must have 1 to 16 items, not 17"},
      {kLink, "    listen: x:1\n    plaintext: true\n    patience: 0\n",
       "13:15: private.link.patience must be a whole number from 1 to 604800, in seconds, not '0'"},
  });
}

TEST(BadJob, HasAWordThatIsNoChoice) {
  expect_refusals({
      {kParty, "  party: a\n  accept: all\n",
       "8:11: private.accept must be one of nothing, open_top, fine_scores, not 'all'"},
      {"kind: mlp", "kind: mpl",
       "3:11: shared.model.kind must be one of lr, mlr, linear, poisson, mlp, wdl, dlrm, fm, deepfm, not "
       "'mpl'; did you mean mlp?"},
      {"kind: mlp", "kind: transformer",
       "3:11: shared.model.kind must be one of lr, mlr, linear, poisson, mlp, wdl, dlrm, fm, deepfm, not "
       "'transformer'"},
      {"kind: mlp", "kind: [mlp]",
       "3:11: shared.model.kind must be one of lr, mlr, linear, poisson, mlp, wdl, dlrm, fm, deepfm, not a list"},
      {"mode: aligned", "mode: Union",
       "5:11: shared.alignment.mode must be one of aligned, intersection, only_b, union, not 'Union'; did you mean "
       "union?"},
      {"party: b", "party: c", "7:10: private.party must be one of a, b, not 'c'; did you mean a?"},
      {kShared, "  scheme: {default: latice}\n  alignment:\n",
       "4:21: shared.scheme.default must be one of lattice, paillier, paillier-3072, not 'latice'; did you mean "
       "lattice?"},
      {kShared, "  scheme: {allowed: [lattice, ckks]}\n  alignment:\n",
       "4:31: shared.scheme.allowed[1] must be one of lattice, paillier, paillier-3072, not 'ckks'"},
      {kParty, "  party: b\n  top: {metrics: [acuracy]}\n",
       "8:19: private.top.metrics[0] must be one of loss, auc, pr_auc, ks, lift, accuracy, precision, recall, f1, "
       "log_loss, "
       "rmse, r2, mae, deviance, not 'acuracy'; did you mean "
       "accuracy?"},
  });
}

TEST(BadJob, LacksWhatIsNeeded) {
  EXPECT_EQ(
      refusal("shared: {alignment: {mode: aligned}}\n"),
      "job.yaml:1:1: shared.model.kind is missing: logistic (lr), multinomial (mlr), linear or Poisson regression; "
      "multi-layer perceptron (mlp); wide and deep (wdl); deep learning recommendation model (dlrm); "
      "factorisation machine (fm), and beside a multi-layer perceptron (deepfm) (one of lr, mlr, linear, poisson, mlp, "
      "wdl, dlrm, fm, deepfm)");
  EXPECT_EQ(
      refusal("shared: {model: {kind: lr}, alignment: {mode: union}}\n"),
      "job.yaml: private.party is missing: which party this is: a has features, b has features and the labels (one "
      "of a, b)");
  expect_refusals({
      {kData, "    train: b.csv\n    columns: [{kind: numeric}]\n",
       "10:15: private.data.columns[0].name is missing: as in the header; its number, from 1, in a file without one "
       "(text)"},
      {kShared, "  training: {schedule: [{epoch: 2}]}\n  alignment:\n",
       "4:25: shared.training.schedule[0].learning_rate is missing: the learning rate from there on (number from 0 to "
       "1000000)"},
      {kData, "    format: csv\n",
       "8:3: private.data: needs a file: train to train on, test to measure with, or score to predict"},
      {kLink, "    plaintext: true\n", "10:3: private.link: say where the peer is: either listen or dial"},
      {kLink, "    dial: x:1\n",
       "10:3: private.link: needs certificate, key and peer; make the first two with `blindfl keygen`"},
  });
}

TEST(BadJob, IsNoMap) {
  EXPECT_EQ(refusal("hello\n"), "job.yaml:1:1: a job must be a map of options, not 'hello'");
  EXPECT_EQ(refusal("- shared\n"), "job.yaml:1:1: a job must be a map of options, not a list");
  EXPECT_EQ(refusal(""), "job.yaml: is empty; `blindfl parameters` lists what a job file may say");
}

TEST(BadJob, IsNoYaml) {
  expect_refusals({
      {kParty, "  party: b\n  party: a\n", "8:3: 'party' is already in line 7; remove one of the two"},
      {kParty, "\tparty: b\n", "7:1: this line is indented with a tab; use spaces"},
      {kParty, "  party: b\n---\n",
       "8:1: another document begins here, and a job file is one; is the indentation right?"},
      {kParty, "  party: &p b\n", "7:10: job files have no anchors (&) and aliases (*); write it out"},
      {kParty, "  party: !!str b\n", "7:10: job files have no tags (!); put text in quotes if it must be text"},
      {kParty, "  party: 'b\n", "7:10: the quote that begins here has no end"},
  });
}

TEST(BadJob, HasAModelThatContradictsItself) {
  expect_refusals({
      {kModel, "    kind: mlp\n    output_scale: 21\n",
       "4:5: shared.model.output_scale: outputs at 21 fractional bits give A's features away to B by lattice "
       "reduction; "
       "take 20 at most, or set fine_outputs_reveal_features beside it if A's features are no secret"},
      {"    kind: mlp\n", "    kind: lr\n    classes: 3\n",
       "4:5: shared.model.classes: lr has two classes; take mlr for more"},
      {"    kind: mlp\n", "    kind: mlr\n",
       "2:3: shared.model.classes: is missing: say how many classes there are, or take lr for two"},
      {"    kind: mlp\n", "    kind: poisson\n    classes: 3\n",
       "4:5: shared.model.classes: poisson predicts a number, and has no classes; leave it out"},
      {"    kind: mlp\n", "    kind: deepfm\n    classes: 3\n",
       "4:5: shared.model.classes: deepfm gives one score, for two classes; take mlr or mlp for more, or wdl or dlrm "
       "with embeddings"},
      {"    kind: mlp\n", "    kind: fm\n    factors: 0\n",
       "4:14: shared.model.factors must be a whole number from 1 to 1024, not '0'"},
  });
  for (const std::string_view kind :
       {"wdl", "dlrm\n    top: open", "fm", "deepfm\n    factors: 4", "fm\n    classes: 2", "mlr\n    classes: 2",
        "lr\n    classes: 2", "mlp\n    classes: 9"}) {
    EXPECT_NO_THROW((void)parse_job(edited_job("kind: mlp", "kind: " + std::string(kind)), {.source = "x"})) << kind;
  }
}

TEST(BadJob, MayOpenFinerOutputsIfItSaysWhatTheyGiveAway) {
  const std::string text =
      edited_job(kModel, "    kind: mlp\n    output_scale: 24\n    fine_outputs_reveal_features: true\n");
  EXPECT_EQ(parse_job(text, {.source = "job.yaml"}).shared.model.output_scale, 24);
}

TEST(BadJob, HasATrainingThatContradictsItself) {
  expect_refusals({
      {kShared, "  training: {schedule: [{learning_rate: 1}]}\n  alignment:\n",
       "4:25: shared.training.schedule[0]: say either epoch or step"},
      {kShared, "  training: {schedule: [{epoch: 2, step: 3, learning_rate: 1}]}\n  alignment:\n",
       "4:25: shared.training.schedule[0]: say either epoch or step"},
      {kShared,
       "  training:\n    schedule:\n      - {epoch: 2, learning_rate: 1}\n      - {step: 3, learning_rate: 1}\n  "
       "alignment:\n",
       "7:9: shared.training.schedule[1]: say epoch in all changes, or step in all of them"},
      {kShared,
       "  training:\n    schedule:\n      - {step: 2, learning_rate: 1}\n      - {step: 2, learning_rate: 1}\n  "
       "alignment:\n",
       "7:9: shared.training.schedule[1]: must come after the change before it"},
      {kShared, "  training: {epochs: 3, schedule: [{epoch: 4, learning_rate: 1}]}\n  alignment:\n",
       "4:36: shared.training.schedule[0]: there are only 3 epochs"},
      {kShared, "  training: {early_stopping: {patience: 3}}\n  alignment:\n",
       "4:31: shared.training.early_stopping.patience: needs rows to measure on; set shared.training.validation_share "
       "to "
       "0.1, for instance"},
      {kShared, "  training: {derivative: {largest: 1e10}}\n  alignment:\n",
       "4:14: shared.training.derivative: largest times 2^scale must be between 1 and 2^62; change one of the two"},
  });
}

TEST(BadJob, HasASchemeThatContradictsItself) {
  expect_refusals({
      {kShared, "  scheme: {allowed: [lattice, lattice]}\n  alignment:\n",
       "4:12: shared.scheme.allowed: names a scheme twice"},
      {kShared, "  scheme: {allowed: [lattice, paillier, paillier-3072]}\n  alignment:\n",
       "4:12: shared.scheme.allowed: has Paillier with two sizes of keys; a job has one of them"},
      {kShared, "  scheme: {allowed: [paillier]}\n  alignment:\n",
       "4:3: shared.scheme.default: lattice is not in shared.scheme.allowed"},
      {kShared, "  scheme: {features_b: paillier-3072}\n  alignment:\n",
       "4:12: shared.scheme.features_b: paillier-3072 is not in shared.scheme.allowed"},
      {kShared, "  scheme: {security: 256}\n  alignment:\n",
       "4:22: shared.scheme.security must be one of 112, 128, not '256'"},
      {kShared, "  scheme: {security: 128, features_a: paillier}\n  alignment:\n",
       "4:27: shared.scheme.features_a: paillier has keys of 2048 bits, that is 112 bits of security, and "
       "shared.scheme.security asks for 128; say paillier-3072"},
      {kShared, "  scheme: {security: 128, default: paillier}\n  alignment:\n",
       "4:27: shared.scheme.default: paillier has keys of 2048 bits, that is 112 bits of security, and "
       "shared.scheme.security asks for 128; say paillier-3072"},
      {kShared, "  scheme: {update: encrypted, allowed: [lattice]}\n  alignment:\n",
       "4:12: shared.scheme.update: updates under encryption need paillier in shared.scheme.allowed"},
      {kShared, "  scheme: {update: encrypted, features_a: lattice}\n  alignment:\n",
       "4:12: shared.scheme.update: updates under encryption need paillier for A's features; set "
       "shared.scheme.features_a to it"},
      {kShared, "  scheme: {update: encrypted, automatic: false}\n  alignment:\n",
       "4:12: shared.scheme.update: updates under encryption need paillier for A's features; set "
       "shared.scheme.features_a to it"},
      {kShared, "  training: {weight_decay: 0.1}\n  scheme: {update: encrypted}\n  alignment:\n",
       "5:12: shared.scheme.update: updates under encryption have no weight decay; set shared.training.weight_decay to "
       "0"},
  });
  EXPECT_NO_THROW(
      (void)parse_job(edited_job(kShared, "  scheme: {update: encrypted}\n  alignment:\n"), {.source = "x"}));
}

TEST(BadJob, HasDataThatContradictsItself) {
  expect_refusals({
      {"mode: aligned", "mode: intersection",
       "8:3: private.data.id_column: is missing: rows are aligned by it. Or set shared.alignment.mode to aligned"},
      {"mode: aligned\nprivate:\n  party: b\n  data:\n",
       "mode: intersection\nprivate:\n  party: b\n  data:\n    format: libsvm\n",
       "9:5: private.data.format: LIBSVM files have no ids to align rows by; set shared.alignment.mode to aligned"},
      {kData, "    train: b.csv\n    delimiter: ';;'\n",
       "10:5: private.data.delimiter: must be one character, or the word tab"},
      {kData, "    train: b.csv\n    format: csv\n",
       "8:3: private.data.label_column: is missing: which column of the CSV file holds the labels"},
      {kData, "    train: b.csv\n    format: libsvm\n    label_column: y\n",
       "11:5: private.data.label_column: LIBSVM files have no columns with names; leave it out"},
      {kData, "    train: b.csv\n    id_column: x\n    label_column: x\n",
       "11:5: private.data.label_column: is the same as private.data.id_column"},
      {kData, "    train: b.csv\n    numeric: {scale: 60, largest: 5}\n",
       "10:5: private.data.numeric: largest times 2^scale must be between 1 and 2^62; change one of the two"},
      {"  party: b\n  data:\n", "  party: a\n  data:\n    label_column: y\n",
       "9:5: private.data.label_column: is for B, who has the labels, and this is A; to keep a column out of the "
       "model, "
       "list it with kind: ignore"},
      {"  party: b\n", "  party: a\n  top: {metrics: [auc]}\n",
       "8:3: private.top: is for B, who has the top layers, and this is A"},
      {"  party: b\n", "  party: b\n  accept: open_top\n",
       "8:3: private.accept: is A's to say, whose features are at stake, and this is B; leave it out"},
  });
}

TEST(BadJob, HasAColumnThatContradictsItself) {
  const auto refused = [](const std::string& columns) {
    const std::string data = "    train: b.csv\n    label_column: y\n    id_column: i\n    columns: ";
    std::string message = refusal(edited_job(kData, data + columns + "\n"));
    return message.substr(message.find("private"));
  };
  const std::vector<std::pair<std::string, std::string>> table = {
      {"[{name: x}, {name: x}]", "private.data.columns[1]: is about the same column as columns[0]"},
      {"[{name: y}]", "private.data.columns[0]: is about private.data.label_column, which is no feature"},
      {"[{name: i}]", "private.data.columns[0]: is about private.data.id_column, which is no feature"},
      {"[{name: x, vocabulary: {most: 5}}]", "private.data.columns[0].vocabulary: is for kinds categorical and multi"},
      {"[{name: x, one_hot: true}]", "private.data.columns[0].one_hot: is for kinds categorical and multi"},
      {"[{name: x, missing: constant}]", "private.data.columns[0].missing: constant needs the number, as constant: 0"},
      {"[{name: x, constant: 5}]", "private.data.columns[0].constant: is for missing: constant"},
      {"[{name: x, pooling: mean}]", "private.data.columns[0].pooling: is for kind multi"},
      {"[{name: x, kind: categorical, separator: x}]", "private.data.columns[0].separator: is for kind multi"},
      {"[{name: x, kind: categorical, transform: log}]", "private.data.columns[0].transform: is for kind numeric"},
      {"[{name: x, kind: multi, missing: zero}]",
       "private.data.columns[0].missing: is for kind numeric: a missing category is a category"},
      {"[{name: x, kind: multi, constant: 0}]", "private.data.columns[0].constant: is for kind numeric"},
      {"[{name: x, kind: multi, vocabulary: {hash_buckets: 5, most: 5}}]",
       "private.data.columns[0].vocabulary.hash_buckets: takes the place of a vocabulary; leave out min_count and "
       "most"},
  };
  for (const auto& [columns, message] : table) EXPECT_EQ(refused(columns), message) << columns;
}

TEST(BadJob, HasATopThatDoesNotSuitItsModel) {
  expect_refusals({
      {kParty, "  party: b\n  top: {class_weights: [1, 2, 3]}\n",
       "8:9: private.top.class_weights: has 3 weights for 2 classes"},
      {kParty, "  party: b\n  top: {metrics: [loss, rmse]}\n", "8:9: private.top.metrics: rmse does not suit mlp"},
  });
  const std::string linear = edited_job("kind: mlp", "kind: linear");
  const auto with_top = [&](const std::string& top) {
    std::string text = linear;
    return refusal(text.replace(text.find(kParty), kParty.size(), "  party: b\n  top: " + top + "\n"));
  };
  EXPECT_EQ(with_top("{class_weights: [1, 2]}"), "job.yaml:8:9: private.top.class_weights: this model has no classes");
  EXPECT_EQ(with_top("{metrics: [accuracy]}"), "job.yaml:8:9: private.top.metrics: accuracy does not suit linear");
  EXPECT_EQ(refusal(edited_job(
                "    kind: mlp\n  alignment:\n    mode: aligned\nprivate:\n",
                "    kind: mlp\n    classes: 3\n  alignment:\n    mode: aligned\nprivate:\n  top: {metrics: [auc]}\n")),
            "job.yaml:8:9: private.top.metrics: auc does not suit mlp with more than two classes");
}

TEST(BadJob, HasALinkThatContradictsItself) {
  const std::string address = "must be HOST:PORT, as in 10.0.0.5:7000";
  for (const std::string_view dial :
       {"host", "host:", ":7000", "host:x", "host:0", "host:70000", "host:-1", "host:1x"}) {
    EXPECT_EQ(refusal(edited_job(kLink, "    dial: \"" + std::string(dial) + "\"\n    plaintext: true\n")),
              "job.yaml:11:5: private.link.dial: " + address)
        << dial;
  }
  EXPECT_NO_THROW((void)parse_job(edited_job("0.0.0.0:7000", "\"[::]:0\""), {.source = "x"})) << "any free port";
  const std::string tls = "    dial: x:1\n    certificate: b.crt\n    key: b.key\n    peer: a.crt\n";
  EXPECT_NO_THROW((void)parse_job(edited_job(kLink, tls), {.source = "x"}));
  EXPECT_EQ(
      refusal(edited_job(kLink, tls + "    plaintext: true\n")),
      "job.yaml:15:5: private.link.plaintext: uses no certificates: leave out either it or certificate, key and peer");
  EXPECT_EQ(refusal(edited_job(kLink, tls + "    listen: x:1\n")),
            "job.yaml:10:3: private.link: say where the peer is: either listen or dial");
  EXPECT_EQ(
      refusal(edited_job(kLink, tls + "    peer_fingerprint: abcd\n")),
      "job.yaml:15:5: private.link.peer_fingerprint: must be 64 hexadecimal digits, as `blindfl fingerprint` prints "
      "them");
}

/// With BEGIN and LINE replaced by what private keys have there.
std::string with_key(std::string text) {
  for (const auto& [word, by] : {std::pair<std::string, std::string>{"BEGIN", "-----BEGIN PRIVATE KEY-----"},
                                 {"LINE", "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgc3dvcmRmaXNoc3dv"}}) {
    for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += by.size()) {
      text.replace(at, word.size(), by);
    }
  }
  return text;
}

TEST(BadJob, IsNotToldItsSecrets) {
  for (const std::string key : {"key: |\n      BEGIN\n      LINE\n", "key: BEGIN LINE\n", "key: [BEGIN, LINE]\n",
                                "key: {LINE: 1}\n", "key: BEGIN\nLINE\n", "key: BEGIN\n  LINE:\n",
                                "key: BEGIN\nLINE: 1\nLINE: 2\n", "key: k\n    certificate: BEGIN LINE\n"}) {
    const std::string message = refusal(edited_job(kLink, with_key("    dial: x:1\n    peer: p\n    " + key)));
    EXPECT_THAT(message, Not(HasSubstr("MIGH"))) << key;
    EXPECT_THAT(message, Not(HasSubstr("BEGIN"))) << key;
  }
  for (const std::string seed : {"swordfish", "\"5\"", "[5]"}) {
    EXPECT_THAT(refusal(edited_job(kParty, "  party: b\n  run: {weight_seed: " + seed + "}\n")),
                Not(HasSubstr(seed.substr(0, 2))));
  }
}

}  // namespace
}  // namespace blindfl::app::job::bad_job_test

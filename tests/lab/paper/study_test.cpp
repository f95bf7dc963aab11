#include "blindfl/lab/paper/study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/lab/local_model.h"
#include "blindfl/lab/paper/data_sets.h"
#include "blindfl/lab/paper/idx_file.h"
#include "blindfl/lab/paper/machine.h"
#include "blindfl/lab/paper/peers.h"
#include "blindfl/lab/paper/several_parties.h"
#include "blindfl/nn/bridge.h"
#include "testing/scratch_folder.h"

namespace blindfl::lab::paper::study_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

CellResult taking(double seconds) {
  CellResult result;
  result.numbers = {{"seconds", seconds}, {"bytes", 1e6}, {"memory", 2e6}};
  return result;
}

/// For each data set: open top, shared top, SecureML in two ways without help, and client-aided.
std::vector<CellResult> efficiency_results(const Exhibit& table, double ours, double without_help, double aided) {
  std::vector<CellResult> results;
  while (results.size() < table.cells.size()) {
    for (const double seconds : {ours, 2 * ours, 3 * without_help, without_help, aided})
      results.push_back(taking(seconds));
  }
  return results;
}

TEST(EfficiencyTable, SaysOnWhichDataSetsWeAreFasterAndOnWhichNot) {
  const Exhibit table = efficiency_table({.release = "test"});
  ASSERT_THAT(table.cells, SizeIs(5 * paper_sets().size()));
  std::vector<CellResult> results = efficiency_results(table, 0.1, 0.2, 0.15);
  const std::string all = table.show(results).sentence;
  EXPECT_THAT(
      all, AllOf(HasSubstr("with an open top is faster in every row: on a9a, w8a, connect-4, higgs, news20, avazu-app, "
                           "industry and fmnist. "),
                 HasSubstr("on sparse data it is faster in every row: on a9a, w8a, connect-4, news20, avazu-app and "
                           "industry. "),
                 HasSubstr("A shared top, which the paper does not have, is beside SecureML without help not faster "
                           "on a9a (200 ms beside 200 ms), "),
                 HasSubstr("client-aided one on sparse data not faster on a9a (200 ms beside 150 ms), ")));

  results[3] = taking(0.05);                            // a9a, without help
  results[9] = taking(0.05);                            // w8a, client-aided
  results[28] = {.refused = "needs 160 GB of memory"};  // avazu-app, without help
  results[25] = {.refused = "the link broke"};          // our own
  const Shown shown = table.show(results);
  EXPECT_EQ(shown.claims.at(1).ours, "2.0 times on w8a");  // the first of the most
  EXPECT_EQ(shown.claims.at(2).ours, "2.0 times");
  EXPECT_THAT(shown.sentence,
              AllOf(HasSubstr("not faster on a9a (100 ms beside 50 ms)"),
                    HasSubstr("not faster on w8a (100 ms beside 50 ms)"), HasSubstr("not measured on avazu-app")));
  ASSERT_THAT(shown.tables, SizeIs(1));
  EXPECT_EQ(shown.tables[0].rows.size(), table.cells.size());
  EXPECT_EQ(shown.tables[0].rows[28][4], "not possible");
  EXPECT_EQ(shown.tables[0].rows[0][5], "0.018");  // the paper's own
}

TEST(EfficiencyTable, SaysWhereOnlyOursIsPossible) {
  const Exhibit table = efficiency_table({.release = "test"});
  std::vector<CellResult> results = efficiency_results(table, 0.1, 0.2, 0.05);
  for (std::size_t i = 32; i < 35; ++i) results[i] = {.refused = "needs 160 GB of memory"};  // industry, SecureML
  const Shown shown = table.show(results);
  EXPECT_THAT(shown.sentence, HasSubstr("avazu-app, industry (where the other was not possible) and fmnist. Beside"));
  EXPECT_THAT(
      shown.sentence,
      HasSubstr("on sparse data it is faster on industry (where the other was not possible); not faster on a9a"));
}

TEST(EfficiencyTable, MarksWhatWasPredicted) {
  const Exhibit table = efficiency_table({.release = "test"});
  std::vector<CellResult> results = efficiency_results(table, 0.1, 0.2, 0.15);
  results[23].numbers["predicted"] = 1;  // news20, the faster way without help
  results[28].numbers["predicted"] = 1;  // avazu-app, the same, and ours is slower
  results[25].numbers["seconds"] = 0.25;
  results[22] = {.refused = "takes 2 h"};
  results[27].numbers["predicted"] = 1;
  const Shown shown = table.show(results);
  const auto& rows = shown.tables.at(0).rows;
  EXPECT_EQ(shown.tables[0].headings.at(3), "how");
  EXPECT_EQ(rows[23][3], "predicted");
  EXPECT_EQ(rows[22][3], "-");
  EXPECT_EQ(rows[24][3], "measured");
  EXPECT_EQ(rows[0][3], "measured");
  EXPECT_THAT(shown.sentence, AllOf(HasSubstr("higgs, news20 (beside a prediction), industry and fmnist"),
                                    HasSubstr("not faster on avazu-app (250 ms beside 200 ms, predicted)")));
  EXPECT_EQ(
      shown.claims.at(4).ours,
      "it cannot run news20, it can run a9a, w8a, connect-4, higgs, industry and fmnist, by prediction it can run "
      "avazu-app");
}

/// Mini-batches by number of features.
std::vector<CellResult> results_taking(const std::vector<double>& seconds) {
  std::vector<CellResult> results;
  for (const double each : seconds) results.push_back(taking(each));
  return results;
}

TEST(FeaturesTable, SaysInWordsWhatItsFiguresAre) {
  const Exhibit table = features_table({.release = "test"});
  const auto words = [&](const std::vector<CellResult>& results) { return table.show(results).claims.at(0).ours; };
  EXPECT_EQ(
      words(results_taking({0.0423, 0.0439, 0.0439, 0.0504, 0.172})),
      "as long (within 25%) from 1,000 to 1,000,000 features, and 4.07 times as long with 10,000,000 (42.3 ms, then "
      "172 ms)");
  EXPECT_EQ(words(results_taking({0.04, 0.04, 0.04, 0.04, 0.045})),
            "as long (within 25%) from 1,000 to 10,000,000 features");
  EXPECT_EQ(
      words(results_taking({0.04, 0.08, 0.04, 0.16, 0.16})),
      "2.00 times as long with 10,000 (40 ms, then 80 ms), 1.00 times as long with 100,000 (40 ms, then 40 ms), "
      "4.00 times as long with 1,000,000 (40 ms, then 160 ms) and 4.00 times as long with 10,000,000 (40 ms, then "
      "160 ms)");
  std::vector<CellResult> results = results_taking({0.04, 0.04, 0.04, 0.04, 0.04});
  EXPECT_EQ(table.show(results).claims.at(1).ours, "1 MB, whatever the number of features");
  results[4].numbers["bytes"] = 3e6;
  EXPECT_EQ(table.show(results).claims.at(1).ours, "1 MB to 3 MB");
  results[0] = {.refused = "the link broke"};
  EXPECT_EQ(words(results), "not measured");
}

TEST(ScalingTables, HaveTheAccuracies) {
  const Exhibit table = width_table({.release = "test"});
  std::vector<CellResult> results = results_taking({0.01, 0.02, 0.03, 0.04});
  for (std::size_t i = 0; i < 3; ++i) results[i].numbers["accuracy"] = 0.7 + 0.01 * static_cast<double>(i);
  results[3] = {.refused = "the link broke"};
  const Shown shown = table.show(results);
  EXPECT_EQ(shown.claims.at(1).paper, "Accuracy by width of the first layer: 79.8%, 80.6%, 81.8%, 82.3%");
  EXPECT_EQ(shown.claims.at(1).ours, "70.0%, 71.0%, 72.0%, -");
}

TEST(ActivationsFigure, SaysWhatKnownWeightsTell) {
  const Exhibit figure = activations_figure({.release = "test"});
  std::vector<CellResult> results(figure.cells.size(), CellResult{.refused = "not here"});
  EXPECT_EQ(figure.show(results).claims.at(0).ours, "not measured");
  CellResult a9a;
  a9a.numbers["bars"] = 4;
  std::size_t bar = 0;
  for (const auto& [what, success] :
       std::vector<std::pair<const char*, double>>{{"split learning, by X_A W_A", 0.86},
                                                   {"ModelSS, by X_A U_A, V_A times 1", 0.85},
                                                   {"ModelSS, by X_A U_A, V_A times 100", 0.79},
                                                   {"ModelSS and GradSS, by X_A U_A", 0.51}}) {
    const std::string at = " " + std::to_string(bar++);
    a9a.words["bar" + at] = what;
    a9a.numbers["success" + at] = success;
    a9a.numbers["chance" + at] = 0.5;
    a9a.numbers["joined" + at] = 0.9;
  }
  results[0] = a9a;
  const Shown shown = figure.show(results);
  EXPECT_EQ(shown.claims.at(0).ours, "0.860 on a9a LR (whole model 0.900)");
  EXPECT_EQ(shown.claims.at(1).ours, "0.790 to 0.850 on a9a LR");
  EXPECT_THAT(shown.claims.at(2).ours, HasSubstr("from 0.860 in split learning to 0.510 with BlindFL"));
}

TEST(PartiesTable, ComparesWithOneA) {
  const Exhibit table = parties_table({.release = "test"});
  std::vector<CellResult> results = results_taking({0.01, 0.015, 0.02, 0.035});
  for (std::size_t i = 0; i < results.size(); ++i) results[i].numbers["bytes"] = 1e5 * static_cast<double>(i + 1);
  const Shown shown = table.show(results);
  EXPECT_THAT(shown.sentence,
              HasSubstr("Here: a mini-batch takes 3.50 times the seconds and 4.00 times the bytes of one A with 5."));
  EXPECT_EQ(shown.tables.at(0).rows.at(2).at(2), "2.00");
  results[3] = {.refused = "the link broke"};
  EXPECT_THAT(table.show(results).sentence, HasSubstr("Here: not measured."));
}

TEST(SeveralParties, TrainAndCountAllLinks) {
  const PaperSet& set = paper_set("a9a");
  std::vector<data::Dataset> of_as;
  data::Dataset of_b;
  TwoPartyModel model;
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    const data::Table rows = generated_rows(set, 256, seed);
    TwoPartyRows cut = cut_rows(set, rows);
    of_as.push_back(std::move(cut.a));
    of_b = std::move(cut.b);
    model = model_of(set, std::array<const data::Table*, 1>{&rows});
  }
  const auto cost = [&](std::size_t as) { return train_several_parties(model, std::span(of_as).first(as), of_b, 2); };
  const SeveralPartiesCost one = cost(1);
  const SeveralPartiesCost two = cost(2);
  EXPECT_GT(one.seconds, 0);
  EXPECT_GT(two.seconds_before, two.seconds);
  EXPECT_NEAR(static_cast<double>(two.bytes) / static_cast<double>(one.bytes), 2, 0.1);
  EXPECT_THROW((void)cost(0), InvalidArgument);
  model.hidden = {4};
  EXPECT_THROW((void)cost(1), InvalidArgument);
  model.hidden.clear();
  model.shape.nonzeros_a = 1;  // rows of A have more: an error there ends the wait of all
  EXPECT_THROW((void)cost(2), Error);
}

TEST(Build, IsTheSameForTheSameProgram) {
  EXPECT_THAT(this_build(), SizeIs(32));
  EXPECT_EQ(this_build(), this_build());
  EXPECT_EQ(this_build().find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST(Study, CellsOfAnotherBuildAreOtherMeasurements) {
  std::set<std::string> digests;
  for (const Exhibit& exhibit : all_exhibits({.release = "test", .build = "one"})) {
    for (const Cell& cell : exhibit.cells) digests.insert(cell.settings.digest());
  }
  for (const Exhibit& exhibit : all_exhibits({.release = "test", .build = "two"})) {
    for (const Cell& cell : exhibit.cells) {
      EXPECT_EQ(cell.settings.value("build"), "two");
      EXPECT_FALSE(digests.contains(cell.settings.digest())) << cell.name;
    }
  }
}

TEST(Study, CellsOfTheSameSettingsAreTheSameMeasurement) {
  for (const bool quick : {false, true}) {
    std::map<std::string, std::string> names;
    for (const Exhibit& exhibit : all_exhibits({.quick = quick, .release = "test"})) {
      EXPECT_FALSE(exhibit.title.empty());
      std::set<std::string> digests;
      for (const Cell& cell : exhibit.cells) {
        digests.insert(cell.settings.digest());
        // As the perceptron of 64 and 16 that is in both tables of scalability.
        const auto [at, is_new] = names.emplace(cell.settings.digest(), cell.name);
        EXPECT_EQ(at->second, cell.name);
        EXPECT_EQ(cell.settings.value("program"), "test");
        EXPECT_FALSE(cell.settings.value("processor").empty());
      }
      EXPECT_EQ(digests.size(), exhibit.cells.size()) << exhibit.name;
    }
  }
}

TEST(Study, ShowsWhatIsLeftWhereNothingCouldBeMeasured) {
  for (const Exhibit& exhibit : all_exhibits({.release = "test"})) {
    const std::vector<CellResult> results(exhibit.cells.size(), CellResult{.refused = "not here"});
    const Shown shown = exhibit.show(results);
    EXPECT_THAT(shown.sentence, HasSubstr("he paper")) << exhibit.name;
    EXPECT_FALSE(shown.claims.empty()) << exhibit.name;
  }
}

TEST(DataSets, GeneratedRowsHaveTheShapeOfTheSet) {
  const PaperSet& avazu = paper_set("avazu-app");
  const data::Table rows = generated_rows(avazu, 20, 1);
  EXPECT_EQ(rows.cols(), 1'000'000U);
  EXPECT_EQ(rows.stored(), 20 * avazu.nonzeros);
  const TwoPartyRows cut = cut_rows(avazu, rows);
  EXPECT_EQ(cut.a.features.cols(), 500'000U);
  EXPECT_TRUE(cut.a.labels.empty());
  EXPECT_EQ(cut.b.labels.size(), 20U);
  const std::array<const data::Table*, 1> tables{&rows};
  EXPECT_EQ(model_of(avazu, tables).shape.nonzeros_a, avazu.nonzeros / 2);
  PaperSet small = avazu;
  const std::size_t batch = model_of(small, tables).shape.batch;
  const std::size_t epochs = model_of(small, tables).training.epochs;
  small.train_rows = batch + 1;
  EXPECT_EQ(model_of(small, tables).training.sgd.steps, epochs * 2) << "a batch and a row";
  const data::Table more = generated_rows(avazu, 2 * batch + 1, 1);
  EXPECT_EQ(model_of(small, std::array<const data::Table*, 2>{&rows, &more}).training.sgd.steps, epochs * 3)
      << "a split of our own has more rows than the paper's";
  EXPECT_THROW((void)paper_set("a9b"), InvalidArgument);
}

TEST(IdxFile, IsReadOrRefused) {
  const testing::ScratchFolder folder;
  const std::string whole(
      "\0\0\x08\x02\0\0\0\x02\0\0\0\x03"
      "abcdef",
      18);
  const IdxBytes idx = read_idx(folder.write("whole", whole));
  EXPECT_THAT(idx.sizes, ElementsAre(2, 3));
  EXPECT_THAT(idx.values, ElementsAre('a', 'b', 'c', 'd', 'e', 'f'));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THROW((void)read_idx(folder.write("cut", whole.substr(0, length))), DataError) << length;
  }
  EXPECT_THROW((void)read_idx(folder.write("long", whole + "g")), DataError);
  EXPECT_THROW((void)read_idx(folder.write("floats", std::string("\0\0\x0D\x01\0\0\0\0", 8))), DataError);
  EXPECT_THROW((void)read_idx(folder / "none"), DataError);
}

TEST(Peers, FiguresAreLinesWithATab) {
  const std::vector<PeerFigure> figures = figures_in("encrypt\t0.25\nnoise\nbad\tnumber\ndecrypt\t1e-3\n");
  ASSERT_THAT(figures, SizeIs(2));
  EXPECT_EQ(figures[0].what, "encrypt");
  EXPECT_EQ(figures[1].seconds, 1e-3);
  EXPECT_EQ(python_output("print('it''s')\nprint(\"don't\")"), "its\ndon't\n");
  EXPECT_EQ(python_output("raise SystemExit('no')"), "");
}

TEST(Peers, FindMpSpdzsTimerInWhatItPrints) {
  EXPECT_EQ(timer_in("Using SGD\nTime = 3.5 seconds\nTime1 = 1.25 seconds (3.2 MB, 61 rounds)\n"), 1.25);
  EXPECT_EQ(timer_in("Time1 = 2.5e-05 seconds"), 2.5e-5);
  for (const char* none : {"", "Time = 3 seconds", "Time1 = ", "Time1 = soon", "Time1 = 3", "Time1 = 0 seconds"}) {
    EXPECT_EQ(timer_in(none), std::nullopt) << none;
  }
}

/// Losses of six steps between two parties and of a plain model from the same start.
void expect_losses_of_a_plain_model(const PaperSet& set) {
  const data::Table rows = generated_rows(set, 384, 3);
  const std::array<const data::Table*, 1> tables{&rows};
  TwoPartyModel model = model_of(set, tables);
  model.training.epochs = 2;
  const TwoPartyTraining training = train_two_parties(model, cut_rows(set, rows), cut_rows(set, rows));
  ASSERT_THAT(training.losses, SizeIs(6));
  EXPECT_EQ(training.scores.size(0), 384);
  EXPECT_GT(training.seconds_per_step, 0);
  EXPECT_GT(training.bytes_per_step(), 10'000U);
  EXPECT_EQ(training.way, "A's features: exchanged, lattice; B's features: lattice");

  LocalModel local(set.features, std::vector<std::size_t>{}, std::size_t{1});
  {
    const torch::NoGradGuard no_grad;
    local->weight.copy_(training.first_weight);
  }
  std::vector<double> losses;
  const auto loss = [&](std::span<const std::uint32_t> chosen) {
    const data::Table batch = rows.select_rows(chosen);
    const torch::Tensor value =
        nn::loss(model.family, local->forward(features_tensor(batch)), nn::to_tensor(batch.labels()));
    losses.push_back(value.item<double>());
    return value;
  };
  lab::train_steps(*local, rows.rows(), loss, model.training, [](std::uint64_t step) { return step < 6; });
  for (std::size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(training.losses[i], losses[i], 1e-3) << i;
}

TEST(TwoPartyTraining, HasTheLossesOfAPlainModelFromTheSameStart) {
  expect_losses_of_a_plain_model(paper_set("a9a"));
}

// Then a party's own part of Z reads few rows of its weights.
TEST(TwoPartyTraining, HasTheLossesOfAPlainModelWhereABatchNamesFewFeatures) {
  PaperSet set = paper_set("a9a");
  set.features = 6000;
  expect_losses_of_a_plain_model(set);
}

TEST(TwoPartyTraining, UnderASharedTopHasNoLosses) {
  const PaperSet& set = paper_set("a9a");
  const data::Table rows = generated_rows(set, 384, 3);
  const std::array<const data::Table*, 1> tables{&rows};
  TwoPartyModel model = model_of(set, tables);
  model.training.epochs = 2;
  const TwoPartyTraining training = train_two_parties(model, cut_rows(set, rows), {}, 2);
  model.top = protocol::Top::kShared;
  const TwoPartyTraining shared = train_two_parties(model, cut_rows(set, rows), {}, 2);
  EXPECT_TRUE(shared.losses.empty());  // nobody knows them
  EXPECT_GT(shared.bytes_per_step(), training.bytes_per_step());
}

}  // namespace
}  // namespace blindfl::lab::paper::study_test

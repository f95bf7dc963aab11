// The paper's privacy experiments on public data. With BLINDFL_LONG_RUNS set: as many epochs as the paper has, more
// data sets, and our layers over several seeds.

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "blindfl/data/libsvm.h"
#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/lab/attacks/attack_activations.h"
#include "blindfl/lab/attacks/paper_attacks.h"
#include "blindfl/lab/baselines/shared_weights.h"
#include "blindfl/lab/baselines/split_learning.h"
#include "blindfl/lab/local_model.h"
#include "lab/vertical_rows.h"
#include "testing/real_data.h"

namespace blindfl::lab::attacks::paper_figures_test {
namespace {

using torch::Tensor;

struct RealData {
  std::string name;  ///< of the training file; that of the test rows is `<name>.t`
  std::size_t columns = 0;
};
const RealData kW8a{.name = "w8a", .columns = 300};
const RealData kA9a{.name = "a9a", .columns = 123};

TrainAndTest read(const RealData& data) {
  const auto part = [&](const std::string& file) {
    const data::Table table = data::read_libsvm(testing::real_data(file), {.cols = data.columns});
    return rows_of_joined(made_up::with_class_labels(table), data.columns / 2);
  };
  return {.train = part(data.name + ".xz"), .test = part(data.name + ".t.xz")};
}

/// As in the paper.
train::TrainOptions options(std::size_t few_epochs) {
  return {.epochs = testing::epochs(few_epochs, 10), .batch = 128, .sgd = {.learning_rate = 0.05, .momentum = 0.9}};
}

void tell(const std::string& name, const std::vector<ActivationBar>& bars) {
  for (const ActivationBar& bar : bars) {
    std::cout << name << ", " << bar.what << ", scale of V_A " << bar.scale_of_v << ", by " << bar.predicted_by << ": "
              << bar.attack.value << ", by the whole model " << bar.joined.value << "\n";
  }
}

// The paper: "around 0.9", 0.06 below the whole model.
TEST(PaperFigures, ShowLabelsOfW8aInSplitLearning) {
  BLINDFL_NEEDS_DATA("w8a.xz");
  BLINDFL_NEEDS_DATA("w8a.t.xz");
  const TrainAndTest rows = read(kW8a);
  const auto run = baselines::run_split_learning(rows.train, rows.test, {.in_a = 150, .in_b = 150}, options(2));
  const double by_a = attack_activations(run.contribution, rows.test.b.labels).value;
  const double by_all = attack_activations(run.scores, rows.test.b.labels).value;
  std::cout << "w8a, split learning: AUC of X_A W_A on test rows " << by_a << ", of the whole model " << by_all << "\n";
  EXPECT_GT(by_a, 0.82);
  EXPECT_GT(by_all, by_a);
}

TEST(PaperFigures, ShowLabelsOfA9aAndW8aWithoutSharedGradients) {
  for (const RealData& data : {kA9a, kW8a}) {
    BLINDFL_NEEDS_DATA(data.name + ".xz");
    BLINDFL_NEEDS_DATA(data.name + ".t.xz");
    if (data.name == kW8a.name && !testing::long_runs()) continue;
    ActivationFigure figure{.training = options(1), .shared_top = false};
    figure.scales_of_v = testing::long_runs() ? std::vector<double>{1, 10, 100} : std::vector<double>{1};
    const TrainAndTest rows = read(data);
    const auto bars = activation_bars(he::LatticeScheme(), rows.train, rows.test, figure);
    tell(data.name, bars);
    EXPECT_GT(bars[0].attack.value, 0.7) << "split learning";
    EXPECT_GT(bars[2].attack.value, 0.7) << "ModelSS alone, by what A learnt";
  }
}

// One uniformly random share is right or wrong by chance: over seeds it is as often the one as the other.
TEST(PaperFigures, ShowNoLabelsOfA9aWithOurLayerOverSeeds) {
  BLINDFL_NEEDS_DATA("a9a.xz");
  BLINDFL_NEEDS_DATA("a9a.t.xz");
  TrainAndTest rows = read(kA9a);
  rows.train = part_of(rows.train, 0, 4096);
  train::TrainOptions one_epoch = options(1);
  one_epoch.epochs = 1;
  const auto of_seeds = [&](std::uint64_t first, std::uint64_t count) {
    std::vector<double> told;
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
      const auto run = baselines::run_shared_weights(he::LatticeScheme(), rows.train, rows.test, {}, one_epoch, seed);
      const Tensor scaled = (run.share / run.share.abs().max()).to(torch::kFloat32);
      const Tensor contribution = torch::mm(features_tensor(rows.test.a.numeric), scaled);
      told.push_back(attack_activations(contribution, rows.test.b.labels).value);
    }
    return std::vector<std::vector<double>>{told};
  };
  expect_chance({{"a9a, our layer: AUC of X_A U_A"}}, testing::long_runs() ? 40 : 8, of_seeds);
}

/// Every column that a row has is a category of one field.
IntMatrix as_field(const CategoryField& field, const data::Table& table) {
  std::vector<std::size_t> starts = {0};
  std::vector<IntMatrix::Column> all;
  for (std::size_t r = 0; r < table.rows(); ++r) {
    table.for_each_in_row(r, [&](std::size_t c, double) { all.push_back(static_cast<IntMatrix::Column>(c + 1)); });
    starts.push_back(all.size());
  }
  return encode_categories(field, starts, all);
}

/// The binary columns of both parties as categories; there are no numbers.
TrainAndTest with_embeddings(const TrainAndTest& rows) {
  const auto field = [](const char* name, const data::Table& table) {
    return CategoryField{.name = name, .categories = table.cols() + 1, .most = 32};
  };
  TrainAndTest embedded;
  embedded.fields = {.a = {field("a", rows.train.a.numeric)}, .b = {field("b", rows.train.b.numeric)}};
  const auto move_columns = [&](const VerticalRows& from, VerticalRows& to) {
    to.a.fields = {as_field(embedded.fields.a.front(), from.a.numeric)};
    to.b.fields = {as_field(embedded.fields.b.front(), from.b.numeric)};
    to.b.labels = from.b.labels;
  };
  move_columns(rows.train, embedded.train);
  move_columns(rows.test, embedded.test);
  return embedded;
}

TEST(PaperFigures, ShowLabelsOfA9aInDerivativesBehindHiddenLayers) {
  BLINDFL_NEEDS_DATA("a9a.xz");
  BLINDFL_NEEDS_DATA("a9a.t.xz");
  const TrainAndTest rows = with_embeddings(read(kA9a));
  const DerivativeFigure figure{.most_hidden_layers = testing::long_runs() ? 5U : 2U, .training = options(1)};
  for (const DerivativePoint& point : derivative_points(rows.train, rows.test, rows.fields, figure)) {
    std::cout << "a9a, " << point.hidden_layers << " hidden layers: accuracy " << point.split.accuracy << ", balanced "
              << point.split.balanced << ", by one row " << point.one_row.accuracy << ", guess " << point.split.guess
              << "; AUC of norms " << point.norms.value << "; the model's " << point.test_auc << "\n";
    EXPECT_GT(point.split.accuracy, 0.95);
    EXPECT_GT(point.test_auc, 0.85);
  }
}

TEST(PaperFigures, ShowNoLabelsOfA9aInWhatAHasOfDerivatives) {
  BLINDFL_NEEDS_DATA("a9a.xz");
  BLINDFL_NEEDS_DATA("a9a.t.xz");
  TrainAndTest rows = with_embeddings(read(kA9a));
  rows.train = part_of(rows.train, 0, 2048);
  DerivativeFigure figure{.training = options(1)};
  figure.training.epochs = 1;
  std::vector<double> drawn;
  const auto of_seeds = [&](std::uint64_t first, std::uint64_t count) {
    std::vector<std::vector<double>> told(4);
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
      figure.seed = seed;
      const HiddenDerivatives of = hidden_derivatives(he::LatticeScheme(), rows.train, rows.fields, 1, figure);
      told[0].push_back(of.shares.balanced - of.drawn.balanced);
      told[1].push_back(of.ciphertexts.balanced);
      told[2].push_back(of.norms.shares.value - of.norms.drawn.value);
      told[3].push_back(of.norms.ciphertexts.value);
      drawn.push_back(of.drawn.balanced);
    }
    return told;
  };
  expect_chance({{"a9a, A's shares of gradients, less random numbers", 0},
                 {"a9a, ciphertexts of derivatives"},
                 {"a9a, norms of A's shares of gradients, less random numbers", 0},
                 {"a9a, norms of ciphertexts of derivatives"}},
                testing::long_runs() ? 20 : 6, of_seeds);
  std::cout << "a9a, random numbers: " << mean_of(drawn).mean << "\n";
}

}  // namespace
}  // namespace blindfl::lab::attacks::paper_figures_test

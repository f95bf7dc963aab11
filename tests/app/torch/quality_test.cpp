#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "blindfl/app/torch/baseline.h"
#include "blindfl/app/torch/job_model.h"
#include "blindfl/app/torch/measures.h"
#include "blindfl/app/torch/row_split.h"
#include "blindfl/app/torch/training_report.h"
#include "blindfl/data/dataset.h"
#include "blindfl/lab/local_model.h"
#include "blindfl/nn/bridge.h"
#include "blindfl/run/metrics.h"
#include "testing/job_text.h"
#include "testing/plain/plain_scheme.h"
#include "testing/real_data.h"
#include "testing/two_parties.h"

// How good a run with defaults gets, against plain libtorch that was trained until nothing changed any more.

namespace blindfl::app::quality_test {
namespace {

using job::ModelKind;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Lt;
using ::testing::SizeIs;

constexpr std::size_t kColumns = 12;
constexpr std::size_t kOfA = 7;
constexpr std::size_t kTestRows = 2000;

/// Standard normal features, with correlation between neighbours, and labels that follow all of them with noise.
data::Table generated(ModelKind kind, std::size_t classes, std::size_t rows) {
  torch::manual_seed(static_cast<std::uint64_t>(5 + classes));
  const auto count = static_cast<std::int64_t>(rows);
  torch::Tensor x = torch::randn({count, kColumns});
  x = (x + 0.8 * torch::roll(x, 1, 1)) / std::sqrt(1 + 0.8 * 0.8);
  const auto outputs = static_cast<std::int64_t>(kind == ModelKind::kMlr ? classes : 1);
  const torch::Tensor z = torch::mm(x, torch::randn({kColumns, outputs}));
  torch::Tensor y;
  if (kind == ModelKind::kLinear) {
    y = 3 + z + torch::randn({count, 1});
  } else if (kind == ModelKind::kLr) {
    y = (z + torch::randn({count, 1}) > 0).to(torch::kFloat32);
  } else {
    y = (z + torch::randn({count, outputs})).argmax(1, true).to(torch::kFloat32);
  }
  return data::Table::dense(rows, kColumns, nn::to_vector(x), nn::to_vector(y));
}

job::Shared job_of(ModelKind kind, std::size_t classes) {
  job::Shared shared;
  shared.model.kind = kind;
  shared.model.top = protocol::Top::kOpen;
  if (kind == ModelKind::kMlr) shared.model.classes = classes;
  return shared;
}

/// Accuracy, or R^2.
double quality(nn::Family family, const torch::Tensor& scores, const std::vector<double>& labels) {
  const std::vector<double> values = nn::to_vector(nn::predictions(family, scores));
  if (family == nn::Family::kLinear) return run::r_squared(values, labels);
  if (family == nn::Family::kLogistic) return run::binary_accuracy(values, labels, 0.5);
  return run::class_accuracy(values, values.size() / labels.size(), labels);
}

/// Rows of both parties in the clear.
struct Tables {
  data::Table training;
  data::Table test;
  std::size_t of_a = kOfA;
};

std::vector<std::uint32_t> range(std::size_t from, std::size_t to) {
  std::vector<std::uint32_t> all(to - from);
  std::iota(all.begin(), all.end(), static_cast<std::uint32_t>(from));
  return all;
}

data::Dataset columns_of(const data::Table& table, Party party, std::size_t of_a) {
  const std::vector<float> all = table.to_dense();
  const std::size_t begin = party == Party::kA ? 0 : of_a;
  const std::size_t end = party == Party::kA ? of_a : table.cols();
  std::vector<double> values;
  for (std::size_t r = 0; r < table.rows(); ++r) {
    for (std::size_t c = begin; c < end; ++c) values.push_back(all[r * table.cols() + c]);
  }
  return data::make_dataset(data::Table::dense(table.rows(), end - begin, std::move(values),
                                               party == Party::kB ? table.labels() : std::vector<double>{}),
                            FixedPoint(FixedPointSpec{}));
}

/// B's scores of the test rows after a federated run with what a job leaves open filled in.
torch::Tensor federated_scores(const job::Shared& job, const Tables& tables) {
  const std::size_t rows = tables.training.rows();
  const job::Shared shared = settled(job, rows, true);
  const PartyShape a{.numeric = tables.of_a};
  const PartyShape b{.numeric = tables.training.cols() - tables.of_a};
  const JobLayers layers = job_layers(shared, a, b, rows);
  const testing::PlainScheme scheme;
  blindfl::testing::TwoParties parties(scheme, blindfl::testing::Record::kNo);
  const auto [at_a, at_b] = parties.run([&](protocol::Session& session) {
    JobModel model = make_model(session, shared.model, layers);
    const data::RowsInMemory training(columns_of(tables.training, session.party(), tables.of_a));
    train::Trainer trainer(*model.module, model.forward, job_loss(model, {}), training,
                           {.epochs = layers.epochs, .batch = shared.training.batch, .sgd = layers.sgd});
    while (!trainer.done()) (void)trainer.take_step();
    return train::score(model.forward, columns_of(tables.test, session.party(), tables.of_a), shared.training.batch);
  });
  return at_b;
}

/// Of all columns, by all rows at once, until the gradient is nothing.
torch::Tensor converged_scores(nn::Family family, std::size_t outputs, const Tables& tables) {
  lab::LocalModel model(tables.training.cols(), std::vector<std::size_t>{}, outputs);
  const torch::Tensor x = lab::features_tensor(tables.training);
  const torch::Tensor y = nn::to_tensor(tables.training.labels());
  torch::optim::LBFGS optimizer(
      model->parameters(),
      torch::optim::LBFGSOptions(1).max_iter(500).tolerance_grad(1e-7).line_search_fn("strong_wolfe"));
  optimizer.step([&] {
    optimizer.zero_grad();
    torch::Tensor loss = nn::loss(family, model->forward(x), y);
    loss.backward();
    return loss;
  });
  return lab::score(model, tables.test);
}

struct Case {
  const char* name;
  ModelKind kind;
  std::size_t classes;
  std::size_t rows;
};

class Defaults : public ::testing::TestWithParam<Case> {};

TEST_P(Defaults, ComeAsFarAsPlainTrainingToTheEnd) {
  const auto& [name, kind, classes, rows] = GetParam();
  const data::Table all = generated(kind, classes, rows + kTestRows);
  const Tables tables{all.select_rows(range(0, rows)), all.select_rows(range(rows, rows + kTestRows))};
  const job::Shared shared = job_of(kind, classes);
  const nn::Family family = family_of(shared.model);
  const double federated = quality(family, federated_scores(shared, tables), tables.test.labels());
  const double plain =
      quality(family, converged_scores(family, kind == ModelKind::kMlr ? classes : 1, tables), tables.test.labels());
  RecordProperty("federated", std::to_string(federated));
  RecordProperty("plain", std::to_string(plain));
  EXPECT_NEAR(federated, plain, 0.02);
  EXPECT_GT(plain, 0.7) << "a model that learned nothing is no yardstick";
}

INSTANTIATE_TEST_SUITE_P(Tables, Defaults,
                         ::testing::Values(Case{"TwoClasses", ModelKind::kLr, 2, 400},
                                           Case{"FourClasses", ModelKind::kMlr, 4, 600},
                                           Case{"Regression", ModelKind::kLinear, 2, 300}),
                         [](const auto& tested) { return tested.param.name; });

TEST(Defaults, AreEnoughForFatesBreastCancer) {
  BLINDFL_NEEDS_DATA("fate-vertical/breast_hetero_guest.csv.xz");
  const auto rows_of = [](const std::string& party, const std::string& file, const std::string& label) {
    const std::string path = blindfl::testing::real_data("fate-vertical/" + file).string();
    const job::Job job =
        job::parse_job("shared: {model: {kind: lr}, alignment: {mode: intersection}}\nprivate:\n  party: " + party +
                           "\n  data: {train: \"" + path + "\", id_column: id, default_kind: numeric" + label +
                           "}\n  link: {dial: \"localhost:1\", plaintext: true}\n",
                       {.source = "job"});
    return job::fit_preparation(job).read(path, party == "b" ? Labels::kNeeded : Labels::kNone, {});
  };
  const PreparedRows a = rows_of("a", "breast_hetero_host.csv.xz", "");
  const PreparedRows b = rows_of("b", "breast_hetero_guest.csv.xz", ", label_column: y");
  ASSERT_EQ(a.ids, b.ids) << "the files are in the same order";
  std::vector<double> values;
  const std::vector<std::uint32_t> all_rows = range(0, b.ids.size());
  const IntMatrix of_a = a.rows->batch(all_rows, all_rows.size()).features;
  const IntMatrix of_b = b.rows->batch(all_rows, all_rows.size()).features;
  for (std::size_t r = 0; r < b.ids.size(); ++r) {
    const std::size_t begin = values.size();
    values.resize(begin + of_a.cols() + of_b.cols(), 0.0);
    of_a.for_each_in_row(r, [&](std::size_t c, std::int64_t v) { values[begin + c] = std::ldexp(v, -of_a.scale()); });
    of_b.for_each_in_row(
        r, [&](std::size_t c, std::int64_t v) { values[begin + of_a.cols() + c] = std::ldexp(v, -of_b.scale()); });
  }
  const auto all = data::Table::dense(b.ids.size(), of_a.cols() + of_b.cols(), std::move(values), b.labels);
  const SplitPlaces split = split_places({.training = 400, .validation = 0, .test = 169}, 1);
  const Tables tables{all.select_rows(split.training), all.select_rows(split.test), of_a.cols()};
  const job::Shared shared = job_of(ModelKind::kLr, 2);
  const double federated = quality(nn::Family::kLogistic, federated_scores(shared, tables), tables.test.labels());
  const double plain =
      quality(nn::Family::kLogistic, converged_scores(nn::Family::kLogistic, 1, tables), tables.test.labels());
  RecordProperty("federated", std::to_string(federated));
  RecordProperty("plain", std::to_string(plain));
  EXPECT_GT(federated, plain - 0.02);
  EXPECT_GT(federated, 0.93);
}

TEST(Settled, FillsInWhatIsLeftOpenAndNothingElse) {
  const job::Shared open;
  EXPECT_EQ(settled(open, 1000, false).training.test_share, 0.1);
  EXPECT_EQ(settled(open, 1000, true).training.test_share, 0);
  // 900 rows are 8 batches of 128, and 125 times 8 is 1000.
  EXPECT_EQ(settled(open, 1000, false).training.epochs, 125U);
  EXPECT_EQ(settled(open, 50, true).training.epochs, 1000U);
  // Where 10 epochs are 1000 steps and more, there are 10, as many as ever.
  EXPECT_EQ(settled(open, 12'800, true).training.epochs, 10U);
  EXPECT_EQ(settled(open, 10'000'000, true).training.epochs, 10U);
  job::Shared said;
  said.training.epochs = 3;
  said.training.test_share = 0.25;
  said.training.momentum = 0.5;
  EXPECT_EQ(settled(said, 1000, true), said);
  EXPECT_EQ(settled(settled(open, 777, false), 777, true), settled(open, 777, false)) << "what is settled stays";
}

TEST(Momentum, IsLeftOutWhereItWouldCostCiphertexts) {
  const PartyShape small{.numeric = 300};
  const PartyShape large{.numeric = 500'000, .nonzeros = 7};
  const PartyShape tables{.fields = {{.name = "f1", .categories = 40'000}}};
  job::Shared shared;
  EXPECT_EQ(momentum_of(shared, small, small), 0.9);
  EXPECT_EQ(momentum_of(shared, large, small), 0) << "the planner may choose updates under encryption";
  EXPECT_EQ(momentum_of(shared, small, tables), 0);
  shared.scheme.update = protocol::Update::kExchanged;
  EXPECT_EQ(momentum_of(shared, large, small), 0.9);
  shared.scheme.update = protocol::Update::kEncrypted;
  EXPECT_EQ(momentum_of(shared, small, small), 0);
  shared.training.momentum = 0.5;
  EXPECT_EQ(momentum_of(shared, large, small), 0.5) << "what is said is done";
}

TEST(RowSplit, LeavesARowToTrainOn) {
  job::Training training;
  training.test_share = 0.1;
  training.validation_share = 0.2;
  const RowSplit split = split_of(training, 1001);
  EXPECT_EQ(split.test, 100U);
  EXPECT_EQ(split.validation, 200U);
  EXPECT_EQ(split.training, 701U);
  EXPECT_EQ(split_of(training, 9).test, 0U) << "a tenth of nine rows is none";
  training.test_share = 0.9;
  training.validation_share = 0.9;
  const RowSplit tight = split_of(training, 10);
  EXPECT_EQ(tight.training, 1U);
  EXPECT_EQ(tight.training + tight.validation + tight.test, 10U);
}

TEST(RowSplit, IsDrawnFromTheSeedAndTheTestDoesNotDependOnValidation) {
  const SplitPlaces split = split_places({.training = 80, .validation = 10, .test = 10}, 3);
  EXPECT_THAT(split.training, SizeIs(80));
  EXPECT_THAT(split.validation, SizeIs(10));
  EXPECT_THAT(split.test, AllOf(SizeIs(10), Each(Lt(100U))));
  std::vector<std::uint32_t> all = split.training;
  all.insert(all.end(), split.validation.begin(), split.validation.end());
  all.insert(all.end(), split.test.begin(), split.test.end());
  std::ranges::sort(all);
  EXPECT_EQ(all, range(0, 100)) << "each row once";
  EXPECT_EQ(split_places({.training = 90, .validation = 0, .test = 10}, 3).test, split.test);
  EXPECT_NE(split_places({.training = 80, .validation = 10, .test = 10}, 4).test, split.test);
}

Evaluation two_classes() {
  Evaluation evaluation;
  evaluation.predictions = {0.9, 0.8, 0.4, 0.2};
  evaluation.labels = {1, 0, 1, 0};
  evaluation.loss = 0.5;
  return evaluation;
}

TEST(Measures, AreThoseThatSuitTheModel) {
  const auto names = [](const std::vector<run::Measure>& measures) {
    std::vector<std::string> all;
    all.reserve(measures.size());
    for (const run::Measure& measure : measures) all.push_back(measure.name);
    return all;
  };
  EXPECT_THAT(
      names(measure(metrics_of(job_of(ModelKind::kLr, 2).model, {}), two_classes())),
      ::testing::ElementsAre("auc", "pr_auc", "ks", "lift", "accuracy", "precision", "recall", "f1", "log_loss"));
  Evaluation one_class = two_classes();
  one_class.labels = {0, 0, 0, 0};
  EXPECT_THAT(names(measure(metrics_of(job_of(ModelKind::kLr, 2).model, {}), one_class)),
              ::testing::ElementsAre("accuracy", "precision", "recall", "f1", "log_loss"));
  EXPECT_THAT(names(measure(metrics_of(job_of(ModelKind::kLinear, 2).model, {}), two_classes())),
              ::testing::ElementsAre("rmse", "r2", "loss", "mae"));
}

TEST(Measures, LeaveOutRowsThatDoNotCountAndWeighTheOthers) {
  JobModel model;
  model.family = nn::Family::kLogistic;
  const torch::Tensor scores = torch::tensor({{2.0F}, {-1.0F}, {0.5F}, {9.0F}});
  const auto evaluation =
      evaluate_scores(model, job_loss(model, {}), scores, {1, 0, 0, 1}, {1, 3, 0, 1}, {true, true, true, false});
  ASSERT_TRUE(evaluation.has_value());
  EXPECT_THAT(evaluation->labels, ::testing::ElementsAre(1, 0));
  EXPECT_THAT(evaluation->weights, ::testing::ElementsAre(1, 3));
  EXPECT_FALSE(evaluate_scores(model, job_loss(model, {}), scores, {1, 0, 0, 1}, {}, std::vector<bool>(4)).has_value());
  // With weights of classes the loss is the one that training has.
  const auto plain = evaluate_scores(model, job_loss(model, {}), scores, {1, 1, 1, 1});
  const auto weighted = evaluate_scores(model, job_loss(model, {1, 4}), scores, {1, 1, 1, 1});
  EXPECT_NEAR(weighted->loss, 4 * plain->loss, 1e-5);
}

TEST(Baseline, LearnsFromBsFeaturesAlone) {
  const data::Table all = generated(ModelKind::kLr, 2, 1000);
  const data::RowsInMemory of_b(columns_of(all, Party::kB, kOfA));
  const AlignedRows training(of_b, {range(0, 600), std::vector<bool>(600, true)});
  const AlignedRows test(of_b, {range(600, 1000), std::vector<bool>(400, true)});
  const job::Shared shared = job_of(ModelKind::kLr, 2);
  const PartyShape shape{.numeric = kColumns - kOfA};
  JobModel model;
  model.family = nn::Family::kLogistic;
  BaselineSetup setup{.model = shared.model,
                      .shape = shape,
                      .loss = job_loss(model, {}),
                      .training = {.batch = 128, .sgd = {.learning_rate = 0.05, .momentum = 0.9}},
                      .steps = 300};
  const Baseline made = train_baseline(setup, training, test);
  ASSERT_TRUE(made.scores.defined());
  EXPECT_EQ(made.scores.size(0), 400);
  const std::vector<double> labels(all.labels().begin() + 600, all.labels().end());
  const double alone = quality(nn::Family::kLogistic, made.scores, labels);
  EXPECT_GT(alone, 0.55);
  EXPECT_LT(alone, 0.9) << "A's features are not in it";
  setup.most_seconds = 0;
  EXPECT_FALSE(train_baseline(setup, training, test).scores.defined()) << "it takes too long";
  const PartyShape none{};
  EXPECT_THROW((void)train_baseline({.model = shared.model, .shape = none, .loss = setup.loss}, training, test),
               InvalidArgument);
}

TEST(Baseline, HasEmbeddingsWhereTheModelHas) {
  std::vector<std::int64_t> codes;
  std::vector<double> labels;
  for (std::size_t i = 0; i < 300; ++i) {
    codes.push_back(static_cast<std::int64_t>(i * 7 % 5));
    labels.push_back(codes.back() < 2 ? 1 : 0);
  }
  data::Dataset rows;
  std::vector<IntMatrix::Column> columns(codes.begin(), codes.end());
  rows.fields = {IntMatrix::one_hot(5, columns)};
  rows.labels = labels;
  const data::RowsInMemory source(std::move(rows));
  const AlignedRows aligned(source, {range(0, 300), std::vector<bool>(300, true)});
  const PartyShape shape{.fields = {{.name = "f1", .categories = 5}}};
  JobModel model;
  model.family = nn::Family::kLogistic;
  for (const ModelKind kind : {ModelKind::kWdl, ModelKind::kDlrm, ModelKind::kDeepfm}) {
    const job::Shared shared = job_of(kind, 2);
    const Baseline made = train_baseline({.model = shared.model,
                                          .shape = shape,
                                          .loss = job_loss(model, {}),
                                          .training = {.batch = 64, .sgd = {.learning_rate = 0.1, .momentum = 0.9}},
                                          .steps = 200},
                                         aligned, aligned);
    EXPECT_GT(quality(nn::Family::kLogistic, made.scores, labels), 0.95);
  }
}

// Labels that no feature tells by itself, and pairs do.
TEST(Baseline, HasFactorsWhereTheModelHas) {
  std::vector<std::int64_t> values;
  std::vector<double> labels;
  for (std::size_t i = 0; i < 400; ++i) {
    const std::size_t first = i / 2 % 2;
    const std::size_t second = i % 2;
    const std::size_t one_hot[] = {1 - first, first, 1 - second, second};
    for (const std::size_t value : one_hot) values.push_back(static_cast<std::int64_t>(value));
    labels.push_back(first == second ? 1 : 0);
  }
  data::Dataset rows;
  rows.features = IntMatrix::dense(400, 4, std::move(values), 0, 1);
  rows.labels = labels;
  const data::RowsInMemory source(std::move(rows));
  const AlignedRows aligned(source, {range(0, 400), std::vector<bool>(400, true)});
  JobModel model;
  model.family = nn::Family::kLogistic;
  const auto auc = [&](ModelKind kind) {
    const job::Shared shared = job_of(kind, 2);
    const Baseline made = train_baseline({.model = shared.model,
                                          .shape = {.numeric = 4},
                                          .loss = job_loss(model, {}),
                                          .training = {.batch = 64, .sgd = {.learning_rate = 0.1, .momentum = 0.9}},
                                          .steps = 300},
                                         aligned, aligned);
    return quality(nn::Family::kLogistic, made.scores, labels);
  };
  EXPECT_LT(auc(ModelKind::kLr), 0.8);
  EXPECT_GT(auc(ModelKind::kFm), 0.99);
}

TEST(LabelsOfARegression, AreStandardisedAndScoresInTheirUnit) {
  const std::vector<double> prices = {100000, 300000, 200000, 400000};
  const LabelScaling scaling = standardised(prices);
  EXPECT_DOUBLE_EQ(scaling.center, 250000);
  EXPECT_NEAR(scaling.scale, std::sqrt(1.25e10), 1e-6);
  EXPECT_EQ(standardised({7, 7, 7}).scale, 1);
  EXPECT_EQ(standardised({}).center, 0);

  JobModel model;
  model.family = nn::Family::kLinear;
  model.labels = scaling;
  const torch::Tensor scores = torch::tensor({{0.0F}, {1.0F}});
  EXPECT_NEAR(job_predictions(model, scores)[0][0].item<double>(), 250000, 1e-3);
  EXPECT_NEAR(job_predictions(model, scores)[1][0].item<double>(), 250000 + scaling.scale, 1e-3);
  JobModel plain;
  plain.family = nn::Family::kLinear;
  const torch::Tensor labels = torch::tensor({100000.0F, 400000.0F});
  const double expected = job_loss(plain, {})(scores, (labels - scaling.center) / scaling.scale, {}).item<double>();
  EXPECT_NEAR(job_loss(model, {})(scores, labels, {}).item<double>(), expected, 1e-6);
  model.family = nn::Family::kPoisson;
  EXPECT_NEAR(job_predictions(model, scores)[0][0].item<double>(), 1, 1e-6) << "of counts nothing is standardised";
}

TEST(Baseline, IsToldBesideTheFederatedModel) {
  run::RunSummary summary;
  summary.party = Party::kB;
  summary.results = {{"auc", 0.8034}, {"ks", 0.5}};
  EXPECT_EQ(baseline_text(summary), "");
  summary.baseline = {{"auc", 0.721}};
  EXPECT_EQ(baseline_text(summary), "B alone: auc 0.7210, federated 0.8034\n");
  EXPECT_THAT(rows_text({.training = 540, .validation = 0, .test = 60}), HasSubstr("540 trained on, 60 for the test"));
}

}  // namespace
}  // namespace blindfl::app::quality_test

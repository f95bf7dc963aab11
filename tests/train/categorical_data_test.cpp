// Accuracy on public data with categories: Wide & Deep and DLRM beside libtorch on the joined columns and on B's alone.

#include <gtest/gtest.h>

#include <iostream>

#include "blindfl/run/metrics.h"
#include "blindfl/train/trainer.h"
#include "train/categorical_sources.h"
#include "train/shared_training.h"

namespace blindfl::train::categorical_data_test {
namespace {

using protocol::Party;
using protocol::Session;
using protocol::Top;

const std::vector<std::size_t> kHidden{16, 8};
// Smooth: networks with ReLU drift apart by the last bit of Z, plain ones among themselves too (docs/protocols.md).
constexpr nn::Activation kActivation = nn::Activation::kTanh;

struct Aucs {
  double federated = 0;
  double joined = 0;
  double alone = 0;
};

torch::Tensor logistic(const torch::Tensor& scores, const torch::Tensor& labels) {
  return nn::loss(nn::Family::kLogistic, scores, labels);
}

/// Makes a plain model's top begin as the federated one's, which B has, or both parties' shares add up to.
template <class Federated>
void copy_top(const Federated& /*a*/, const Federated& b, torch::nn::Module& top) {
  nn::copy_parameters(*b->top, top);
}
void copy_top(const nn::SharedWideDeep& a, const nn::SharedWideDeep& b, torch::nn::Module& top) {
  const torch::NoGradGuard no_grad;
  const std::vector<torch::Tensor> opened = opened_top(top_pieces(*a), top_pieces(*b));
  auto parameters = top.parameters();
  for (std::size_t i = 0; i < opened.size(); ++i) parameters.at(i).copy_(opened[i]);
}

/// Scores of the test rows after training; coarse ones of a shared top only.
template <class Federated>
OpenedScores trained(Federated model, Session& s, const Prepared& data, const TrainOptions& options) {
  const auto forward = [&](const data::Batch& batch) { return model(batch); };
  fit(*model, forward, logistic, data.train.at(s.party()), options);
  return {score(forward, data.test.at(s.party()), options.batch), {}};
}

/// Two source layers, the layers of the top, and the loss.
nn::SharedTopOptions shared_options(const Prepared& data, const TrainOptions& options, std::size_t hidden) {
  return {.batch = options.batch,
          .sgd = options.sgd,
          .run = run_of(options, data.train.joined.labels.size(), data.test.joined.labels.size(), 2 + 2 * hidden + 1)};
}

OpenedScores trained(const nn::SharedWideDeep& model, Session& s, const Prepared& data, const TrainOptions& options) {
  const nn::SharedLoss loss(s, nn::Family::kLogistic, 1, shared_options(data, options, kHidden.size()));
  return train_shared(model.ptr(), loss, data.train.at(s.party()), data.test.at(s.party()), options);
}

/// `make(session)` makes the federated model, `make_local(numeric columns, fields)` a plain one.
template <class Federated, class Make, class MakeLocal>
Aucs run(const Prepared& data, const TrainOptions& options, const Make& make, const MakeLocal& make_local) {
  const auto scheme = testing::make_scheme("lattice");
  testing::TwoParties parties(*scheme, testing::Record::kNo);
  std::mutex torch_random;
  torch::manual_seed(7);
  const auto models = parties.run([&](Session& s) {
    const std::lock_guard lock(torch_random);
    return make(s);
  });
  auto joined = make_local(data.train.shape.in_a + data.train.shape.in_b, data.train.fields);
  nn::copy_sources(models.first, models.second, joined);
  copy_top(models.first, models.second, *joined->top);
  auto alone = make_local(data.train.shape.in_b, data.train.categories.fields_b);

  const auto scores = parties.run([&](Session& s) {
    const Federated& model = s.party() == Party::kA ? models.first : models.second;
    return trained(model, s, data, options);
  });
  lab::fit(joined, nn::Family::kLogistic, data.train.joined, options);
  lab::fit(alone, nn::Family::kLogistic, data.train.only_b, options);
  const auto metric = [&](const torch::Tensor& z) { return run::auc(nn::to_vector(z), data.test.joined.labels); };
  Aucs aucs{.federated = metric(scores.second.fine),
            .joined = metric(lab::score(joined, data.test.joined)),
            .alone = metric(lab::score(alone, data.test.only_b))};
  std::cout << "federated " << aucs.federated << ", joined " << aucs.joined << ", B alone " << aucs.alone;
  if (scores.second.coarse.defined()) {
    expect_scores(scores.second.fine, scores.second.coarse, lab::score(joined, data.test.joined), metric);
  }
  std::cout << "\n";
  return aucs;
}

/// Tables by oblivious transfer, as the planner takes them for vocabularies of these sizes.
nn::TwoSourceOptions source_options() {
  nn::TwoSourceOptions sources;
  sources.categories.table_scheme = protocol::kByOt;
  return sources;
}

Aucs wide_and_deep(const Prepared& data, const TrainOptions& options, Top top = Top::kOpen) {
  const std::size_t dimension = data.train.categories.dimension;
  const auto make_local = [&](std::size_t numeric, const std::vector<CategoryField>& fields) {
    return lab::LocalWideDeep(lab::LocalSources(numeric, std::size_t{1}, fields, dimension, kHidden.front()),
                              nn::WideDeepTop(fields.size() * dimension, kHidden, std::size_t{1}, kActivation));
  };
  if (top == Top::kOpen) {
    const auto make = [&](Session& s) {
      return nn::WideDeep(s, data.train.shape, data.train.categories, kHidden, std::size_t{1}, kActivation,
                          source_options());
    };
    return run<nn::WideDeep>(data, options, make, make_local);
  }
  const nn::SharedTopOptions on_shares = shared_options(data, options, kHidden.size());
  nn::TwoSourceOptions sources = source_options();
  sources.numeric.run = sources.categories.run = on_shares.run;
  const auto make = [&](Session& s) {
    return nn::SharedWideDeep(s, data.train.shape, data.train.categories, kHidden, std::size_t{1}, kActivation, sources,
                              on_shares);
  };
  return run<nn::SharedWideDeep>(data, options, make, make_local);
}

Aucs dlrm(const Prepared& data, const TrainOptions& options) {
  const std::size_t dimension = data.train.categories.dimension;
  const nn::DlrmShape shape{.bottom = {16}, .vectors = 4, .dimension = 4, .top = {16}};
  return run<nn::Dlrm>(
      data, options,
      [&](Session& s) {
        return nn::Dlrm(s, data.train.shape, data.train.categories, shape, std::size_t{1}, kActivation,
                        source_options());
      },
      [&](std::size_t numeric, const std::vector<CategoryField>& fields) {
        return lab::LocalDlrm(
            lab::LocalSources(numeric, shape.bottom.front(), fields, dimension, shape.vectors * shape.dimension),
            nn::DlrmTop(numeric, fields.size() * dimension, shape, std::size_t{1}, kActivation));
      });
}

void expect_as_good_as_joined(const Aucs& aucs) {
  EXPECT_NEAR(aucs.federated, aucs.joined, 0.002);
  EXPECT_GT(aucs.federated, aucs.alone);
}

/// One row in `some`, or all of them: see testing::every.
Source adult(std::size_t some = 2) {
  return lab::paper::read_adult(testing::real_data("")).some(testing::every(some), testing::every(some));
}

TEST(CategoricalRealData, WideAndDeepOnAdultHasTheJoinedModelsAuc) {
  BLINDFL_NEEDS_DATA("adult.data.xz");
  BLINDFL_NEEDS_DATA("adult.test.xz");
  const TrainOptions options{
      .epochs = testing::epochs(1, 2), .batch = 256, .sgd = {.learning_rate = 0.1, .momentum = 0.9}};
  std::cout << "Adult, Wide & Deep: ";
  expect_as_good_as_joined(wide_and_deep(prepare(adult(), options.batch), options));
}

TEST(CategoricalRealData, WideAndDeepOnAdultUnderASharedTopHasTheJoinedModelsAuc) {
  BLINDFL_NEEDS_DATA("adult.data.xz");
  BLINDFL_NEEDS_DATA("adult.test.xz");
  const TrainOptions options{
      .epochs = testing::epochs(1, 2), .batch = 256, .sgd = {.learning_rate = 0.1, .momentum = 0.9}};
  std::cout << "Adult, Wide & Deep, shared top: ";
  expect_as_good_as_joined(wide_and_deep(prepare(adult(4), options.batch), options, Top::kShared));
}

TEST(CategoricalRealData, WideAndDeepOnCriteoHasTheJoinedModelsAuc) {
  BLINDFL_NEEDS_DATA("criteo-mini.tr.libsvm.xz");
  BLINDFL_NEEDS_DATA("criteo-mini.va.libsvm.xz");
  const TrainOptions options{
      .epochs = testing::epochs(1, 2), .batch = 256, .sgd = {.learning_rate = 0.05, .momentum = 0.9}};
  std::cout << "Criteo, Wide & Deep: ";
  expect_as_good_as_joined(wide_and_deep(prepare(criteo(), options.batch), options));
}

TEST(CategoricalRealData, WideAndDeepOnCriteoUnderASharedTopHasTheJoinedModelsAuc) {
  BLINDFL_NEEDS_DATA("criteo-mini.tr.libsvm.xz");
  BLINDFL_NEEDS_DATA("criteo-mini.va.libsvm.xz");
  const TrainOptions options{
      .epochs = testing::epochs(1, 2), .batch = 256, .sgd = {.learning_rate = 0.05, .momentum = 0.9}};
  std::cout << "Criteo, Wide & Deep, shared top: ";
  expect_as_good_as_joined(wide_and_deep(prepare(criteo(4), options.batch), options, Top::kShared));
}

TEST(CategoricalRealData, DlrmOnCriteoHasTheJoinedModelsAuc) {
  BLINDFL_NEEDS_DATA("criteo-mini.tr.libsvm.xz");
  BLINDFL_NEEDS_DATA("criteo-mini.va.libsvm.xz");
  const TrainOptions options{
      .epochs = testing::epochs(1, 2), .batch = 256, .sgd = {.learning_rate = 0.05, .momentum = 0.9}};
  std::cout << "Criteo, DLRM: ";
  expect_as_good_as_joined(dlrm(prepare(criteo(), options.batch), options));
}

TEST(CategoricalRealData, WideAndDeepOnAvazuHasTheJoinedModelsAuc) {
  BLINDFL_NEEDS_DATA("avazu.15k.csv.xz");
  const TrainOptions options{.epochs = 2, .batch = 256, .sgd = {.learning_rate = 0.1, .momentum = 0.9}};
  std::cout << "Avazu, Wide & Deep: ";
  expect_as_good_as_joined(wide_and_deep(prepare(avazu(), options.batch), options));
}

// An epoch is not enough to be better than B alone.
TEST(CategoricalRealData, WideAndDeepOnAvazuUnderASharedTopHasTheJoinedModelsAuc) {
  BLINDFL_NEEDS_DATA("avazu.15k.csv.xz");
  if (!testing::long_runs()) GTEST_SKIP() << "BLINDFL_LONG_RUNS is not set";
  const TrainOptions options{.epochs = 2, .batch = 256, .sgd = {.learning_rate = 0.1, .momentum = 0.9}};
  std::cout << "Avazu, Wide & Deep, shared top: ";
  expect_as_good_as_joined(wide_and_deep(prepare(avazu(), options.batch), options, Top::kShared));
}

}  // namespace
}  // namespace blindfl::train::categorical_data_test

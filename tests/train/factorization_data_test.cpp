// Accuracy on public data: factorisation machines over one-hot categories, beside libtorch on the joined
// columns, in the form of width 1 + k and in that of textbooks, and on B's columns alone.

#include <gtest/gtest.h>

#include <iostream>

#include "blindfl/lab/local_factorization.h"
#include "blindfl/nn/shared_factorization.h"
#include "blindfl/run/metrics.h"
#include "blindfl/train/trainer.h"
#include "train/categorical_sources.h"
#include "train/shared_training.h"

namespace blindfl::train::factorization_data_test {
namespace {

using nn::VerticalData;
using protocol::Party;
using protocol::Session;
using protocol::Top;

constexpr std::size_t kFactors = 8;

/// One-hot categories of both parties, to train with and to test with.
struct OneHot {
  VerticalData train;
  VerticalData test;
  data::Table train_of_b;
  data::Table test_of_b;
};

/// Fields [first, last) beside each other, one-hot.
data::Table one_hot(const lab::LocalRows& rows, std::size_t first, std::size_t last) {
  std::vector<std::size_t> starts{0};
  std::vector<data::Table::Column> columns;
  std::size_t cols = 0;
  for (std::size_t r = 0; r < rows.labels.size(); ++r) {
    cols = 0;
    for (std::size_t f = first; f < last; ++f) {
      rows.fields[f].for_each_in_row(r, [&](std::size_t category, std::int64_t) {
        columns.push_back(static_cast<data::Table::Column>(cols + category));
      });
      cols += rows.fields[f].cols();
    }
    starts.push_back(columns.size());
  }
  std::vector<double> values(columns.size(), 1.0);
  return data::Table::csr(rows.labels.size(), cols, std::move(starts), std::move(columns), std::move(values),
                          rows.labels);
}

OneHot one_hot(const Source& source, std::size_t batch) {
  const Prepared prepared = prepare(source, batch);
  const std::size_t fields_a = source.fields_a.size();
  const std::size_t fields = prepared.train.fields.size();
  const auto of = [&](const lab::LocalRows& rows) {
    const std::size_t in_a = one_hot(rows.select(std::vector<std::uint32_t>{0}), 0, fields_a).cols();
    VerticalData both(one_hot(rows, 0, fields), in_a, batch, {.scale = 0, .largest = 1.0, .clip = false});
    both.shape.nonzeros_a = fields_a;
    both.shape.nonzeros_b = fields - fields_a;
    return both;
  };
  return {of(prepared.train.joined), of(prepared.test.joined), one_hot(prepared.train.joined, fields_a, fields),
          one_hot(prepared.test.joined, fields_a, fields)};
}

torch::Tensor logistic(const torch::Tensor& scores, const torch::Tensor& labels) {
  return nn::loss(nn::Family::kLogistic, scores, labels);
}

OpenedScores trained(nn::FactorizationMachine model, Session& s, const OneHot& data, const TrainOptions& options) {
  const auto forward = [&](const data::Batch& batch) { return model(batch); };
  fit(*model, forward, logistic, data.train.at(s.party()), options);
  return {score(forward, data.test.at(s.party()), options.batch), {}};
}

/// A source layer, the machine on shares and the loss.
nn::SharedTopOptions shared_options(const OneHot& data, const TrainOptions& options) {
  return {.batch = options.batch,
          .sgd = options.sgd,
          .run = run_of(options, data.train.joined.rows(), data.test.joined.rows(), 3)};
}

OpenedScores trained(const nn::SharedFactorizationMachine& model, Session& s, const OneHot& data,
                     const TrainOptions& options) {
  const nn::SharedLoss loss(s, nn::Family::kLogistic, 1, shared_options(data, options));
  return train_shared(model.ptr(), loss, data.train.at(s.party()), data.test.at(s.party()), options);
}

struct Aucs {
  double federated = 0;
  double joined = 0;
  double textbook = 0;  ///< with the squares subtracted, from the same function at the start
  double alone = 0;
  double regression = 0;  ///< without factors
  double derivative = 0;  ///< the mean magnitude of what the joined model has at its source layer, when it is trained
};

/// Of the summed loss, by z.
double mean_derivative(lab::LocalFactorizationMachine& model, const data::Table& rows) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor z = torch::mm(lab::features_tensor(rows), model->weight);
  const torch::Tensor by_score = torch::sigmoid(model->top(z)) - nn::to_tensor(rows.labels()).view({-1, 1});
  const torch::Tensor by_z = torch::cat({by_score, by_score * z.slice(1, 1)}, 1);
  return by_z.abs().mean().item<double>();
}

template <class Federated, class Make>
Aucs run(const OneHot& data, const TrainOptions& options, double deviation, const Make& make) {
  const auto scheme = testing::make_scheme("lattice");
  testing::TwoParties parties(*scheme, testing::Record::kNo);
  const auto models = parties.run([&](Session& s) { return make(s); });
  lab::LocalFactorizationMachine joined(data.train.joined.cols(), kFactors);
  lab::LocalFactorizationMachine textbook(data.train.joined.cols(), kFactors, lab::Diagonal::kSubtracted);
  torch::manual_seed(7);
  lab::LocalFactorizationMachine alone(data.train_of_b.cols(), kFactors);
  lab::LocalModel regression(data.train.joined.cols(), std::vector<std::size_t>{}, 1);
  {
    const torch::NoGradGuard no_grad;
    joined->weight.copy_(nn::joined_weight(nn::pieces_of(models.first->source), nn::pieces_of(models.second->source)));
    textbook->weight.copy_(joined->weight);
    textbook->weight.slice(1, 0, 1).add_(0.5 * joined->weight.slice(1, 1).square().sum(1, true));
    alone->weight.normal_(0, deviation);
    regression->weight.copy_(joined->weight.slice(1, 0, 1));
  }
  const auto scores = parties.run([&](Session& s) {
    const Federated& model = s.party() == Party::kA ? models.first : models.second;
    return trained(model, s, data, options);
  });
  for (lab::LocalFactorizationMachine* model : {&joined, &textbook}) {
    lab::fit(*model, nn::Family::kLogistic, data.train.joined, options);
  }
  lab::fit(alone, nn::Family::kLogistic, data.train_of_b, options);
  lab::fit(regression, nn::Family::kLogistic, data.train.joined, options);
  const auto metric = [&](const torch::Tensor& z) { return run::auc(nn::to_vector(z), data.test.joined.labels()); };
  const Aucs aucs{.federated = metric(scores.second.fine),
                  .joined = metric(lab::score(joined, data.test.joined)),
                  .textbook = metric(lab::score(textbook, data.test.joined)),
                  .alone = metric(lab::score(alone, data.test_of_b)),
                  .regression = metric(lab::score(regression, data.test.joined)),
                  .derivative = mean_derivative(joined, data.train.joined)};
  std::cout << "federated " << aucs.federated << ", joined " << aucs.joined << ", as in textbooks " << aucs.textbook
            << ", B alone " << aucs.alone << ", without factors " << aucs.regression
            << "; derivatives at the source layer are " << aucs.derivative << " on average";
  if (scores.second.coarse.defined()) {
    expect_scores(scores.second.fine, scores.second.coarse, lab::score(joined, data.test.joined), metric);
  }
  std::cout << "\n";
  return aucs;
}

Aucs machine(const OneHot& data, const TrainOptions& options, double deviation, Top top = Top::kOpen) {
  nn::MatMulOptions source;
  source.initial_deviation = deviation;
  source.sgd = options.sgd;
  if (top == Top::kOpen) {
    return run<nn::FactorizationMachine>(data, options, deviation, [&](Session& s) {
      return nn::FactorizationMachine(s, data.train.shape, kFactors, source);
    });
  }
  const nn::SharedTopOptions on_shares = shared_options(data, options);
  source.run = on_shares.run;
  return run<nn::SharedFactorizationMachine>(data, options, deviation, [&](Session& s) {
    return nn::SharedFactorizationMachine(s, data.train.shape, kFactors, source, on_shares);
  });
}

/// What a run is held to on average leaves derivatives times z room: nn::MatMul assumes 1.
void expect_as_good_as_joined(const Aucs& aucs) {
  EXPECT_NEAR(aucs.federated, aucs.joined, 0.002);
  // Steps of the two forms differ: after few of them AUC says little yet.
  if (testing::long_runs()) {
    EXPECT_NEAR(aucs.federated, aucs.textbook, 0.002);
  }
  EXPECT_GT(aucs.federated, aucs.alone);
  EXPECT_LT(aucs.derivative, 0.5);
}

constexpr double kDeviation = 0.05;

TrainOptions options_of(std::size_t epochs) {
  return {.epochs = epochs, .batch = 256, .sgd = {.learning_rate = 0.05, .momentum = 0.9}};
}

TEST(FactorizationRealData, OnCriteoHasTheJoinedModelsAuc) {
  BLINDFL_NEEDS_DATA("criteo-mini.tr.libsvm.xz");
  BLINDFL_NEEDS_DATA("criteo-mini.va.libsvm.xz");
  const TrainOptions options = options_of(testing::epochs(1, 5));
  std::cout << "Criteo, factorisation machine: ";
  expect_as_good_as_joined(machine(one_hot(in_buckets(criteo(4)), options.batch), options, kDeviation));
}

TEST(FactorizationRealData, OnCriteoUnderASharedTopHasTheJoinedModelsAuc) {
  BLINDFL_NEEDS_DATA("criteo-mini.tr.libsvm.xz");
  BLINDFL_NEEDS_DATA("criteo-mini.va.libsvm.xz");
  const TrainOptions options = options_of(testing::epochs(1, 5));
  std::cout << "Criteo, factorisation machine, shared top: ";
  expect_as_good_as_joined(machine(one_hot(in_buckets(criteo(4)), options.batch), options, kDeviation, Top::kShared));
}

TEST(FactorizationRealData, OnAvazuHasTheJoinedModelsAuc) {
  BLINDFL_NEEDS_DATA("avazu.15k.csv.xz");
  const TrainOptions options = options_of(testing::epochs(1, 5));
  std::cout << "Avazu, factorisation machine: ";
  expect_as_good_as_joined(machine(one_hot(avazu(), options.batch), options, kDeviation));
}

}  // namespace
}  // namespace blindfl::train::factorization_data_test

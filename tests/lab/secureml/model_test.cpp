// SecureML's models against plain libtorch: the same algorithm, start, batches and approximate sigmoid, in the clear.

#include "blindfl/lab/secureml/model.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "blindfl/base/error.h"
#include "lab/secureml/ways.h"

namespace blindfl::lab::secureml::model_test {
namespace {

constexpr std::size_t kRows = 64;
constexpr std::size_t kOfA = 3;
constexpr std::size_t kOfB = 4;
constexpr std::size_t kFeatures = kOfA + kOfB;
constexpr std::size_t kBatch = 16;
constexpr std::size_t kSteps = 50;
/// 2^-13 is a unit. A step rounds a weight by up to one of them at random, and what it is updated by, by less.
constexpr double kTolerance = 24.0 / 8192;

/// Of one step: weights, derivatives and what becomes of them are rounded to a unit each.
constexpr double kStepTolerance = 4.0 / 8192;

torch::Tensor tensor_of(const Words& m) {
  const std::vector<double> numbers = decode(m);
  return torch::tensor(numbers, torch::kFloat64)
      .reshape({static_cast<std::int64_t>(m.rows()), static_cast<std::int64_t>(m.cols())});
}

/// A data set and the start of a model, as fixed point has them.
struct Task {
  ModelSpec spec;
  Words of_a;
  Words of_b;
  Words labels;
  std::vector<Words> weights{};
  std::size_t steps = kSteps;

  [[nodiscard]] torch::Tensor features() const { return torch::cat({tensor_of(of_a), tensor_of(of_b)}, 1); }
};

Task task_of(Output output, const std::vector<std::size_t>& behind, std::uint64_t first_weights = 10) {
  Task task{.spec = {.output = output, .rate_bits = ModelSpec::rate_bits_of(0.5, kBatch)},
            .of_a = encode(kRows, kOfA, small_numbers(kRows * kOfA, 1)),
            .of_b = encode(kRows, kOfB, small_numbers(kRows * kOfB, 2)),
            .labels = Words(kRows, behind.back())};
  task.spec.widths = {kFeatures};
  task.spec.widths.insert(task.spec.widths.end(), behind.begin(), behind.end());
  // Labels of another model, so that there is something to learn.
  const torch::Tensor truth = torch::tensor(small_numbers(kFeatures * behind.back(), 3), torch::kFloat64)
                                  .reshape({static_cast<std::int64_t>(kFeatures), -1});
  torch::Tensor scores = torch::matmul(task.features(), truth);
  if (output == Output::kPiecewiseSigmoid) scores = (scores > 0).to(torch::kFloat64);
  task.labels = encode(kRows, behind.back(),
                       std::span<const double>(scores.contiguous().data_ptr<double>(), kRows * behind.back()));
  for (std::size_t i = 0; i + 1 < task.spec.widths.size(); ++i) {
    const std::size_t rows = task.spec.widths[i];
    const std::size_t cols = task.spec.widths[i + 1];
    task.weights.push_back(encode(rows, cols, small_numbers(rows * cols, first_weights + i)));
  }
  return task;
}

std::vector<std::uint32_t> batch_rows(std::size_t step) {
  std::vector<std::uint32_t> rows(kBatch);
  for (std::size_t i = 0; i < kBatch; ++i) rows[i] = static_cast<std::uint32_t>((7 * step + 5 * i) % kRows);
  return rows;
}

torch::Tensor predicted(const Task& task, torch::Tensor h, const std::vector<torch::Tensor>& weights) {
  for (std::size_t i = 0; i < weights.size(); ++i) {
    h = torch::matmul(h, weights[i]);
    if (i + 1 < weights.size()) h = torch::relu(h);
  }
  return task.spec.output == Output::kScores ? h : torch::clamp(h + 0.5, 0, 1);
}

/// What libtorch ends with.
struct TorchTraining {
  std::vector<torch::Tensor> weights{};
  double nearest_to_zero = 1;  ///< of all that ReLUs got: near to 0, rounding alone decides what they let through
};

/// Steps of libtorch's autograd and SGD. Scores are given predictions less labels as derivative, which is that of half
/// the squared error, or of the logistic loss.
TorchTraining trained_by_torch(const Task& task) {
  TorchTraining training;
  std::vector<torch::Tensor>& weights = training.weights;
  for (const Words& w : task.weights) weights.push_back(tensor_of(w).set_requires_grad(true));
  torch::optim::SGD optimizer(weights, torch::optim::SGDOptions(0.5));
  const torch::Tensor features = task.features();
  const torch::Tensor labels = tensor_of(task.labels);
  for (std::size_t step = 0; step < task.steps; ++step) {
    const std::vector<std::uint32_t> numbers = batch_rows(step);
    const torch::Tensor rows = torch::tensor(std::vector<std::int64_t>(numbers.begin(), numbers.end()), torch::kInt64);
    torch::Tensor scores = features.index_select(0, rows);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      scores = torch::matmul(scores, weights[i]);
      if (i + 1 == weights.size()) continue;
      training.nearest_to_zero = std::min(training.nearest_to_zero, scores.abs().min().item<double>());
      scores = torch::relu(scores);
    }
    const torch::Tensor given = task.spec.output == Output::kScores ? scores : torch::clamp(scores + 0.5, 0, 1);
    optimizer.zero_grad();
    scores.backward((given - labels.index_select(0, rows)).detach() / static_cast<double>(kBatch));
    optimizer.step();
  }
  return training;
}

/// What a party ends with, and what it had before each step.
struct Trained {
  std::vector<Words> weights;
  Words predictions;
  std::vector<std::vector<Words>> before;
};

std::pair<Trained, Trained> trained_on_shares(TripletParties& parties, const Task& task) {
  return parties.run([&](protocol::Session& session, TripletSource& source) {
    const bool at_a = session.party() == Party::kA;
    Words features = share_columns(session, at_a ? task.of_a : task.of_b, at_a ? kOfB : kOfA);
    Words labels = at_a ? share_of_b(session, kRows, task.labels.cols()) : share_of_b(session, task.labels);
    std::vector<Words> weights;
    for (const Words& w : task.weights) {
      weights.push_back(at_a ? share_of_b(session, w.rows(), w.cols()) : share_of_b(session, w));
    }
    Model model(session, source, task.spec, std::move(features), std::move(labels), std::move(weights));
    std::vector<std::vector<Words>> before;
    for (std::size_t step = 0; step < task.steps; ++step) {
      before.push_back(model.weights());
      model.step(batch_rows(step));
    }
    Words predictions = model.predict(all_rows(kRows));
    return Trained{model.weights(), std::move(predictions), std::move(before)};
  });
}

double furthest(const torch::Tensor& a, const torch::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

/// The largest difference of weights and of predictions from libtorch's.
double distance_from_torch(Triplets way, const Task& task) {
  TripletParties parties(way);
  const auto [a, b] = trained_on_shares(parties, task);
  const std::vector<torch::Tensor> expected = trained_by_torch(task).weights;
  double distance = 0;
  double moved = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    distance = std::max(distance, furthest(tensor_of(a.weights[i] + b.weights[i]), expected[i].detach()));
    moved = std::max(moved, furthest(tensor_of(task.weights[i]), expected[i].detach()));
  }
  EXPECT_GT(moved, 0.2) << "training changes the weights by far more than the tolerance";
  const torch::NoGradGuard no_grad;
  return std::max(distance,
                  furthest(tensor_of(a.predictions + b.predictions), predicted(task, task.features(), expected)));
}

class Models : public ::testing::TestWithParam<Triplets> {};

TEST_P(Models, OfLinearRegressionAgreeWithTorch) {
  EXPECT_LT(distance_from_torch(GetParam(), task_of(Output::kScores, {1})), kTolerance);
}

TEST_P(Models, OfLogisticRegressionWithThePiecewiseSigmoidAgreeWithTorch) {
  EXPECT_LT(distance_from_torch(GetParam(), task_of(Output::kPiecewiseSigmoid, {1})), kTolerance);
}

TEST_P(Models, OfSeveralOutputsAgreeWithTorch) {
  for (const Output output : {Output::kScores, Output::kPiecewiseSigmoid}) {
    EXPECT_LT(distance_from_torch(GetParam(), task_of(output, {3})), kTolerance);
  }
}

/// A few steps of a network from the first start whose ReLUs get nothing that is so near to 0 that what was rounded
/// until then may turn it: over many steps there is none, and plain programs that round as shares do part ways, too.
Task task_away_from_kinks(Output output, const std::vector<std::size_t>& behind, std::size_t steps, double margin) {
  constexpr std::uint64_t kStarts = 400;
  for (std::uint64_t start = 0; start < kStarts; ++start) {
    Task task = task_of(output, behind, 100 + 10 * start);
    task.steps = steps;
    if (trained_by_torch(task).nearest_to_zero > margin) return task;
  }
  ADD_FAILURE() << "no start keeps away from 0";
  return task_of(output, behind);
}

TEST_P(Models, OfAPerceptronWithReluAndThreeClassesAgreeWithTorch) {
  const Task task = task_away_from_kinks(Output::kPiecewiseSigmoid, {5, 3}, 10, kTolerance);
  EXPECT_LT(distance_from_torch(GetParam(), task), kTolerance);
}

TEST_P(Models, OfTwoHiddenLayersAgreeWithTorch) {
  for (const Output output : {Output::kScores, Output::kPiecewiseSigmoid}) {
    EXPECT_LT(distance_from_torch(GetParam(), task_away_from_kinks(output, {6, 4, 2}, 4, kTolerance / 3)), kTolerance);
  }
}

/// A value before ReLU that rounding may turn.
struct NearZero {
  std::size_t layer;
  std::int64_t row;
  std::int64_t unit;
};

/// One step of libtorch's from the given weights: where they end.
struct TorchStep {
  std::vector<torch::Tensor> weights{};
  std::vector<NearZero> near_zero{};  ///< of all that ReLUs got
};

/// `turned`: one value whose ReLU lets through what it would not, or the other way round.
TorchStep step_of_torch(const Task& task, const std::vector<Words>& from, std::size_t number,
                        const NearZero* turned = nullptr) {
  constexpr double kNear = 8.0 / 8192;
  TorchStep step;
  for (const Words& w : from) step.weights.push_back(tensor_of(w).set_requires_grad(true));
  const std::vector<std::uint32_t> numbers = batch_rows(number);
  const torch::Tensor rows = torch::tensor(std::vector<std::int64_t>(numbers.begin(), numbers.end()), torch::kInt64);
  torch::Tensor scores = task.features().index_select(0, rows);
  for (std::size_t i = 0; i < step.weights.size(); ++i) {
    scores = torch::matmul(scores, step.weights[i]);
    if (i + 1 == step.weights.size()) continue;
    torch::Tensor through = (scores > 0).to(torch::kFloat64).detach();
    const torch::Tensor near = (scores.abs() < kNear).nonzero();
    for (std::int64_t n = 0; n < near.size(0); ++n) {
      step.near_zero.push_back({i, near[n][0].item<std::int64_t>(), near[n][1].item<std::int64_t>()});
    }
    if (turned != nullptr && turned->layer == i) {
      through[turned->row][turned->unit] = 1 - through[turned->row][turned->unit].item<double>();
    }
    scores = scores * through;
  }
  const torch::Tensor given = task.spec.output == Output::kScores ? scores : torch::clamp(scores + 0.5, 0, 1);
  scores.backward((given - tensor_of(task.labels).index_select(0, rows)).detach());
  const torch::NoGradGuard no_grad;
  for (torch::Tensor& w : step.weights) w = (w - w.grad() * std::exp2(-task.spec.rate_bits)).detach();
  return step;
}

/// Whether two of them may be turned together: then a derivative through both changes by more than by each.
bool any_meet(const std::vector<NearZero>& values) {
  for (const NearZero& one : values) {
    for (const NearZero& other : values) {
      if (one.row == other.row && one.layer < other.layer) return true;
    }
  }
  return false;
}

/// Steps on shares against libtorch's own, each from the weights that the shares had then.
struct StepsApart {
  double furthest = 0;        ///< beyond what values near 0 may change
  std::size_t compared = 0;   ///< steps
  std::size_t near_zero = 0;  ///< of them, in all steps
  double moved = 0;           ///< the largest change of a weight in all steps together
};

StepsApart steps_apart(Triplets way, const Task& task) {
  TripletParties parties(way);
  const auto [a, b] = trained_on_shares(parties, task);
  StepsApart apart;
  const auto weights_at = [&a = a, &b = b](std::size_t step) {
    std::vector<Words> sums;
    const auto& of_a = step < a.before.size() ? a.before[step] : a.weights;
    const auto& of_b = step < b.before.size() ? b.before[step] : b.weights;
    for (std::size_t i = 0; i < of_a.size(); ++i) sums.push_back(of_a[i] + of_b[i]);
    return sums;
  };
  for (std::size_t step = 0; step < task.steps; ++step) {
    const std::vector<Words> from = weights_at(step);
    const std::vector<Words> to = weights_at(step + 1);
    const TorchStep expected = step_of_torch(task, from, step);
    std::vector<torch::Tensor> allowed;
    for (const torch::Tensor& w : expected.weights) allowed.push_back(torch::zeros_like(w));
    for (const NearZero& value : expected.near_zero) {
      const TorchStep other = step_of_torch(task, from, step, &value);
      for (std::size_t i = 0; i < allowed.size(); ++i) allowed[i] += (other.weights[i] - expected.weights[i]).abs();
    }
    apart.near_zero += expected.near_zero.size();
    const bool meet = any_meet(expected.near_zero);
    apart.compared += meet ? 0 : 1;
    for (std::size_t i = 0; i < to.size(); ++i) {
      const torch::Tensor beyond = (tensor_of(to[i]) - expected.weights[i]).abs() - allowed[i];
      if (!meet) apart.furthest = std::max(apart.furthest, beyond.max().item<double>());
      apart.moved = std::max(apart.moved, furthest(tensor_of(to[i]), tensor_of(task.weights[i])));
    }
  }
  return apart;
}

// Networks of any depth, over all steps: what the last bit of a weight changes later is in what the next step is
// compared with, too.
TEST_P(Models, OfEveryDepthMakeTheStepsOfTorch) {
  for (const std::vector<std::size_t>& behind : {std::vector<std::size_t>{5, 3}, {6, 4, 2}, {6, 5, 4, 2}}) {
    for (const Output output : {Output::kScores, Output::kPiecewiseSigmoid}) {
      const Task task = task_of(output, behind);
      const StepsApart apart = steps_apart(GetParam(), task);
      std::cout << behind.size() - 1 << " hidden layers, " << (output == Output::kScores ? "scores" : "sigmoid") << ", "
                << apart.compared << " of " << task.steps << " steps: within " << 8192 * apart.furthest
                << " units of 2^-13; " << apart.near_zero << " values near 0\n";
      EXPECT_LT(apart.furthest, kStepTolerance);
      EXPECT_GE(apart.compared, task.steps / 3);
      EXPECT_GT(apart.moved, 0.2) << "training changes the weights by far more than the tolerance";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, Models, ::testing::ValuesIn(kWays), way_name);

// Why two hidden layers are not compared after many steps: plain trainings part ways that begin one unit apart.
TEST(Model, OfTwoHiddenLayersHangsOnTheLastBitInPlainTorchToo) {
  double furthest_apart = 0;
  for (std::uint64_t start = 0; start < 20; ++start) {
    const Task task = task_of(Output::kScores, {6, 4, 2}, 100 + 10 * start);
    Task near = task;
    for (Words& w : near.weights) {
      for (std::uint64_t& v : w.values()) ++v;
    }
    const TorchTraining one = trained_by_torch(task);
    const TorchTraining other = trained_by_torch(near);
    for (std::size_t i = 0; i < one.weights.size(); ++i) {
      furthest_apart = std::max(furthest_apart, furthest(one.weights[i].detach(), other.weights[i].detach()));
    }
  }
  EXPECT_GT(furthest_apart, 4 * kTolerance);
}

TEST(Model, RoundsItsLearningRateToNothing) {
  EXPECT_EQ(ModelSpec::rate_bits_of(0.5, 16), 5);
  EXPECT_EQ(ModelSpec::rate_bits_of(16, 16), 0);
  EXPECT_EQ(ModelSpec::rate_bits_of(1, 128), 7);
  EXPECT_THROW((void)ModelSpec::rate_bits_of(0.1, 16), InvalidArgument);
  EXPECT_THROW((void)ModelSpec::rate_bits_of(32, 16), InvalidArgument);
  EXPECT_THROW((void)ModelSpec::rate_bits_of(0, 16), InvalidArgument);
  EXPECT_THROW((void)ModelSpec::rate_bits_of(0.5, 0), InvalidArgument);
  EXPECT_THROW((void)ModelSpec::rate_bits_of(0x1p-30, 1), InvalidArgument);
}

TEST(Model, RefusesShapesThatDoNotFit) {
  TripletParties parties(Triplets::kObliviousTransfer);
  (void)parties.run([&](protocol::Session& session, TripletSource& source) {
    const auto make = [&](const ModelSpec& spec, std::size_t labels, std::size_t width) {
      std::vector<Words> weights;
      weights.emplace_back(3, width);
      const Model model(session, source, spec, Words(4, 3), Words(4, labels), std::move(weights));
    };
    EXPECT_THROW(make({.widths = {3}}, 1, 1), InvalidArgument);
    EXPECT_THROW(make({.widths = {3, 2}}, 1, 2), InvalidArgument);
    EXPECT_THROW(make({.widths = {3, 1}}, 1, 2), InvalidArgument);
    EXPECT_THROW(make({.widths = {3, 1}, .rate_bits = 31}, 1, 1), InvalidArgument);
  });
}

TEST(Model, OfOtherSettingsAtThePeerIsRefused) {
  TripletParties parties(Triplets::kObliviousTransfer);
  const auto make = [&](protocol::Session& session, TripletSource& source) {
    std::vector<Words> weights;
    weights.emplace_back(3, 1);
    const int rate_bits = session.party() == Party::kA ? 4 : 5;
    const Model model(session, source, {.widths = {3, 1}, .rate_bits = rate_bits}, Words(4, 3), Words(4, 1),
                      std::move(weights));
  };
  EXPECT_THROW((void)parties.run(make), ConfigError);
}

}  // namespace
}  // namespace blindfl::lab::secureml::model_test

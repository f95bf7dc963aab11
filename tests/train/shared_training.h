#pragma once

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <functional>
#include <iostream>
#include <memory>
#include <utility>
#include <vector>

#include "blindfl/nn/bridge.h"
#include "blindfl/nn/shared_models.h"
#include "blindfl/train/shared_learner.h"

// What the tests on real data do with a model whose top is on shares, as a program would.

namespace blindfl::train {

/// Scores at B, with more fractional bits than B gets where nothing else is agreed on, and with as many. At A: no rows.
struct OpenedScores {
  torch::Tensor fine;
  torch::Tensor coarse;
};

using Metric = std::function<double(const torch::Tensor& scores)>;

/// Of what is opened each score is the joined model's: after few steps, when a metric tells little yet, that tells
/// more. Prints how far they are from each other, and what the metric says of coarse ones.
inline void expect_scores(const torch::Tensor& fine, const torch::Tensor& coarse, const torch::Tensor& joined,
                          const Metric& metric, double tolerance = 0.02) {
  const auto largest = [&](const torch::Tensor& scores) { return (scores - joined).abs().max().item<double>(); };
  std::cout << "; scores differ by " << largest(fine) << " at most; of scores at " << nn::kDefaultScoreBits
            << " fractional bits " << metric(coarse);
  EXPECT_LT(largest(fine), tolerance);
  // Each party rounds its own share.
  EXPECT_LT(largest(coarse), std::ldexp(1.0, -nn::kDefaultScoreBits) + tolerance);
}

constexpr int kFineScoreBits = 14;
constexpr std::size_t kStepsBetweenChecks = 16;

/// What hides everything that goes through a model of `parts` layers and functions: all steps, and the test rows.
inline protocol::RunLength run_of(const TrainOptions& options, std::size_t rows, std::size_t test_rows,
                                  std::size_t parts) {
  const auto batches = [&](std::size_t of) { return (of + options.batch - 1) / options.batch; };
  return {.passes = options.epochs * batches(rows) + batches(test_rows), .layers = parts};
}

/// Trains as TrainingLoop does, with its look at ranges, and opens the scores of the test rows. A row's score is opened
/// twice, which a program must not do.
inline OpenedScores train_shared(const std::shared_ptr<nn::SharedModel>& model, const nn::SharedLoss& loss,
                                 const data::Dataset& train, const data::Dataset& test, const TrainOptions& options) {
  SharedLearner learner(model, loss);
  const data::RowsInMemory rows(train);
  Trainer trainer(*learner, learner->step(), rows, options);
  while (!trainer.done()) {
    (void)trainer.take_step();
    if (trainer.done() || trainer.step() % kStepsBetweenChecks == 0) nn::check_ranges(*learner);
  }
  const torch::Tensor both = score(
      [&](const data::Batch& batch) {
        const nn::SharedTensor scores = model->scores(batch);
        return torch::cat({model->open_scores(scores, kFineScoreBits), model->open_scores(scores)}, 1);
      },
      test, options.batch);
  const std::vector<torch::Tensor> parts = both.chunk(2, 1);
  return {parts[0].contiguous(), parts[1].contiguous()};
}

/// This party's shares of what follows the source layers: the first bias, then weights and bias of each linear layer.
inline std::vector<ShareMatrix> top_pieces(const nn::FederatedModule& model) {
  std::vector<ShareMatrix> pieces;
  for (const nn::FederatedParameter& parameter : model.federated_parameters()) {
    if (parameter.name() == "bias" || parameter.name().starts_with("linear")) pieces.push_back(parameter.piece());
  }
  return pieces;
}

/// What both parties' shares of it add up to, as the parameters of torch's layers have it.
inline std::vector<torch::Tensor> opened_top(const std::vector<ShareMatrix>& a, const std::vector<ShareMatrix>& b) {
  std::vector<torch::Tensor> opened;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const ShareMatrix sum = open(a[i], b[i]);
    const torch::Tensor values = nn::to_tensor(decode_ring(sum), sum.rows(), sum.cols());
    const bool weight = i % 2 == 1;
    opened.push_back(weight ? values.t().contiguous() : values.view({-1}));
  }
  return opened;
}

}  // namespace blindfl::train

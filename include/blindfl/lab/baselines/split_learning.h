#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "blindfl/lab/baselines/vertical_rows.h"
#include "blindfl/net/channel.h"
#include "blindfl/nn/models.h"
#include "blindfl/train/trainer.h"

// Split learning, what the paper compares its privacy with: A owns its bottom model in the clear, sends what it makes
// of a batch to B, and gets the derivatives of the loss by that. Nothing is hidden: a baseline for attacks, and never
// for data of two parties.
//
//   A                                          B
//   X_A W_A, E_A = lookup(Q_A, X_A)  ------>   Z = X_A W_A + X_B W_B, E = [E_A | E_B], its top, the loss
//   W_A, Q_A learn                   <------   the derivatives of the mean loss by X_A W_A and E_A

namespace blindfl::lab::baselines {

/// What both parties know of a split model. Without fields: generalised linear models, and with hidden layers
/// perceptrons. With fields: Wide & Deep, the numeric features being its wide part.
struct SplitSpec {
  std::size_t in_a = 0;  ///< numeric features
  std::size_t in_b = 0;
  VerticalFields fields{};
  std::size_t dimension = 8;          ///< of an embedding
  std::vector<std::size_t> hidden{};  ///< widths of hidden layers; with fields at least one
  std::size_t outputs = 1;
  Family family = Family::kLogistic;
  Activation activation = Activation::kRelu;
};

/// A's part of a split model. Both parties make the same calls at the same time, each on its own rows. Initial weights
/// are torch's random numbers: `torch::manual_seed` repeats them.
class SplitBottom {
 public:
  /// What A received in an epoch of training: for each row, in the order of its table, the derivative of its batch's
  /// mean loss by what A sent of it. Undefined where A has no such features.
  struct Derivatives {
    torch::Tensor contribution;  ///< by X_A W_A: rows x width
    torch::Tensor embeddings;    ///< by E_A: rows x (A's fields * dimension)
  };

  /// `to_b` must outlive this. Throws InvalidArgument if A has no features, or fields have no hidden layer behind them.
  SplitBottom(net::Channel& to_b, const SplitSpec& spec);
  ~SplitBottom();
  SplitBottom(const SplitBottom&) = delete;
  SplitBottom& operator=(const SplitBottom&) = delete;

  /// Reveals: X_A W_A and E_A of every row to B, in every epoch; their derivatives to A. Throws as the channel does.
  void train(const LocalRows& rows, const train::TrainOptions& options);
  /// Reveals: X_A W_A and E_A of every row to B.
  void score(const LocalRows& rows);

  /// X_A W_A, without B: rows x width. Undefined if A has no numeric features.
  [[nodiscard]] torch::Tensor contribution(const LocalRows& rows) const;
  /// W_A, features x width. Undefined if A has no numeric features.
  [[nodiscard]] torch::Tensor weight() const;
  /// Q_A, one for each of A's fields, categories x dimension.
  [[nodiscard]] std::vector<torch::Tensor> tables() const;
  /// Of all epochs so far.
  [[nodiscard]] const std::vector<Derivatives>& derivatives() const { return derivatives_; }

 private:
  class Model;
  net::Channel& to_b_;
  std::shared_ptr<Model> model_;
  std::vector<Derivatives> derivatives_;
};

/// B's part: its own bottom model and everything above.
class SplitTop {
 public:
  /// `to_a` must outlive this. Throws as SplitBottom does.
  SplitTop(net::Channel& to_a, const SplitSpec& spec);
  ~SplitTop();
  SplitTop(const SplitTop&) = delete;
  SplitTop& operator=(const SplitTop&) = delete;

  void train(const LocalRows& rows, const train::TrainOptions& options);
  /// The whole model's scores, a row for each row.
  [[nodiscard]] torch::Tensor score(const LocalRows& rows);

 private:
  class Model;
  net::Channel& to_a_;
  std::shared_ptr<Model> model_;
};

/// What a run of split learning leaves to look at.
struct SplitRun {
  torch::Tensor weight;                               ///< W_A; undefined if A has no numeric features
  std::vector<torch::Tensor> tables;                  ///< Q_A
  std::vector<SplitBottom::Derivatives> derivatives;  ///< of the training rows, epoch by epoch
  torch::Tensor contribution;                         ///< X_A W_A of the test rows, as A has it
  torch::Tensor scores;                               ///< of the test rows, as B has them
};

/// Both parties in this process, as threads with a channel between them: trains on `training`, scores `test`. Seeds
/// torch's random numbers: equal seeds give equal runs.
[[nodiscard]] SplitRun run_split_learning(const VerticalRows& training, const VerticalRows& test, const SplitSpec& spec,
                                          const train::TrainOptions& options, std::uint64_t seed = 1);

}  // namespace blindfl::lab::baselines

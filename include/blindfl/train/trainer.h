#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "blindfl/data/batches.h"
#include "blindfl/data/row_source.h"
#include "blindfl/nn/federated_optimizer.h"
#include "blindfl/protocol/layers/keep_options.h"

namespace blindfl::train {

struct TrainOptions {
  std::size_t epochs = 10;
  std::size_t batch = 128;
  nn::SgdOptions sgd{};  ///< its schedule counts steps over all epochs
  /// Order of the rows. Both parties must have the same.
  std::uint64_t order_seed = 1;
  double most_for_placeholders = std::numeric_limits<double>::infinity();  ///< at B: see `batch_loss`
  /// Whether products that do not change are made once: see `Trainer::keep_products`. Both parties must say the same.
  /// A model that gives its layers other features than the rows have cannot: it says false.
  bool keep_products = true;
  protocol::KeepOptions kept{};  ///< where; each party for itself
};

/// Where training is, after a step.
struct StepReport {
  std::size_t epoch = 0;  ///< from 1
  std::size_t epochs = 0;
  std::size_t step = 0;  ///< over all epochs, from 1
  std::size_t steps = 0;
  std::size_t rows = 0;  ///< in this step
  /// The mean over this step's rows that count; only B knows, if there are any, and nobody under a shared top.
  std::optional<double> loss;
  std::size_t labelled = 0;  ///< how many these are; 0 at A
};

/// What a trainer does between the backward pass and the step of its optimizer: clipping gradients, for instance.
using BeforeStep = std::function<void()>;
using Forward = std::function<torch::Tensor(const data::Batch&)>;
using Loss = std::function<torch::Tensor(const torch::Tensor& scores, const torch::Tensor& labels)>;
/// The same for rows that count more or less than others; `weights` has one for each label, or is undefined.
using WeightedLoss = std::function<torch::Tensor(const torch::Tensor& scores, const torch::Tensor& labels,
                                                 const torch::Tensor& weights)>;
using Observer = std::function<void(const StepReport&)>;

/// What a batch's forward pass leaves: its loss.
struct StepLoss {
  std::function<void()> backward;    ///< runs the backward pass of all that made the loss; once
  std::optional<double> value = {};  ///< as in `StepReport::loss`
};
/// A forward pass and its loss. Both parties make it at the same time.
using BatchStep = std::function<StepLoss(const data::Batch&)>;

/// The loss of a batch: the mean over the rows that count. The others, placeholders, add nothing, and the derivatives
/// of those that count grow by as much as if the batch had no more than them, so that the model is that of plain
/// training on them. Which these are stays with B: derivatives leave it as shares alone. At A, a value without meaning.
/// `most` bounds by how much: a batch in which hardly any row counts then counts less, and derivatives stay in their
/// range.
[[nodiscard]] torch::Tensor batch_loss(const WeightedLoss& loss, const torch::Tensor& scores, const data::Batch& batch,
                                       double most = std::numeric_limits<double>::infinity());

/// A model on its way through its training rows, step by step. Both parties make the same calls at the same time, with
/// the same options and with rows of the same people in the same order.
class Trainer {
 public:
  /// `model` and `rows` must outlive this. `forward` runs `model`.
  /// Throws InvalidArgument if there are no rows, options are out of range or `sgd.steps` are too few.
  Trainer(const nn::FederatedModule& model, Forward forward, Loss loss, const data::RowSource& rows,
          const TrainOptions& options);
  /// The same with the weights of the batches.
  Trainer(const nn::FederatedModule& model, Forward forward, WeightedLoss loss, const data::RowSource& rows,
          const TrainOptions& options);
  /// The same with passes of one's own, as those of a top on shares, whose loss nobody knows:
  ///
  /// ```
  /// Trainer trainer(*model, [&](const data::Batch& x) -> StepLoss {
  ///   auto step = loss->forward(model->scores(x), x);
  ///   return {.backward = [step]() mutable { step.backward(); }};
  /// }, rows, options);
  /// ```
  /// `TrainOptions::most_for_placeholders` is then `step`'s to see to.
  Trainer(const nn::FederatedModule& model, BatchStep step, const data::RowSource& rows, const TrainOptions& options);

  [[nodiscard]] std::size_t steps() const { return options_.epochs * order_.batches_per_epoch(); }
  [[nodiscard]] std::size_t steps_per_epoch() const { return order_.batches_per_epoch(); }
  /// Steps that were taken.
  [[nodiscard]] std::size_t step() const { return step_; }
  [[nodiscard]] bool done() const { return step_ == steps(); }

  /// Makes the products that training does not change, of all rows: see nn/keep_products.h. The first step does it, if
  /// nobody has before. Nothing happens with weight decay, which changes them, where fewer steps are left than an epoch
  /// has, which would not be worth it, and where `TrainOptions::keep_products` says so.
  void keep_products();
  /// Takes the next step. Throws InvalidArgument if there is none, and whatever the protocol throws: ConfigError at the
  /// first one if the parties have different options or numbers of rows.
  StepReport take_step(const BeforeStep& before_step = {});

  /// The optimizer, for checkpoints.
  [[nodiscard]] nn::FederatedOptimizer& optimizer() { return optimizer_; }
  /// Goes on after that many steps, which another run of this trainer took.
  void resume_after(std::size_t step);

 private:
  [[nodiscard]] std::shared_ptr<data::Batch> batch_of(std::size_t step);

  const nn::FederatedModule& model_;
  BatchStep pass_;
  const data::RowSource& rows_;
  TrainOptions options_;
  data::BatchOrder order_;
  nn::FederatedOptimizer optimizer_;
  std::vector<protocol::Session*> sessions_;  ///< of the model
  std::size_t step_ = 0;
  bool begun_ = false;     ///< products that can be kept are
  std::size_t epoch_ = 0;  ///< that `batches_` are of; 0: none
  std::vector<std::vector<std::uint32_t>> batches_;
  std::shared_ptr<data::Batch> coming_;  ///< of the next step, if it was made
};

/// Trains a model on this party's rows. Both parties call it at the same time with the same options, and with rows of
/// the same people in the same order. `forward` runs `model`.
/// Throws InvalidArgument if there are no rows, options are out of range or `sgd.steps` are too few, ConfigError if the
/// parties have different options or numbers of rows; whatever the protocol throws.
void fit(const nn::FederatedModule& model, const Forward& forward, const Loss& loss, const data::Dataset& rows,
         const TrainOptions& options, const Observer& observer = {});

/// At B: the model's scores, a row for each row of data. At A: an empty tensor. No gradients are kept.
[[nodiscard]] torch::Tensor score(const Forward& forward, const data::Dataset& rows, std::size_t batch);
/// The same for rows that may be in a file. `observer` is told how many rows are done.
[[nodiscard]] torch::Tensor score(const Forward& forward, const data::RowSource& rows, std::size_t batch,
                                  const std::function<void(std::size_t)>& observer = {});

}  // namespace blindfl::train

#include "blindfl/train/trainer.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/nn/bridge.h"
#include "blindfl/nn/keep_products.h"
#include "blindfl/protocol/session/output.h"
#include "blindfl/protocol/session/sessions.h"

namespace blindfl::train {

namespace {

protocol::Settings settings(const TrainOptions& options, std::size_t rows) {
  protocol::Settings settings;
  settings.add("rows", rows).add("batch", options.batch).add("epochs", options.epochs);
  settings.add("order_seed", options.order_seed).add("keep_products", options.keep_products);
  return settings.add(options.sgd.settings());
}

WeightedLoss without_weights(Loss loss) {
  return
      [loss = std::move(loss)](const torch::Tensor& scores, const torch::Tensor& labels, const torch::Tensor& weights) {
        require<InvalidArgument>(!weights.defined(), "the rows have weights, and the loss takes none");
        return loss(scores, labels);
      };
}

/// The places in the batch of the rows that count.
std::vector<std::int64_t> counting_rows(const data::Batch& batch) {
  std::vector<std::int64_t> rows;
  for (std::size_t i = 0; i < batch.labels.size(); ++i) {
    if (batch.counts.empty() || batch.counts[i]) rows.push_back(static_cast<std::int64_t>(i));
  }
  return rows;
}

BatchStep step_of(Forward forward, WeightedLoss loss, double most_for_placeholders) {
  return [forward = std::move(forward), loss = std::move(loss), most_for_placeholders](const data::Batch& batch) {
    const torch::Tensor value = batch_loss(loss, forward(batch), batch, most_for_placeholders);
    StepLoss step{.backward = [value] { value.backward(); }};
    if (!counting_rows(batch).empty()) step.value = value.item<double>();
    return step;
  };
}

}  // namespace

torch::Tensor batch_loss(const WeightedLoss& loss, const torch::Tensor& scores, const data::Batch& batch, double most) {
  const torch::Tensor labels = nn::labels_tensor(batch);
  torch::Tensor weights;
  if (!batch.weights.empty()) weights = nn::to_tensor(batch.weights);
  if (batch.counts.empty()) return loss(scores, labels, weights);
  const std::vector<std::int64_t> rows = counting_rows(batch);
  // A value all the same, without gradient: the peer waits for this party's part of the step.
  if (rows.empty()) return scores.sum() * 0;
  const torch::Tensor chosen = torch::tensor(rows);
  if (weights.defined()) weights = weights.index_select(0, chosen);
  const double share = static_cast<double>(rows.size()) / static_cast<double>(batch.labels.size());
  return loss(scores.index_select(0, chosen), labels.index_select(0, chosen), weights) * std::min(1.0, most * share);
}

Trainer::Trainer(const nn::FederatedModule& model, Forward forward, Loss loss, const data::RowSource& rows,
                 const TrainOptions& options)
    : Trainer(model, std::move(forward), without_weights(std::move(loss)), rows, options) {}

Trainer::Trainer(const nn::FederatedModule& model, Forward forward, WeightedLoss loss, const data::RowSource& rows,
                 const TrainOptions& options)
    : Trainer(model, step_of(std::move(forward), std::move(loss), options.most_for_placeholders), rows, options) {}

Trainer::Trainer(const nn::FederatedModule& model, BatchStep step, const data::RowSource& rows,
                 const TrainOptions& options)
    : model_(model),
      pass_(std::move(step)),
      rows_(rows),
      options_(options),
      order_(rows.rows(), options.batch, options.order_seed),
      optimizer_(model, options.sgd),
      sessions_(nn::sessions_of(model.federated_parameters())) {
  require<InvalidArgument>(rows.rows() > 0, "training needs at least one row");
  require<InvalidArgument>(options.sgd.steps == 0 || options.sgd.steps >= steps(), "training takes ", steps(),
                           " steps, ", steps_per_epoch(), " in each of ", options.epochs,
                           " epochs, and sgd.steps declares ", options.sgd.steps, ". Declare at least ", steps(),
                           ", or 0 for any number, at both parties");
  for (protocol::Session* session : sessions_) {
    session->agree("the training plan", settings(options, rows.rows()));
  }
}

std::shared_ptr<data::Batch> Trainer::batch_of(std::size_t step) {
  const std::size_t epoch = step / steps_per_epoch() + 1;
  if (epoch != epoch_) {
    batches_ = order_.batches(epoch);
    epoch_ = epoch;
  }
  const std::vector<std::uint32_t>& numbers = batches_[step % steps_per_epoch()];
  auto batch = std::make_shared<data::Batch>(rows_.batch(numbers, options_.batch));
  batch->numbers = numbers;
  return batch;
}

void Trainer::keep_products() {
  if (std::exchange(begun_, true)) return;
  const bool worth_it = steps() - step_ >= steps_per_epoch();
  if (!options_.keep_products || options_.sgd.weight_decay != 0 || !worth_it) return;
  nn::keep_products(model_, rows_, options_.kept);
}

StepReport Trainer::take_step(const BeforeStep& before_step) {
  require<InvalidArgument>(!done(), "training has taken all of its ", steps(), " steps");
  keep_products();
  const std::shared_ptr<data::Batch> taken = coming_ ? std::move(coming_) : batch_of(step_);
  coming_ = step_ + 1 < steps() ? batch_of(step_ + 1) : nullptr;
  taken->next = coming_;
  const data::Batch& batch = *taken;
  for (protocol::Session* session : sessions_) {
    protocol::bind_outputs(*session, "pass", as_bytes("training step " + std::to_string(step_)));
  }
  const StepLoss loss = pass_(batch);
  optimizer_.zero_grad();
  loss.backward();
  if (before_step) before_step();
  optimizer_.step();
  ++step_;

  return {.epoch = (step_ - 1) / steps_per_epoch() + 1,
          .epochs = options_.epochs,
          .step = step_,
          .steps = steps(),
          .rows = batch.rows,
          .loss = loss.value,
          .labelled = counting_rows(batch).size()};
}

void Trainer::resume_after(std::size_t step) {
  require<InvalidArgument>(step <= steps(), "training has ", steps(), " steps: it cannot resume after ", step);
  step_ = step;
  begun_ = false;
  coming_ = nullptr;
}

void fit(const nn::FederatedModule& model, const Forward& forward, const Loss& loss, const data::Dataset& rows,
         const TrainOptions& options, const Observer& observer) {
  require<InvalidArgument>(rows.rows() > 0, "training needs at least one row");
  const data::RowsInMemory source(rows);
  Trainer trainer(model, forward, loss, source, options);
  while (!trainer.done()) {
    const StepReport report = trainer.take_step();
    if (observer) observer(report);
  }
}

torch::Tensor score(const Forward& forward, const data::RowSource& rows, std::size_t batch,
                    const std::function<void(std::size_t)>& observer) {
  const torch::NoGradGuard no_grad;
  const auto order = data::BatchOrder::sequential(rows.rows(), batch);
  std::vector<torch::Tensor> scores;
  scores.reserve(order.batches_per_epoch());
  std::size_t done = 0;
  for (const auto& chosen : order.batches(0)) {
    data::Batch scored = rows.batch(chosen, batch);
    scored.scored = chosen;
    scores.push_back(forward(scored));
    done += chosen.size();
    if (observer) observer(done);
  }
  require<InvalidArgument>(!scores.empty(), "scoring needs at least one row");
  return torch::cat(scores);
}

torch::Tensor score(const Forward& forward, const data::Dataset& rows, std::size_t batch) {
  return score(forward, data::RowsInMemory(rows), batch);
}

}  // namespace blindfl::train

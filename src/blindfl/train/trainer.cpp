#include "blindfl/train/trainer.h"

#include <string>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/nn/bridge.h"

namespace blindfl::train {

namespace {

protocol::Settings settings(const TrainOptions& options, std::size_t rows) {
  protocol::Settings settings;
  settings.add("rows", rows).add("batch", options.batch).add("epochs", options.epochs);
  settings.add("order_seed", options.order_seed);
  return settings.add(options.sgd.settings());
}

}  // namespace

void fit(const nn::FederatedModule& model, const Forward& forward, const Loss& loss, const data::Dataset& rows,
         const TrainOptions& options, const Observer& observer) {
  require<InvalidArgument>(rows.rows() > 0, "training needs at least one row");
  const data::BatchOrder order(rows.rows(), options.batch, options.order_seed);
  const std::size_t steps = options.epochs * order.batches_per_epoch();
  require<InvalidArgument>(options.sgd.steps == 0 || options.sgd.steps >= steps, "training takes ", steps, " steps, ",
                           order.batches_per_epoch(), " in each of ", options.epochs,
                           " epochs, and sgd.steps declares ", options.sgd.steps, ". Declare at least ", steps,
                           ", or 0 for any number, at both parties");
  nn::FederatedOptimizer optimizer(model, options.sgd);
  const auto federated = model.federated_parameters();
  if (!federated.empty()) {
    federated.front().session().agree("the training plan", settings(options, rows.rows()));
  }

  StepReport report;
  report.epochs = options.epochs;
  report.steps = steps;
  for (report.epoch = 1; report.epoch <= options.epochs; ++report.epoch) {
    for (const auto& chosen : order.batches(report.epoch)) {
      const data::Batch batch = data::make_batch(rows, chosen, options.batch);
      const torch::Tensor labels = nn::labels_tensor(batch);
      const torch::Tensor value = loss(forward(batch), labels);
      optimizer.zero_grad();
      value.backward();
      optimizer.step();

      ++report.step;
      report.rows = batch.rows;
      if (labels.numel() > 0) report.loss = value.item<double>();
      if (observer) observer(report);
    }
  }
}

torch::Tensor score(const Forward& forward, const data::Dataset& rows, std::size_t batch) {
  const torch::NoGradGuard no_grad;
  const auto order = data::BatchOrder::sequential(rows.rows(), batch);
  std::vector<torch::Tensor> scores;
  for (const auto& chosen : order.batches(0)) scores.push_back(forward(data::make_batch(rows, chosen, batch)));
  require<InvalidArgument>(!scores.empty(), "scoring needs at least one row");
  return torch::cat(scores);
}

}  // namespace blindfl::train

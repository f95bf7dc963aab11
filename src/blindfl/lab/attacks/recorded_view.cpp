#include "blindfl/lab/attacks/recorded_view.h"

#include <algorithm>
#include <cmath>

#include "blindfl/data/dataset.h"
#include "blindfl/nn/bridge.h"
#include "blindfl/nn/models.h"
#include "blindfl/protocol/session/in_process.h"
#include "blindfl/train/trainer.h"

namespace blindfl::lab::attacks {

namespace {

using protocol::Session;
using torch::Tensor;

data::Table table_of(const Tensor& values, const Tensor& labels) {
  std::vector<double> wanted;
  if (labels.defined()) wanted = nn::to_vector(labels);
  return data::Table::dense(static_cast<std::size_t>(values.size(0)), static_cast<std::size_t>(values.size(1)),
                            nn::to_vector(values), std::move(wanted));
}

/// One party's rows, encoded as they need: binary ones without fractional bits.
data::Dataset dataset_of(const Tensor& values, const Tensor& labels, const FixedPointSpec& encoding) {
  return data::make_dataset(table_of(values, labels), FixedPoint(encoding));
}

/// No fractional bits for integers, and the least power of two that no value exceeds.
FixedPointSpec encoding_of(const Tensor& values) {
  if (values.numel() == 0) return {.scale = 0, .largest = 1};
  const bool integers = torch::equal(values, values.round());
  const double largest = std::max(1.0, values.abs().max().item<double>());
  return {.scale = integers ? 0 : FixedPointSpec{}.scale, .largest = std::exp2(std::ceil(std::log2(largest)))};
}

template <class Model>
std::vector<Opening> train_and_open(Session& session, Model& model, const TwoTables& training,
                                    const TwoTables& validation, const nn::FeatureShape& shape,
                                    const ViewOptions& options) {
  const data::Dataset rows = own_rows(session.party(), training, shape);
  const data::Dataset kept_back = own_rows(session.party(), validation, shape);
  const data::RowsInMemory source(rows);
  const auto loss = [](const Tensor& scores, const Tensor& labels) {
    return nn::loss(nn::Family::kLogistic, scores, labels);
  };
  train::Trainer trainer(
      *model, [&](const data::Batch& batch) { return model->forward(batch); }, loss, source,
      {.epochs = options.epochs, .batch = options.batch, .sgd = {.learning_rate = options.learning_rate}});
  std::vector<Opening> seen;
  while (!trainer.done()) {
    (void)trainer.take_step();
    if (trainer.step() % trainer.steps_per_epoch() != 0) continue;
    const Tensor z =
        train::score([&](const data::Batch& batch) { return model->source->forward(batch); }, kept_back, options.batch);
    const ShareMatrix& piece = model->source->weight_b().piece();
    if (session.party() == Party::kA) continue;
    seen.push_back({z.to(torch::kFloat64), numbers_of(piece)});
  }
  return seen;
}

}  // namespace

nn::FeatureShape shape_of(const TwoTables& rows, const ViewOptions& options) {
  return {.in_a = static_cast<std::size_t>(rows.a.size(1)),
          .in_b = static_cast<std::size_t>(rows.b.size(1)),
          .batch = options.batch,
          .features_a = encoding_of(rows.a),
          .features_b = encoding_of(rows.b)};
}

nn::MatMulOptions layer_of(const ViewOptions& options) {
  nn::MatMulOptions layer;
  layer.initial_deviation = options.initial_deviation;
  layer.output_scale = options.output_scale;
  layer.fine_outputs_reveal_features = options.output_scale > 20;  // which attacks are to show
  layer.top = options.top;
  return layer;
}

data::Dataset own_rows(Party party, const TwoTables& rows, const nn::FeatureShape& shape) {
  if (party == Party::kA) return dataset_of(rows.a, {}, shape.features_a);
  return dataset_of(rows.b, rows.labels, shape.features_b);
}

Tensor numbers_of(const ShareMatrix& matrix) {
  return torch::tensor(decode_ring(matrix), torch::kFloat64)
      .view({nn::torch_size(matrix.rows()), nn::torch_size(matrix.cols())});
}

Tensor record_scoring(const he::Scheme& scheme, const TwoTables& rows, const ViewOptions& options) {
  const nn::FeatureShape shape = shape_of(rows, options);
  const auto seen = protocol::run_in_process(scheme, [&](Session& session) {
    nn::MatMul layer(session, shape, options.out, layer_of(options));
    const auto seen_of = [&](const data::Batch& batch) {
      if (options.top == protocol::Top::kOpen) return layer->forward(batch);
      const nn::SourceOutput output = layer->shares(batch);
      return numbers_of(output.shares.front().output.share).narrow(0, 0, nn::torch_size(batch.rows));
    };
    return train::score(seen_of, own_rows(session.party(), rows, shape), options.batch);
  });
  return seen.second.to(torch::kFloat64);
}

std::vector<Opening> record_validations(const he::Scheme& scheme, const TwoTables& training,
                                        const TwoTables& validation, const ViewOptions& options) {
  const nn::FeatureShape shape = shape_of(training, options);
  const auto seen = protocol::run_in_process(scheme, [&](Session& session) {
    if (options.out == 1) {
      nn::GeneralizedLinear model(session, shape, std::size_t{1}, layer_of(options));
      return train_and_open(session, model, training, validation, shape, options);
    }
    nn::Mlp model(session, shape, std::vector{options.out}, std::size_t{1}, nn::Activation::kTanh, layer_of(options));
    return train_and_open(session, model, training, validation, shape, options);
  });
  return seen.second;
}

}  // namespace blindfl::lab::attacks

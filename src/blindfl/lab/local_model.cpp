#include "blindfl/lab/local_model.h"

#include <cmath>

#include "blindfl/data/batches.h"
#include "blindfl/nn/bridge.h"

namespace blindfl::lab {

namespace {

/// Of what has `rows()`, `cols()` and `for_each_in_row`.
template <class Rows, class NumberOf>
torch::Tensor sparse_tensor(const Rows& from, const NumberOf& number_of) {
  std::vector<std::int64_t> places;
  std::vector<float> values;
  for (std::size_t r = 0; r < from.rows(); ++r) {
    from.for_each_in_row(r, [&](std::size_t c, auto value) {
      places.push_back(nn::torch_size(r));
      places.push_back(nn::torch_size(c));
      values.push_back(number_of(value));
    });
  }
  const torch::Tensor indices = torch::tensor(places, torch::kInt64).view({-1, 2}).t().contiguous();
  return torch::sparse_coo_tensor(indices, torch::tensor(values, torch::kFloat32),
                                  {nn::torch_size(from.rows()), nn::torch_size(from.cols())})
      .coalesce();
}

}  // namespace

LocalModelImpl::LocalModelImpl(std::size_t inputs, const std::vector<std::size_t>& hidden, std::size_t outputs,
                               nn::Activation activation) {
  const std::size_t width = hidden.empty() ? outputs : hidden.front();
  // The standard deviation that the source layer starts with.
  const double deviation = 1.0 / std::sqrt(3.0 * static_cast<double>(inputs));
  weight = register_parameter("weight", deviation * torch::randn({nn::torch_size(inputs), nn::torch_size(width)}));
  bias = register_parameter("bias", torch::zeros({nn::torch_size(width)}));
  if (!hidden.empty()) top = register_module("top", nn::make_top(hidden, outputs, activation));
}

torch::Tensor LocalModelImpl::forward(const torch::Tensor& features) {
  const torch::Tensor z = torch::mm(features, weight) + bias;
  return top.is_empty() ? z : top->forward(z);
}

torch::Tensor features_tensor(const data::Table& table) {
  if (table.kind() == data::Table::Kind::kCsr) {
    return sparse_tensor(table, [](double value) { return static_cast<float>(value); });
  }
  const std::vector<float> values = table.to_dense();
  return torch::tensor(values, torch::kFloat32).view({nn::torch_size(table.rows()), nn::torch_size(table.cols())});
}

torch::Tensor encoded_tensor(const IntMatrix& matrix) {
  return sparse_tensor(matrix,
                       [&](std::int64_t value) { return std::ldexp(static_cast<float>(value), -matrix.scale()); });
}

void train_steps(torch::nn::Module& module, std::size_t rows, const LossOfRows& loss,
                 const train::TrainOptions& options, const std::function<bool(std::uint64_t)>& go_on) {
  const data::BatchOrder order(rows, options.batch, options.order_seed);
  const protocol::SgdPlan plan(options.sgd);
  torch::optim::SGD optimizer(module.parameters(), torch::optim::SGDOptions(options.sgd.learning_rate)
                                                       .momentum(options.sgd.momentum)
                                                       .weight_decay(options.sgd.weight_decay));
  std::uint64_t step = 0;
  for (std::size_t epoch = 1; rows > 0; ++epoch) {
    for (const auto& chosen : order.batches(epoch)) {
      if (!go_on(step)) return;
      optimizer.zero_grad();
      loss(chosen).backward();
      static_cast<torch::optim::SGDOptions&>(optimizer.param_groups()[0].options()).lr(plan.learning_rate_at(step++));
      optimizer.step();
    }
  }
}

void fit(torch::nn::Module& module, const ForwardRows& forward, nn::Family family, const std::vector<double>& labels,
         const train::TrainOptions& options) {
  const auto loss = [&](std::span<const std::uint32_t> chosen) {
    std::vector<double> chosen_labels;
    chosen_labels.reserve(chosen.size());
    for (const std::uint32_t row : chosen) chosen_labels.push_back(labels[row]);
    return nn::loss(family, forward(chosen), nn::to_tensor(chosen_labels));
  };
  const std::size_t steps = options.epochs * ((labels.size() + options.batch - 1) / options.batch);
  train_steps(module, labels.size(), loss, options, [&](std::uint64_t step) { return step < steps; });
}

void fit(LocalModel& model, nn::Family family, const data::Table& rows, const train::TrainOptions& options) {
  const auto forward = [&](std::span<const std::uint32_t> chosen) {
    return model->forward(features_tensor(rows.select_rows(chosen)));
  };
  fit(*model, forward, family, rows.labels(), options);
}

torch::Tensor score(LocalModel& model, const data::Table& rows) {
  const torch::NoGradGuard no_grad;
  return model->forward(features_tensor(rows));
}

}  // namespace blindfl::lab

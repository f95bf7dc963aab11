#include "blindfl/lab/local_model.h"

#include <cmath>

#include "blindfl/data/batches.h"
#include "blindfl/nn/bridge.h"

namespace blindfl::lab {

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
  const auto rows = nn::torch_size(table.rows());
  const auto cols = nn::torch_size(table.cols());
  if (table.kind() == data::Table::Kind::kDense) {
    const std::vector<float> values = table.to_dense();
    return torch::tensor(values, torch::kFloat32).view({rows, cols});
  }
  std::vector<std::int64_t> places;
  std::vector<float> values;
  for (std::size_t r = 0; r < table.rows(); ++r) {
    table.for_each_in_row(r, [&](std::size_t c, double v) {
      places.push_back(nn::torch_size(r));
      places.push_back(nn::torch_size(c));
      values.push_back(static_cast<float>(v));
    });
  }
  const torch::Tensor indices = torch::tensor(places, torch::kInt64).view({-1, 2}).t().contiguous();
  return torch::sparse_coo_tensor(indices, torch::tensor(values, torch::kFloat32), {rows, cols}).coalesce();
}

void fit(torch::nn::Module& module, const ForwardRows& forward, nn::Family family, const std::vector<double>& labels,
         const train::TrainOptions& options) {
  const data::BatchOrder order(labels.size(), options.batch, options.order_seed);
  const protocol::SgdPlan plan(options.sgd);
  torch::optim::SGD optimizer(module.parameters(), torch::optim::SGDOptions(options.sgd.learning_rate)
                                                       .momentum(options.sgd.momentum)
                                                       .weight_decay(options.sgd.weight_decay));
  std::size_t step = 0;
  for (std::size_t epoch = 1; epoch <= options.epochs; ++epoch) {
    for (const auto& chosen : order.batches(epoch)) {
      std::vector<double> chosen_labels;
      chosen_labels.reserve(chosen.size());
      for (const std::uint32_t row : chosen) chosen_labels.push_back(labels[row]);
      optimizer.zero_grad();
      nn::loss(family, forward(chosen), nn::to_tensor(chosen_labels)).backward();
      const double learning_rate = plan.learning_rate_at(step++);
      static_cast<torch::optim::SGDOptions&>(optimizer.param_groups()[0].options()).lr(learning_rate);
      optimizer.step();
    }
  }
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

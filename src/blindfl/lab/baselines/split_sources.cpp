#include "blindfl/lab/baselines/split_sources.h"

#include <cmath>
#include <string>

#include "blindfl/nn/bridge.h"

namespace blindfl::lab::baselines {

namespace {

torch::Tensor initial_table(const CategoryField& field, std::size_t dimension) {
  return nn::EmbedMatMulOptions{}.table_deviation *
         torch::randn({nn::torch_size(field.categories), nn::torch_size(dimension)});
}

}  // namespace

bool has_fields(const SplitSpec& spec) {
  return !spec.fields.a.empty() || !spec.fields.b.empty();
}

std::size_t width_of(const SplitSpec& spec) {
  return has_fields(spec) || spec.hidden.empty() ? spec.outputs : spec.hidden.front();
}

torch::Tensor linear_weight(std::size_t rows, std::size_t cols, std::size_t inputs) {
  const double deviation = 1.0 / std::sqrt(3.0 * static_cast<double>(inputs));
  return deviation * torch::randn({nn::torch_size(rows), nn::torch_size(cols)});
}

SplitSourcesImpl::SplitSourcesImpl(const SplitSpec& spec, std::size_t numeric,
                                   const std::vector<CategoryField>& fields) {
  if (numeric > 0) {
    weight = register_parameter("weight", linear_weight(numeric, width_of(spec), spec.in_a + spec.in_b));
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    tables.push_back(register_parameter("table" + std::to_string(i), initial_table(fields[i], spec.dimension)));
  }
}

torch::Tensor SplitSourcesImpl::contribution(const LocalRows& rows) const {
  return weight.defined() ? torch::mm(features_tensor(rows.numeric), weight) : torch::Tensor();
}

std::vector<torch::Tensor> SplitSourcesImpl::embeddings(const LocalRows& rows) const {
  std::vector<torch::Tensor> embedded;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    embedded.push_back(torch::mm(encoded_tensor(rows.fields[i]), tables[i]));
  }
  return embedded;
}

}  // namespace blindfl::lab::baselines

#include "blindfl/lab/local_deep.h"

#include <cmath>

#include "blindfl/nn/bridge.h"

namespace blindfl::lab {

LocalRows LocalRows::select(std::span<const std::uint32_t> rows) const {
  LocalRows selected;
  if (numeric.cols() > 0) selected.numeric = numeric.select_rows(rows);
  for (const IntMatrix& field : fields) selected.fields.push_back(field.select_rows(rows));
  for (const std::uint32_t row : rows) {
    if (!labels.empty()) selected.labels.push_back(labels[row]);
  }
  return selected;
}

// With the standard deviations that the source layers start with.
LocalSourcesImpl::LocalSourcesImpl(std::size_t numeric, std::size_t numeric_out,
                                   const std::vector<CategoryField>& fields, std::size_t dimension, std::size_t out) {
  const auto normal = [](std::size_t rows, std::size_t cols, double deviation) {
    return deviation * torch::randn({nn::torch_size(rows), nn::torch_size(cols)});
  };
  const auto linear = [&](std::size_t rows, std::size_t cols) {
    return normal(rows, cols, 1.0 / std::sqrt(3.0 * static_cast<double>(rows)));
  };
  if (numeric > 0) weight = register_parameter("weight", linear(numeric, numeric_out));
  for (std::size_t i = 0; i < fields.size(); ++i) {
    tables.push_back(register_parameter("table" + std::to_string(i), normal(fields[i].categories, dimension,
                                                                            nn::EmbedMatMulOptions{}.table_deviation)));
  }
  embedded_weight = register_parameter("embedded_weight", linear(fields.size() * dimension, out));
}

torch::Tensor LocalSourcesImpl::numeric_output(const LocalRows& rows) {
  return weight.defined() ? torch::mm(features_tensor(rows.numeric), weight) : torch::Tensor();
}

torch::Tensor LocalSourcesImpl::embedded_output(const LocalRows& rows) {
  std::vector<torch::Tensor> embedded;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    embedded.push_back(torch::mm(encoded_tensor(rows.fields[i]), tables[i]));
  }
  return torch::mm(torch::cat(embedded, 1), embedded_weight);
}

}  // namespace blindfl::lab

#pragma once

#include <torch/torch.h>

#include <span>
#include <vector>

#include "blindfl/lab/local_model.h"
#include "blindfl/nn/deep_models.h"
#include "blindfl/tensor/category_field.h"

// Wide & Deep and DLRM in plain libtorch, on all columns as if they lay side by side or on one party's.

namespace blindfl::lab {

/// Rows in the clear.
struct LocalRows {
  data::Table numeric;            ///< may have no columns
  std::vector<IntMatrix> fields;  ///< as `encode_categories` makes them
  std::vector<double> labels;

  [[nodiscard]] LocalRows select(std::span<const std::uint32_t> rows) const;
};

/// What takes the place of the source layers: a weight for numbers; for categories a table for each field and a
/// weight.
class LocalSourcesImpl : public torch::nn::Module {
 public:
  /// `numeric` inputs go to `numeric_out` outputs, embedded fields to `out`. No numeric inputs, no weight for them.
  LocalSourcesImpl(std::size_t numeric, std::size_t numeric_out, const std::vector<CategoryField>& fields,
                   std::size_t dimension, std::size_t out);

  /// Undefined if there are no numeric inputs.
  torch::Tensor numeric_output(const LocalRows& rows);
  torch::Tensor embedded_output(const LocalRows& rows);

  torch::Tensor weight;
  std::vector<torch::Tensor> tables;
  torch::Tensor embedded_weight;
};
TORCH_MODULE(LocalSources);

/// `top` is nn::WideDeepTop or nn::DlrmTop: B's own part, the same as in the federated model.
template <class Top>
class LocalDeepImpl : public torch::nn::Module {
 public:
  LocalDeepImpl(const LocalSources& its_sources, const Top& its_top)
      : sources(register_module("sources", its_sources)), top(register_module("top", its_top)) {}
  torch::Tensor forward(const LocalRows& rows) {
    return top(sources->numeric_output(rows), sources->embedded_output(rows));
  }

  LocalSources sources;
  Top top;
};
using LocalWideDeepImpl = LocalDeepImpl<nn::WideDeepTop>;
TORCH_MODULE(LocalWideDeep);
using LocalDlrmImpl = LocalDeepImpl<nn::DlrmTop>;
TORCH_MODULE(LocalDlrm);

/// Trains with the same batches, in the same order and at the same learning rates, as `train::fit` does.
template <class Model>
void fit(Model& model, nn::Family family, const LocalRows& rows, const train::TrainOptions& options) {
  const auto forward = [&](std::span<const std::uint32_t> chosen) { return model->forward(rows.select(chosen)); };
  fit(*model, forward, family, rows.labels, options);
}

/// The model's scores, a row for each row.
template <class Model>
[[nodiscard]] torch::Tensor score(Model& model, const LocalRows& rows) {
  const torch::NoGradGuard no_grad;
  return model->forward(rows);
}

}  // namespace blindfl::lab

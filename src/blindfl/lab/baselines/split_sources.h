#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <vector>

#include "blindfl/lab/baselines/split_learning.h"

namespace blindfl::lab::baselines {

[[nodiscard]] bool has_fields(const SplitSpec& spec);

/// Outputs of the numeric features: with fields they are the wide part.
[[nodiscard]] std::size_t width_of(const SplitSpec& spec);

/// A weight of so many rows and columns, of a layer with `inputs` in all: initial numbers as the joined model has them.
[[nodiscard]] torch::Tensor linear_weight(std::size_t rows, std::size_t cols, std::size_t inputs);

/// A party's bottom model: X W of its numeric features, and the looked-up rows of its tables.
class SplitSourcesImpl : public torch::nn::Module {
 public:
  SplitSourcesImpl(const SplitSpec& spec, std::size_t numeric, const std::vector<CategoryField>& fields);

  /// Undefined if there are no numeric features.
  [[nodiscard]] torch::Tensor contribution(const LocalRows& rows) const;
  /// One for each field.
  [[nodiscard]] std::vector<torch::Tensor> embeddings(const LocalRows& rows) const;

  torch::Tensor weight;
  std::vector<torch::Tensor> tables;
};
TORCH_MODULE(SplitSources);

}  // namespace blindfl::lab::baselines

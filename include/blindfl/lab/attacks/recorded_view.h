#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "blindfl/base/party.h"
#include "blindfl/data/dataset.h"
#include "blindfl/he/scheme.h"
#include "blindfl/lab/attacks/attack_differences.h"
#include "blindfl/nn/matmul.h"

// What B really sees of the protocol, written down for attacks: both parties run in this process, and only B's side of
// it is kept.

namespace blindfl::lab::attacks {

/// Rows of both parties in the clear, rows x features each.
struct TwoTables {
  torch::Tensor a;
  torch::Tensor b;
  torch::Tensor labels{};  ///< 0 and 1, one for each row; for training only
};

struct ViewOptions {
  std::size_t out = 64;  ///< outputs that are opened; 1 is a logistic regression, more are a perceptron's first layer
  std::size_t batch = 128;
  double initial_deviation = 0.0;  ///< 0: as torch's Linear
  int output_scale = 16;
  protocol::Top top = protocol::Top::kOpen;  ///< of a scoring
  // Of training:
  std::size_t epochs = 2;
  double learning_rate = 0.5;
};

/// The shape of a source layer for such tables: binary columns are encoded without fractional bits.
[[nodiscard]] nn::FeatureShape shape_of(const TwoTables& rows, const ViewOptions& options);
[[nodiscard]] nn::MatMulOptions layer_of(const ViewOptions& options);
/// One party's columns, encoded as the layer says; at B with the labels.
[[nodiscard]] data::Dataset own_rows(Party party, const TwoTables& rows, const nn::FeatureShape& shape);

/// The numbers that a matrix stands for, or those of a share read as if it were no share: rows x columns.
[[nodiscard]] torch::Tensor numbers_of(const ShareMatrix& matrix);

/// What B has of Z of all rows under initial weights, rows x out: opened once, or under a shared top its share, read as
/// numbers. Throws whatever the protocol throws.
[[nodiscard]] torch::Tensor record_scoring(const he::Scheme& scheme, const TwoTables& rows, const ViewOptions& options);

/// Trains on `training`, and opens the rows of `validation` after each epoch, as the program does.
[[nodiscard]] std::vector<Opening> record_validations(const he::Scheme& scheme, const TwoTables& training,
                                                      const TwoTables& validation, const ViewOptions& options);

}  // namespace blindfl::lab::attacks

#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "blindfl/he/scheme.h"
#include "blindfl/lab/baselines/vertical_rows.h"
#include "blindfl/train/trainer.h"

namespace blindfl::lab::attacks {

/// A training of Wide & Deep with our layers.
struct WideDeepTraining {
  std::vector<std::size_t> hidden{16};
  std::size_t dimension = 8;
  train::TrainOptions options{};
  std::uint64_t seed = 1;  ///< of the initial shares
};

/// A matrix, and A's share of it read as numbers.
struct SharedPair {
  torch::Tensor whole;
  torch::Tensor share;
};

/// What A has of such a training, beside what nobody has.
struct WideDeepView {
  SharedPair weight;               ///< W_A; undefined if A has no numeric features
  std::vector<SharedPair> tables;  ///< Q_A, for each of A's fields
  /// For each training row, in its step of the last epoch: the rows of the gradients of A's tables that it looks up,
  /// rows x (A's fields * dimension).
  SharedPair gradients;
  /// For each training row, of the same steps: a piece of the ciphertexts in which the derivatives by A's embeddings
  /// arrive, its bytes as numbers.
  torch::Tensor ciphertexts;
};

/// Trains under an open top, both parties in this process. Throws InvalidArgument if A has no fields; as the layers do.
[[nodiscard]] WideDeepView record_wide_deep(const he::Scheme& scheme, const baselines::VerticalRows& training,
                                            const baselines::VerticalFields& fields, const WideDeepTraining& wanted);

}  // namespace blindfl::lab::attacks

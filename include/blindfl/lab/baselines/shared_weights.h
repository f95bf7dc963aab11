#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>

#include "blindfl/he/scheme.h"
#include "blindfl/lab/baselines/vertical_rows.h"
#include "blindfl/nn/models.h"
#include "blindfl/protocol/session/top.h"
#include "blindfl/train/trainer.h"

// The paper's ablation of the MatMul source layer: W_A is shared at the start, `W_A = U_A + V_A` ("ModelSS"), and its
// gradients are or are not ("GradSS"). Our own layer in both cases, with a real session between two parties: without
// GradSS, B sends its share of every dW_A to A in the clear, A updates U_A by the whole gradient, and V_A stays as B
// drew it.

namespace blindfl::lab::baselines {

/// What is shared between the parties.
enum class SharedParts {
  kWeights,              ///< ModelSS alone: the ablation
  kWeightsAndGradients,  ///< ModelSS and GradSS: the layer as it is
};

struct SharedWeightsSpec {
  std::size_t outputs = 1;
  Family family = Family::kLogistic;
  SharedParts parts = SharedParts::kWeightsAndGradients;
  /// Whether B sees Z, or nobody: without GradSS it is open.
  protocol::Top top = protocol::Top::kOpen;
  /// V_A, as B draws it, times this: what the paper calls the scale of V_A. At least 1.
  double scale_of_v = 1.0;
};

/// What a training leaves, and what nobody may have.
struct SharedWeightsRun {
  torch::Tensor share_at_first;  ///< U_A as A drew it, features x outputs
  torch::Tensor share;           ///< U_A at the end, read as numbers
  torch::Tensor weight;          ///< W_A = U_A + V_A at the end: the truth, which only experiments have
  torch::Tensor scores;          ///< of the test rows, as B has them
};

/// Trains a generalised linear model on numeric features, both parties in this process, and scores `test`. `seed` draws
/// the initial shares; the encryption's randomness is fresh. Throws InvalidArgument if A has no features, if a shared
/// top is to do without GradSS, or as the layer does.
[[nodiscard]] SharedWeightsRun run_shared_weights(const he::Scheme& scheme, const VerticalRows& training,
                                                  const VerticalRows& test, const SharedWeightsSpec& spec,
                                                  const train::TrainOptions& options, std::uint64_t seed = 1);

}  // namespace blindfl::lab::baselines

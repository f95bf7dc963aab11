#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "blindfl/he/scheme.h"
#include "blindfl/lab/attacks/attack_derivatives.h"
#include "blindfl/lab/attacks/compare_shares.h"
#include "blindfl/lab/attacks/success.h"
#include "blindfl/lab/baselines/vertical_rows.h"
#include "blindfl/nn/models.h"
#include "blindfl/train/trainer.h"

// The paper's experiments on privacy, from prepared tables to the numbers of its figures: each trains the baselines and
// our layers, really between two parties in this process, and attacks what A has.

namespace blindfl::lab::attacks {

/// One bar of the first figure (adv1): labels of test rows, predicted by what A has.
struct ActivationBar {
  std::string what;          ///< "split learning", "ModelSS", "ModelSS and GradSS", "ModelSS and GradSS, shared top"
  double scale_of_v = 1;     ///< of V_A; only with ModelSS
  std::string predicted_by;  ///< "X_A W_A", "X_A U_A", "X_A (U_A - U_A at first)"
  Success attack;            ///< AUC, or accuracy for several classes
  Success joined;            ///< the same measure by the whole model's scores, which B has
};

struct ActivationFigure {
  std::size_t outputs = 1;  ///< classes, if more than two
  Family family = Family::kLogistic;
  std::vector<double> scales_of_v = {1, 10, 100};  ///< that ModelSS alone is run with
  train::TrainOptions training{};
  bool shared_top = true;  ///< whether our layer is looked at under a shared top, too, which takes longer
  std::uint64_t seed = 1;
};

/// Logistic or multinomial regression on numeric features: split learning; ModelSS alone with each scale of V_A;
/// ModelSS with GradSS, our layer, under an open top and, if wanted, under a shared one. Of shares, A predicts by X_A
/// U_A, and by what it learnt in training alone, X_A (U_A - U_A at first): what labels say, and what
/// undoes V_A.
/// Throws as the layers do.
[[nodiscard]] std::vector<ActivationBar> activation_bars(const he::Scheme& scheme,
                                                         const baselines::VerticalRows& training,
                                                         const baselines::VerticalRows& test,
                                                         const ActivationFigure& figure);

/// One point of the second figure (adv2): labels of training rows from derivatives, by number of hidden layers.
struct DerivativePoint {
  std::size_t hidden_layers = 1;
  ToldLabels split;       ///< dE_A in split learning, in the last epoch
  ToldLabels one_row;     ///< the same by the cosine with one row alone, as in the paper
  Success norms;          ///< of the same derivatives
  double test_auc = 0.0;  ///< of the split model
};

struct DerivativeFigure {
  std::size_t most_hidden_layers = 4;
  std::size_t width = 16;  ///< of each hidden layer
  std::size_t dimension = 8;
  train::TrainOptions training{};
  std::uint64_t seed = 1;
};

/// Wide & Deep by split learning with 1, 2, ... hidden layers. Only training rows are attacked; `test` shows how good
/// the model is. A must have categorical fields, and labels are 0 and 1.
[[nodiscard]] std::vector<DerivativePoint> derivative_points(const baselines::VerticalRows& training,
                                                             const baselines::VerticalRows& test,
                                                             const baselines::VerticalFields& fields,
                                                             const DerivativeFigure& figure);

/// The same attacks on a training with our Embed-MatMul layer: on what A has in the place of derivatives, in the last
/// epoch. A row of a gradient is a sum over the rows of a batch with the same category.
struct HiddenDerivatives {
  ToldLabels shares;  ///< by the rows of A's shares of its tables' gradients that each row looks up
  /// The same with numbers that A draws itself in the place of its shares: what rows of the same categories have in
  /// common tells a little of labels by itself, and shares are to tell no more.
  ToldLabels drawn;
  ToldLabels ciphertexts;  ///< by pieces of the ciphertexts in which dE_A arrives, their bytes as numbers
  ToldLabels opened;       ///< what `shares` would tell if B's were added, which nobody may: that they hide something
  /// By lengths instead of directions.
  struct {
    Success shares{};
    Success drawn{};
    Success ciphertexts{};
  } norms{};
};
/// Under an open top. A must have categorical fields, and labels are 0 and 1. Throws as the layers do.
[[nodiscard]] HiddenDerivatives hidden_derivatives(const he::Scheme& scheme, const baselines::VerticalRows& training,
                                                   const baselines::VerticalFields& fields, std::size_t hidden_layers,
                                                   const DerivativeFigure& figure);

/// The third figure (model_ss): weights beside A's shares of them, coordinate by coordinate.
struct WeightsAndShares {
  std::string name;       ///< "W_A and U_A", "Q_A and S_A, field a1"
  torch::Tensor weights;  ///< one for each coordinate
  torch::Tensor shares;   ///< read as numbers
  ShareLikeness likeness;
};

/// Of Wide & Deep with our layers after a training: of W_A if A has numeric features, and of each of A's tables.
[[nodiscard]] std::vector<WeightsAndShares> weights_and_shares(const he::Scheme& scheme,
                                                               const baselines::VerticalRows& training,
                                                               const baselines::VerticalFields& fields,
                                                               const DerivativeFigure& figure);

}  // namespace blindfl::lab::attacks

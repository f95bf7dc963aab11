#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "blindfl/he/elements.h"
#include "blindfl/mpc/function_plan.h"
#include "blindfl/mpc/shared_product.h"
#include "blindfl/protocol/layers/shared_top_options.h"
#include "blindfl/tensor/activation.h"
#include "blindfl/tensor/family.h"

// What the layers and losses of a top on shares ask of this room: the one place for it, for those who build a top and
// for those who tell before what it will cost. Values between layers are at `kSharedScale`.

namespace blindfl::mpc {

/// Assumed of derivatives of the summed loss by values of a shared top.
constexpr double kLargestSharedDerivative = protocol::kRowWeightLimit;
/// Source layers must have room for as much (`MatMulLayerOptions::derivative`): watched, where nothing else bounds
/// derivatives.
constexpr double kLargestWatchedDerivative = protocol::kLargestWatchedDerivative;
/// Between layers values are shared modulo this power of 2, as source layers give them: they are right below 2^19, can
/// be lifted below 2^18, and are watched against less.
constexpr int kValueRing = 20 + kSharedScale;
/// Scores are below 2^15 where the largest is looked for.
constexpr int kComparedBits = 16 + kSharedScale;
/// Values are below 2^8 before a ReLU: 8 times what hidden layers are assumed to take.
constexpr int kReluBits = 9 + kSharedScale;
/// The lowest of these that a ReLU does not look at: values from 0 to 2^-12 may become 0. 21 bits are left, a sign and
/// five blocks of four, which take 28 random OTs a value.
constexpr int kDroppedReluBits = 6;
/// Of a linear layer's weights in products.
constexpr int kFactorScale = 20;

/// The most that the summed gradient of a linear layer's weight is assumed to be.
[[nodiscard]] double largest_weight_gradient(const SharedTopOptions& options);

/// The three products of a layer Z = X W, a training step of which makes the first, then the others at the same time.
struct LinearProducts {
  SharedProductSpec output;
  SharedProductSpec gradient;    ///< X^T d
  SharedProductSpec derivative;  ///< d W^T
  /// What gradients of weights and of the bias are lifted to, before each party reads its share as a number.
  int gradient_ring = 0;
  int bias_ring = 0;
  /// The chance that doing so fails in one step, for any of them, if they are as large as assumed.
  double gradient_failure = 0;
};
/// Throws InvalidArgument if a product could overflow or hide too little.
[[nodiscard]] LinearProducts linear_products(std::size_t in, std::size_t out, const SharedTopOptions& options);

/// A smooth function of hidden layers and its slope, of `width` values a row, and what multiplies the slopes.
struct ActivationParts {
  FunctionSpec function;
  he::ElementSpec slopes;
};
[[nodiscard]] ActivationParts activation_parts(SmoothActivation activation, std::size_t width,
                                               const SharedTopOptions& options);
/// Derivatives and slopes are multiplied modulo this power of 2, and rounded to `kSharedScale` in it.
constexpr int kSlopeRing = 64;
static_assert(kSlopeRing - kSharedScale >= kValueRing);

/// A factorisation machine squares its factors' values, and multiplies them with derivatives on the way back: exactly,
/// modulo 2^kSlopeRing. `factors` values a row, in both products.
[[nodiscard]] he::ElementSpec factor_products(std::size_t factors, const SharedTopOptions& options);
constexpr int kFactorProducts = 2;
/// These values are watched against this, on both sides of 0: half of a square is then within what scores may be, sums
/// of 1024 fit where layers share values, and derivatives by them fit in what source layers assume.
constexpr double kLargestFactor = 16;
static_assert(kLargestFactor * kLargestSharedDerivative <= kLargestWatchedDerivative);
/// What derivatives by a factorisation machine's outputs may be, of a logistic loss: what its source layer must assume.
[[nodiscard]] double largest_factor_derivative(const SharedTopOptions& options);

/// What the gradient of a bias, the sum of derivatives, is shared modulo before each party reads its share as a number;
/// and the chance that doing so fails in one step.
[[nodiscard]] int bias_ring(std::size_t width, const SharedTopOptions& options);
[[nodiscard]] double bias_failure(std::size_t width, const SharedTopOptions& options);

/// What a loss of `outputs` scores a row takes for its derivative, in the order of evaluation: for kMultinomial that of
/// differences to a row's maximum, of the sum of these, and of logarithms of probabilities.
[[nodiscard]] std::vector<FunctionSpec> loss_functions(Family family, std::size_t outputs,
                                                       const SharedTopOptions& options);
/// The lowest bits that the search for a row's largest score does not compare: as many as leave room in the intervals
/// of the functions above, which take differences to it.
[[nodiscard]] int dropped_score_bits(std::size_t classes);
/// Whether derivatives by scores are watched: those of the other losses are differences of probabilities, times weights
/// that have a limit.
[[nodiscard]] bool watches_derivatives(Family family, const SharedTopOptions& options);

/// Losses as values, at `kLossScale`: factors of labels and scores are at half of it.
constexpr int kLossScale = 32;
constexpr int kLossRing = 60;
/// What is only needed to know a loss: plans do not count it.
struct LossValueParts {
  std::optional<FunctionSpec> softplus;  ///< of kLogistic
  he::ElementSpec products;              ///< with labels; of kLinear, of differences
};
[[nodiscard]] LossValueParts loss_value_parts(Family family, std::size_t outputs, const SharedTopOptions& options);

}  // namespace blindfl::mpc

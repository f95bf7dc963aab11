#pragma once

#include <cstddef>
#include <vector>

#include "blindfl/he/elements.h"
#include "blindfl/mpc/function_plan.h"
#include "blindfl/mpc/shared_product.h"
#include "blindfl/tensor/activation.h"
#include "blindfl/tensor/family.h"

// What the layers and losses of a top on shares ask of this room: the one place for it, for those who build a top and
// for those who tell before what it will cost. Values between layers are at `kSharedScale`.

namespace blindfl::mpc {

/// Assumed of derivatives of the summed loss by values of a shared top.
constexpr double kLargestSharedDerivative = 16;
/// Between layers values are needed modulo 2^64: what comparisons, functions and pieces take.
constexpr int kValueRing = 64;
/// Values are below 2^15 where they are compared: before a ReLU, and scores where the largest is looked for.
constexpr int kComparedBits = 16 + kSharedScale;
/// Of a linear layer's weights in products.
constexpr int kFactorScale = 24;

/// The most that the summed gradient of a linear layer's weight is assumed to be.
[[nodiscard]] double largest_weight_gradient(const SharedTopOptions& options);

/// The three products of a layer Z = X W, a training step of which makes the first, then the others at the same time.
struct LinearProducts {
  SharedProductSpec output;
  SharedProductSpec gradient;    ///< X^T d
  SharedProductSpec derivative;  ///< d W^T
};
/// Throws InvalidArgument if a product could overflow or hide too little, or if the run is too long for the integers
/// that go into them.
[[nodiscard]] LinearProducts linear_products(std::size_t in, std::size_t out, const SharedTopOptions& options);

/// A smooth function of hidden layers and its slope, of `width` values a row, and what multiplies the slopes.
struct ActivationParts {
  FunctionSpec function;
  he::ElementSpec slopes;
};
[[nodiscard]] ActivationParts activation_parts(SmoothActivation activation, std::size_t width,
                                               const SharedTopOptions& options);
/// Products with slopes are rounded to `kSharedScale` in their ring, which leaves this one, and lifted from it.
constexpr int kSlopeRing = kValueRing - kSharedScale;

/// What a loss of `outputs` scores a row takes for its derivative, in the order of evaluation: for kMultinomial that of
/// differences to a row's maximum, of the sum of these, and of logarithms of probabilities.
/// Throws InvalidArgument if the run is too long for the integers that are made of kLinear's derivatives.
[[nodiscard]] std::vector<FunctionSpec> loss_functions(Family family, std::size_t outputs,
                                                       const SharedTopOptions& options);

}  // namespace blindfl::mpc

#pragma once

#include <torch/torch.h>

#include <cstddef>

// What a B that follows the protocol and only looks makes of Z by least squares: what B's own features do not explain
// of it is A's, whether binary or not.

namespace blindfl::lab::attacks {

/// B's estimate of `X_A W_A` beside what B's own features and a constant explain of it: what they leave of `view`.
/// Needs of B's view: `view`, rows x outputs, Z or whatever B holds in its place, a share of it for instance, read as
/// numbers; and `features_b`, rows x B's features, perhaps none.
/// Reveals: of Z, `X_A W_A` but for its projection on B's features, up to the rounding. Of a uniformly random share,
/// nothing.
/// Cost: one singular value decomposition of B's features. Throws InvalidArgument if the numbers of rows differ, or if
/// there are no more rows than B explains by itself.
[[nodiscard]] torch::Tensor attack_regression(const torch::Tensor& view, const torch::Tensor& features_b);

/// How near an estimate comes to the truth, between 0 and 1, and how near one that has nothing to do with it would.
struct Nearness {
  double value = 0;
  double chance = 0;  ///< what random numbers get on average, about
};

/// The mean over outputs of the correlations, without signs, between an estimate and the truth beside B's features.
/// `contribution_a` is the truth `X_A W_A`, rows x outputs, which only tests and experiments have.
/// Throws InvalidArgument if shapes differ.
[[nodiscard]] Nearness correlation_with(const torch::Tensor& estimate, const torch::Tensor& contribution_a,
                                        const torch::Tensor& features_b);

/// The mean over A's columns of the largest correlation that a mixture of the estimate's outputs has with one, beside
/// B's features: 1 if all columns can be mixed from what B has. Columns that B's features explain are left out.
/// `features_a` is the truth, rows x columns. Throws InvalidArgument if the numbers of rows differ.
[[nodiscard]] Nearness correlation_of_columns(const torch::Tensor& estimate, const torch::Tensor& features_a,
                                              const torch::Tensor& features_b);

/// Of how many columns of A that correlation is at least `least`: they are in B's hand but for the right mixture, which
/// `attack_binary_columns` finds for those of zeros and ones.
[[nodiscard]] std::size_t columns_mixed(const torch::Tensor& estimate, const torch::Tensor& features_a,
                                        const torch::Tensor& features_b, double least = 0.999);

}  // namespace blindfl::lab::attacks

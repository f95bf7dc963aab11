#include "blindfl/lab/attacks/attack_regression.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "blindfl/base/error.h"
#include "blindfl/lab/attacks/binary_vectors.h"

namespace blindfl::lab::attacks {

namespace {

using torch::Tensor;

/// An orthonormal basis of a constant and B's features, for as many rows as `values` has.
Tensor own_basis(const Tensor& values, const Tensor& features_b) {
  require<InvalidArgument>(values.dim() == 2 && features_b.dim() == 2 && values.size(0) == features_b.size(0),
                           "attack: what B sees and its features have different numbers of rows");
  const Tensor constant = torch::ones({features_b.size(0), 1}, torch::kFloat64);
  const Tensor basis = orthonormal_basis(torch::cat({constant, features_b.to(torch::kFloat64)}, 1), 0);
  require<InvalidArgument>(basis.size(0) > basis.size(1), "attack: B's features explain any number in so few rows");
  return basis;
}

/// Rows that are left to compare when B's features have explained their part.
double free_rows(const Tensor& basis) {
  return static_cast<double>(basis.size(0) - basis.size(1));
}

/// Of the space that the estimate's outputs span, whatever their sizes: shares are numbers of many more bits than Z.
Tensor estimate_basis(const Tensor& estimate) {
  return orthonormal_basis(estimate / estimate.norm(2, {0}, true).clamp_min(1e-300), 0);
}

/// The largest correlation of a mixture of the estimate's outputs with each column that B's features do not explain.
Tensor correlations_of_columns(const Tensor& estimate, const Tensor& features_a, const Tensor& basis) {
  constexpr double kExplained = 1e-6;
  const Tensor columns = features_a.to(torch::kFloat64);
  const Tensor rest = without_projection(columns, basis);
  const Tensor norms = rest.norm(2, {0});
  const Tensor open = norms > kExplained * columns.norm(2, {0}).clamp_min(1e-300);
  const Tensor mixed = torch::mm(estimate_basis(estimate).t(), rest).norm(2, {0});
  return (mixed / norms).index({open});
}

}  // namespace

Tensor attack_regression(const Tensor& view, const Tensor& features_b) {
  return without_projection(view.to(torch::kFloat64), own_basis(view, features_b));
}

Nearness correlation_with(const Tensor& estimate, const Tensor& contribution_a, const Tensor& features_b) {
  require<InvalidArgument>(estimate.sizes() == contribution_a.sizes(),
                           "attack: an estimate has another shape than the truth");
  const Tensor basis = own_basis(estimate, features_b);
  const Tensor truth = without_projection(contribution_a.to(torch::kFloat64), basis);
  const Tensor products = (estimate * truth).sum(0).abs();
  const Tensor norms = estimate.norm(2, {0}) * truth.norm(2, {0});
  // A correlation of independent numbers is nearly normal, with a variance of one over the rows.
  return {.value = (products / norms.clamp_min(1e-300)).mean().item<double>(),
          .chance = std::sqrt(2 / (std::numbers::pi * free_rows(basis)))};
}

Nearness correlation_of_columns(const Tensor& estimate, const Tensor& features_a, const Tensor& features_b) {
  const Tensor basis = own_basis(estimate, features_b);
  const Tensor correlations = correlations_of_columns(estimate, features_a, basis);
  const double outputs = static_cast<double>(estimate_basis(estimate).size(1));
  return {.value = correlations.numel() == 0 ? 0 : correlations.mean().item<double>(),
          .chance = std::min(1.0, std::sqrt(outputs / free_rows(basis)))};
}

std::size_t columns_mixed(const Tensor& estimate, const Tensor& features_a, const Tensor& features_b, double least) {
  const Tensor correlations = correlations_of_columns(estimate, features_a, own_basis(estimate, features_b));
  return static_cast<std::size_t>((correlations >= least).sum().item<std::int64_t>());
}

}  // namespace blindfl::lab::attacks

#include "blindfl/lab/attacks/attack_binary_columns.h"

#include <cmath>

#include "blindfl/base/error.h"

namespace blindfl::lab::attacks {

namespace {

using torch::Tensor;

/// What B knows of the space that A's columns lie in: its own columns, and what Z adds to them.
struct Spaces {
  Tensor known;
  Tensor unknown;
};

Spaces spaces_of(const Tensor& z, const Tensor& features_b, int output_scale) {
  require<InvalidArgument>(z.size(0) == features_b.size(0),
                           "attack: Z and B's features have different numbers of rows");
  const Tensor known = orthonormal_basis(features_b.to(torch::kFloat64), 0);
  const Tensor rest = without_projection(z.to(torch::kFloat64), known);
  return {known, orthonormal_basis(rest, std::ldexp(1.0, -output_scale))};
}

bool is_constant(const Tensor& column) {
  return (column == column[0]).all().item<bool>();
}

}  // namespace

RecoveredColumns attack_binary_columns(const Tensor& z, const Tensor& features_b, int output_scale,
                                       const BinarySearch& search) {
  const Spaces spaces = spaces_of(z, features_b, output_scale);
  return {.columns = binary_vectors(spaces.known, spaces.unknown, search),
          .dimensions = static_cast<std::size_t>(spaces.unknown.size(1))};
}

RecoveredFraction fraction_of(const RecoveredColumns& found, const Tensor& features_a) {
  const Tensor truth = features_a.to(torch::kFloat64);
  RecoveredFraction fraction;
  for (std::int64_t i = 0; i < truth.size(1); ++i) {
    const Tensor column = truth.select(1, i);
    if (is_constant(column)) continue;
    ++fraction.of;
    if (found.columns.size(1) == 0) continue;
    const Tensor wrong = (found.columns - column.unsqueeze(1)).abs().amax(0);
    if ((wrong == 0).any().item<bool>()) ++fraction.recovered;
  }
  return fraction;
}

std::size_t columns_within_reach(const Tensor& z, const Tensor& features_b, int output_scale,
                                 const Tensor& features_a) {
  const Spaces spaces = spaces_of(z, features_b, output_scale);
  const Tensor basis = torch::cat({spaces.known, spaces.unknown}, 1);
  constexpr double kNear = 1e-3;
  std::size_t within = 0;
  for (std::int64_t i = 0; i < features_a.size(1); ++i) {
    const Tensor column = features_a.select(1, i).to(torch::kFloat64);
    if (is_constant(column)) continue;
    const Tensor rest = without_projection(column.unsqueeze(1), basis);
    if (rest.norm().item<double>() < kNear * column.norm().item<double>()) ++within;
  }
  return within;
}

}  // namespace blindfl::lab::attacks

#include "blindfl/lab/attacks/attack_lattice.h"

#include <cmath>

#include "blindfl/base/error.h"
#include "blindfl/lab/attacks/lattice_reduction.h"
#include "blindfl/nn/bridge.h"

namespace blindfl::lab::attacks {

namespace {

using torch::Tensor;
using torch::indexing::Slice;

constexpr std::size_t kMostRows = 64;
constexpr double kLargestUnits = 0x1p50;

/// Short integer relations among the rows: vectors u with u z = 0, the shortest first.
LatticeBasis relations_of(const Tensor& units) {
  const auto rows = static_cast<std::size_t>(units.size(0));
  constexpr Int128 kWeight = 1 << 8;  // of u z beside u: more than a short relation could make up for
  LatticeBasis basis(rows, std::vector<Int128>(rows + 1));
  for (std::size_t i = 0; i < rows; ++i) {
    basis[i][i] = 1;
    basis[i][rows] = kWeight * static_cast<Int128>(units[nn::torch_size(i)].item<std::int64_t>());
  }
  reduce(basis);
  return basis;
}

/// An orthonormal basis of what is orthogonal to the first so many relations, rows x dimension.
Tensor orthogonal_to(const LatticeBasis& relations, std::size_t count, std::size_t rows) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t c = 0; c < rows; ++c) values.push_back(static_cast<double>(relations[i][c]));
  }
  const Tensor matrix = torch::tensor(values, torch::kFloat64).view({nn::torch_size(count), nn::torch_size(rows)});
  const auto [left, sizes, right] = torch::linalg::svd(matrix, true, c10::nullopt);
  return right.t().index({Slice(), Slice(nn::torch_size(count))}).contiguous();
}

}  // namespace

RecoveredColumns attack_lattice(const Tensor& z, int output_scale, std::size_t columns_a, std::size_t rows,
                                const BinarySearch& search) {
  const torch::NoGradGuard no_grad;
  require<InvalidArgument>(columns_a >= 1 && rows >= 2 * columns_a && rows <= kMostRows,
                           "attack: lattice reduction takes from twice as many rows as A has columns to ", kMostRows);
  require<InvalidArgument>(z.numel() >= nn::torch_size(rows), "attack: there are fewer than ", rows, " rows");
  const Tensor first = z.flatten().narrow(0, 0, nn::torch_size(rows)).to(torch::kFloat64);
  const Tensor units = (first * std::ldexp(1.0, output_scale)).round();
  require<InvalidArgument>(units.abs().max().item<double>() < kLargestUnits,
                           "attack: Z is larger than lattice reduction takes");
  const LatticeBasis relations = relations_of(units.to(torch::kInt64));
  const Tensor unknown = orthogonal_to(relations, rows - columns_a, rows);
  const Tensor nothing = torch::empty({nn::torch_size(rows), 0}, torch::kFloat64);
  return {.columns = binary_vectors(nothing, unknown, search), .dimensions = columns_a};
}

}  // namespace blindfl::lab::attacks

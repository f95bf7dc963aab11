#include "blindfl/lab/attacks/binary_vectors.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"

namespace blindfl::lab::attacks {

namespace {

using torch::Tensor;
using torch::indexing::Slice;

constexpr auto kDouble = torch::kFloat64;
constexpr auto kFloat = torch::kFloat32;  // where a candidate is looked for, and not judged
constexpr int kIterations = 15;

/// What is searched, and what was found so far.
class Search {
 public:
  Search(Tensor known, Tensor unknown, const BinarySearch& options)
      : known_(std::move(known)),
        unknown_(std::move(unknown)),
        basis_(torch::cat({known_, unknown_}, 1)),
        options_(options),
        generator_(at::detail::createCPUGenerator(options.seed)) {}

  [[nodiscard]] const BinarySearch& options() const { return options_; }
  [[nodiscard]] const Tensor& basis() const { return basis_; }
  [[nodiscard]] const Tensor& unknown() const { return unknown_; }
  [[nodiscard]] torch::Generator& generator() { return generator_; }
  [[nodiscard]] std::int64_t rows() const { return basis_.size(0); }
  [[nodiscard]] std::int64_t dimension() const { return basis_.size(1); }

  /// Takes those columns of `candidates` that, rounded, are 0/1 vectors of the space and not of the known one.
  void take(const Tensor& candidates) {
    const Tensor rounded = (candidates > 0.5).to(kDouble);
    const auto off = [&](const Tensor& basis) { return without_projection(rounded, basis).abs().amax(0); };
    const Tensor fits = (off(basis_) < options_.tolerance) & (off(known_) >= options_.tolerance);
    const Tensor kept = rounded.index({Slice(), fits}).to(torch::kUInt8).t().contiguous();
    for (std::int64_t i = 0; i < kept.size(0); ++i) {
      const auto* bytes = kept[i].data_ptr<std::uint8_t>();
      vectors_.emplace(std::string(bytes, bytes + kept.size(1)), kept[i].sum().item<std::int64_t>());
    }
  }

  /// Rows x vectors, those with the fewest ones first.
  [[nodiscard]] Tensor columns() const {
    std::vector<std::pair<std::int64_t, const std::string*>> order;
    order.reserve(vectors_.size());
    for (const auto& [bytes, ones] : vectors_) order.emplace_back(ones, &bytes);
    std::ranges::stable_sort(order, {}, [](const auto& entry) { return entry.first; });
    std::vector<Tensor> all = {torch::empty({rows(), 0}, kDouble)};
    for (const auto& [ones, text] : order) {
      const std::vector<std::uint8_t> bytes(text->begin(), text->end());
      all.push_back(torch::tensor(bytes, torch::kUInt8).to(kDouble).unsqueeze(1));
    }
    return torch::cat(all, 1);
  }

  /// What was found spans the unknown space: all the rest are mixtures of it.
  [[nodiscard]] bool is_complete() const {
    if (static_cast<std::int64_t>(vectors_.size()) < unknown_.size(1)) return false;
    return orthonormal_basis(torch::mm(unknown_.t(), columns()), 0).size(1) == unknown_.size(1);
  }

 private:
  Tensor known_;
  Tensor unknown_;
  Tensor basis_;
  BinarySearch options_;
  torch::Generator generator_;
  std::map<std::string, std::int64_t> vectors_;  // and how many ones each has
};

/// Mixtures that are 0 or the same number in each row, but for errors: with their signs and factors taken out, so that
/// the number is 1.
Tensor levelled(const Tensor& vectors) {
  const Tensor upright = vectors * vectors.gather(0, vectors.abs().argmax(0, true)).sign();
  const Tensor high = upright > 0.5 * upright.amax(0, true);
  const Tensor level = (upright * high).sum(0, true) / high.sum(0, true);
  return upright / level.clamp_min(1e-12);
}

/// Entries are rounded to 0 and 1 and the result is projected back, again and again.
Tensor rounded_into(const Tensor& basis, Tensor vectors) {
  for (int i = 0; i < kIterations; ++i) {
    vectors = torch::mm(basis, torch::mm(basis.t(), (vectors > 0.5).to(basis.scalar_type())));
  }
  return vectors;
}

/// As many rows as the basis has columns, chosen so that the other rows follow from them with small factors.
Tensor pivot_rows(const Tensor& basis) {
  Tensor rest = basis.clone();
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < basis.size(1); ++i) {
    const auto row = rest.pow(2).sum(1).argmax().item<std::int64_t>();
    rows.push_back(row);
    const Tensor direction = rest[row] / rest[row].norm();
    rest = rest - torch::outer(torch::mv(rest, direction), direction);
  }
  return torch::tensor(rows, torch::kInt64);
}

/// All patterns of zeros and ones at the pivot rows, and what follows at the others.
void search_exhaustively(Search& search) {
  const Tensor& basis = search.basis();
  const std::int64_t dimension = search.dimension();
  const Tensor from_pivots = torch::mm(basis, torch::linalg::inv(basis.index_select(0, pivot_rows(basis))));
  constexpr std::int64_t kAtOnce = 4096;
  const Tensor factors = torch::pow(2, torch::arange(dimension, torch::kInt64)).unsqueeze(1);
  // Most patterns fail in the first rows.
  const Tensor first = from_pivots.index({Slice(0, 4 * dimension)});
  const std::int64_t patterns = std::int64_t{1} << dimension;
  for (std::int64_t begin = 1; begin < patterns; begin += kAtOnce) {
    const Tensor numbers = torch::arange(begin, std::min(begin + kAtOnce, patterns), torch::kInt64).unsqueeze(0);
    const Tensor bits = torch::floor_divide(numbers, factors).remainder(2).to(kDouble);
    const Tensor few = torch::mm(first, bits);
    const Tensor fits = (few - (few > 0.5).to(kDouble)).abs().amax(0) < search.options().tolerance;
    if (fits.any().item<bool>()) search.take(torch::mm(from_pivots, bits.index({Slice(), fits})));
  }
}

/// The symmetric matrix M whose entries on and above the diagonal are those of a column, off it times sqrt(2).
Tensor symmetric_of(const Tensor& column, const Tensor& places, std::int64_t dimension) {
  Tensor matrix = torch::zeros({dimension, dimension}, kDouble);
  const Tensor factors = torch::where(places[0] == places[1], 0.5, std::sqrt(0.5)).to(kDouble);
  matrix.index_put_({places[0], places[1]}, column.index({Slice(0, places.size(1))}) * factors);
  return matrix + matrix.t();
}

/// The null space of (M, w) -> diag(Y M Y^T) - Y w, a column each: it ends where the eigenvalues jump.
Tensor quadratic_null_space(const Tensor& scaled, const Tensor& places) {
  const Tensor weights = torch::where(places[0] == places[1], 1.0, std::sqrt(2.0)).to(kDouble);
  const Tensor products = scaled.index_select(1, places[0]) * scaled.index_select(1, places[1]) * weights;
  const Tensor system = torch::cat({products, -scaled}, 1);
  const auto [values, vectors] = torch::linalg::eigh(torch::mm(system.t(), system) / scaled.size(0), "L");
  const Tensor sizes = values.clamp_min(1e-18).log().index({Slice(0, scaled.size(1) + 1)});
  const Tensor jumps = sizes.index({Slice(1)}) - sizes.index({Slice(0, -1)});
  return vectors.index({Slice(), Slice(0, jumps.argmax().item<std::int64_t>() + 1)});
}

void search_by_joint_diagonalisation(Search& search) {
  const std::int64_t dimension = search.dimension();
  const std::int64_t unknowns = dimension * (dimension + 1) / 2 + dimension;
  if (dimension > search.options().most_quadratic || search.rows() < unknowns + dimension) return;
  const Tensor scaled = search.basis() * std::sqrt(static_cast<double>(search.rows()));
  const Tensor places = torch::triu_indices(dimension, dimension);
  const Tensor null_space = quadratic_null_space(scaled, places);
  const std::int64_t solutions = null_space.size(1);
  const auto element = [&] {
    const Tensor mixture = torch::randn({solutions}, search.generator(), torch::dtype(kDouble));
    return symmetric_of(torch::mv(null_space, mixture), places, dimension);
  };
  const Tensor one = element();
  const Tensor other = element();
  // Both are sums of the same w w^T: what diagonalises one by the other are the w.
  const auto [values, vectors] = torch::linalg::eigh(one, "L");
  const Tensor largest = values.abs().argsort(0, true).index({Slice(0, solutions)});
  const Tensor range = vectors.index_select(1, largest);
  const auto restricted = [&](const Tensor& matrix) { return torch::mm(range.t(), torch::mm(matrix, range)); };
  const Tensor ratio = torch::mm(restricted(one), torch::linalg::pinv(restricted(other)));
  const Tensor mixtures = torch::real(std::get<1>(torch::linalg::eig(ratio)));
  const Tensor columns = levelled(torch::mm(scaled, torch::mm(range, mixtures)));
  search.take(columns);
  search.take(rounded_into(search.basis(), columns));
}

/// Mixtures of the space that begin at single rows, rows x starts: large where rows are like the one begun at.
Tensor likeness(Search& search, const Tensor& part) {
  const std::int64_t starts = std::min(search.options().starts, search.rows());
  const Tensor order = torch::randperm(search.rows(), search.generator(), torch::dtype(torch::kInt64));
  const Tensor begin = part.index_select(0, order.index({Slice(0, starts)}));
  return torch::mm(part, begin.t());
}

/// Small entries are set to 0 and the rest is projected back, again and again: sparse vectors of the space attract.
void search_sparse(Search& search) {
  const Tensor basis = search.basis().to(kFloat);
  Tensor vectors = likeness(search, basis);
  const double cut = 1.0 / std::sqrt(static_cast<double>(search.rows()));
  for (int i = 0; i < kIterations; ++i) {
    vectors = torch::softshrink(vectors / vectors.norm(2, {0}, true).clamp_min(1e-12), cut);
    vectors = torch::mm(basis, torch::mm(basis.t(), vectors));
  }
  search.take(levelled(vectors));
}

/// By rounding, from the share of rows that are most like one.
void search_by_rounding(Search& search, const Tensor& part, double share) {
  const Tensor basis = search.basis().to(kFloat);
  const Tensor like = likeness(search, part.to(kFloat));
  const auto rank = static_cast<std::int64_t>((1 - share) * static_cast<double>(search.rows()));
  const Tensor most_alike = like > std::get<0>(like.kthvalue(std::max<std::int64_t>(rank, 1), 0, true));
  search.take(rounded_into(basis, most_alike.to(kFloat)));
}

}  // namespace

Tensor orthonormal_basis(const Tensor& columns, double noise) {
  if (columns.size(1) == 0) return columns;
  const auto [left, values, right] = torch::linalg::svd(columns, false, c10::nullopt);
  const double rounding = 1e-9 * values[0].item<double>();
  const double cut = std::max(4 * noise * std::sqrt(static_cast<double>(columns.size(0))), rounding);
  return left.index({Slice(), values > cut});
}

Tensor without_projection(const Tensor& columns, const Tensor& basis) {
  return basis.size(1) == 0 ? columns : columns - torch::mm(basis, torch::mm(basis.t(), columns));
}

Tensor binary_vectors(const Tensor& known, const Tensor& unknown, const BinarySearch& options) {
  require<InvalidArgument>(known.size(0) == unknown.size(0),
                           "binary vectors: the spaces have different numbers of rows");
  const torch::NoGradGuard no_grad;
  Search search(known, unknown, options);
  // Of few rows every vector would be in the space.
  if (unknown.size(1) == 0 || search.rows() < 2 * search.dimension()) return search.columns();
  if (search.dimension() <= options.most_exhaustive) {
    search_exhaustively(search);
    return search.columns();
  }
  search_by_joint_diagonalisation(search);
  if (!search.is_complete()) search_sparse(search);
  for (const double share : {0.1, 0.2, 0.3}) {
    if (!search.is_complete()) search_by_rounding(search, search.basis(), share);
    if (!search.is_complete()) search_by_rounding(search, search.unknown(), share);
  }
  return search.columns();
}

}  // namespace blindfl::lab::attacks

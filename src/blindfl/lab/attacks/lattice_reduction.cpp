#include "blindfl/lab/attacks/lattice_reduction.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace blindfl::lab::attacks {

namespace {

using Real = long double;

/// A basis on its way to a reduced one, and its projections as far as they are known.
class Reduction {
 public:
  explicit Reduction(LatticeBasis& basis)
      : basis_(basis),
        factors_(basis.size(), std::vector<Real>(basis.size())),
        products_(basis.size(), std::vector<Real>(basis.size())) {}

  void run() {
    if (basis_.empty()) return;
    constexpr Real kNear = 0.99;
    project(0);
    for (std::size_t k = 1; k < basis_.size();) {
      shorten(k);
      const Real factor = factors_[k][k - 1];
      if (products_[k][k] >= (kNear - factor * factor) * products_[k - 1][k - 1]) {
        ++k;
        continue;
      }
      std::swap(basis_[k], basis_[k - 1]);
      k = std::max<std::size_t>(k - 1, 1);
      if (k == 1) project(0);
    }
  }

 private:
  [[nodiscard]] Real product(std::size_t i, std::size_t j) const {
    Int128 sum = 0;
    for (std::size_t c = 0; c < basis_[i].size(); ++c) sum += basis_[i][c] * basis_[j][c];
    return static_cast<Real>(sum);
  }

  /// Row k's part of Gram and Schmidt's: its products with the projections of those before, and with its own.
  void project(std::size_t k) {
    for (std::size_t j = 0; j <= k; ++j) {
      Real rest = product(k, j);
      for (std::size_t i = 0; i < j; ++i) rest -= factors_[j][i] * products_[k][i];
      products_[k][j] = rest;
      if (j < k) factors_[k][j] = rest / products_[j][j];
    }
  }

  /// Takes multiples of earlier vectors off, until none is left to take.
  void shorten(std::size_t k) {
    for (bool changed = true; changed;) {
      project(k);
      changed = false;
      for (std::size_t j = k; j-- > 0;) {
        constexpr Real kEnough = 0.51L;  // more than a half: what rounding leaves must not be taken for ever
        if (std::abs(factors_[k][j]) <= kEnough) continue;
        const Real times = std::round(factors_[k][j]);
        for (std::size_t c = 0; c < basis_[k].size(); ++c) basis_[k][c] -= static_cast<Int128>(times) * basis_[j][c];
        for (std::size_t i = 0; i < j; ++i) factors_[k][i] -= times * factors_[j][i];
        factors_[k][j] -= times;
        changed = true;
      }
    }
  }

  LatticeBasis& basis_;
  std::vector<std::vector<Real>> factors_;
  std::vector<std::vector<Real>> products_;
};

}  // namespace

void reduce(LatticeBasis& basis) {
  Reduction(basis).run();
}

}  // namespace blindfl::lab::attacks

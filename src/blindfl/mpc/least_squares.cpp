#include "blindfl/mpc/least_squares.h"

#include <cmath>

namespace blindfl::mpc {

double inner_product(const double* a, const double* b, std::size_t begin, std::size_t end) {
  // Four sums, in this order whatever the compiler: it does not reorder them by itself.
  double sums[4] = {};
  std::size_t i = begin;
  for (; i + 4 <= end; i += 4) {
    for (std::size_t k = 0; k < 4; ++k) sums[k] += a[i + k] * b[i + k];
  }
  for (; i < end; ++i) sums[0] += a[i] * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

namespace {

/// x -= v * 2 (v, x) / (v, v)
void reflect(const double* v, double norm, double* x, std::size_t begin, std::size_t end) {
  const double factor = 2 * inner_product(v, x, begin, end) / norm;
  for (std::size_t i = begin; i < end; ++i) x[i] -= factor * v[i];
}

}  // namespace

std::vector<double> least_squares(RealMatrix& a, std::vector<double>& y) {
  const std::size_t rows = a.rows();
  const std::size_t cols = a.cols();
  std::vector<double> diagonal(cols);
  for (std::size_t c = 0; c < cols; ++c) {
    double* v = a.column(c);
    const double length = std::sqrt(inner_product(v, v, c, rows));
    diagonal[c] = v[c] > 0 ? -length : length;
    v[c] -= diagonal[c];
    const double norm = inner_product(v, v, c, rows);
    for (std::size_t other = c + 1; other < cols; ++other) reflect(v, norm, a.column(other), c, rows);
    reflect(v, norm, y.data(), c, rows);
  }
  std::vector<double> x(cols);
  for (std::size_t c = cols; c-- > 0;) {
    double rest = y[c];
    for (std::size_t other = c + 1; other < cols; ++other) rest -= a.column(other)[c] * x[other];
    x[c] = rest / diagonal[c];
  }
  return x;
}

bool factor_positive(RealMatrix& a) {
  for (std::size_t r = 0; r < a.rows(); ++r) {
    double* row = a.column(r);
    for (std::size_t c = 0; c < r; ++c) row[c] = (row[c] - inner_product(row, a.column(c), 0, c)) / a.column(c)[c];
    const double square = row[r] - inner_product(row, row, 0, r);
    if (!(square > 0)) return false;
    row[r] = std::sqrt(square);
  }
  return true;
}

void solve_factored(const RealMatrix& factor, std::vector<double>& x) {
  const std::size_t n = factor.rows();
  for (std::size_t r = 0; r < n; ++r) {
    x[r] = (x[r] - inner_product(factor.column(r), x.data(), 0, r)) / factor.column(r)[r];
  }
  for (std::size_t r = n; r-- > 0;) {
    x[r] /= factor.column(r)[r];
    for (std::size_t c = 0; c < r; ++c) x[c] -= factor.column(r)[c] * x[r];
  }
}

}  // namespace blindfl::mpc

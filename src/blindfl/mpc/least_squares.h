#pragma once

#include <cstddef>
#include <vector>

namespace blindfl::mpc {

/// A dense matrix of reals, column by column.
class RealMatrix {
 public:
  RealMatrix(std::size_t rows, std::size_t cols) : rows_(rows), cols_(cols), values_(rows * cols) {}

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t cols() const { return cols_; }
  [[nodiscard]] double* column(std::size_t c) { return values_.data() + c * rows_; }
  [[nodiscard]] const double* column(std::size_t c) const { return values_.data() + c * rows_; }

 private:
  std::size_t rows_;
  std::size_t cols_;
  std::vector<double> values_;
};

/// The x that makes |a x - y| least, for independent columns and at least as many rows, by Householder's reflections.
/// `a` and `y` are destroyed.
[[nodiscard]] std::vector<double> least_squares(RealMatrix& a, std::vector<double>& y);

/// The sum of a[i] b[i] for i from `begin` to before `end`, always in the same order.
[[nodiscard]] double inner_product(const double* a, const double* b, std::size_t begin, std::size_t end);

/// Cholesky's factor of a symmetric matrix takes the place of the half of it where rows come before columns: column c
/// has the factor's row c. Returns false, with garbage in its place, if the matrix is not positive enough for that.
[[nodiscard]] bool factor_positive(RealMatrix& a);
/// The solution of what `factor_positive` took apart, in place of the right-hand side.
void solve_factored(const RealMatrix& factor, std::vector<double>& x);

}  // namespace blindfl::mpc

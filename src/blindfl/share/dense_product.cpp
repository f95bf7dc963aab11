#include "blindfl/share/dense_product.h"

#include <algorithm>
#include <utility>

namespace blindfl {

namespace {

constexpr std::size_t kMostInner = 512;  // so that the digits of a tile's rows stay near the processor

/// How many pieces of so many products are worth handing to another thread.
std::size_t pieces_worth(std::size_t products) {
  constexpr std::size_t kWorth = 1 << 16;
  return std::max<std::size_t>(1, kWorth / std::max<std::size_t>(1, products));
}

DigitPlan plan_for(const ProductKernels& kernels, const IntMatrix& x, const ShareMatrix& m) {
  return kernels.plan(x.bound(), m.ring_bits(), std::min(m.rows(), kMostInner));
}

/// The product in pieces: steps along the inner dimension, and for each of them all tiles.
class DenseProduct {
 public:
  DenseProduct(const ProductKernels& kernels, const IntMatrix& x, const ShareMatrix& m, bool transposed)
      : kernels_(kernels),
        x_(x),
        m_(m),
        transposed_(transposed),
        inner_(m.rows()),
        plan_(plan_for(kernels, x, m)),
        columns_(2 * kernels.lanes),
        panels_((m.cols() + columns_ - 1) / columns_),
        out_(transposed ? x.cols() : x.rows(), m.cols(), x.scale() + m.scale(), m.ring_bits()) {}

  ShareMatrix run(ThreadPool& pool) {
    if (inner_ == 0 || out_.values().empty()) return std::move(out_);
    if (kernels_.offset_remains) take_off_offset();
    // Steps of one length, as far as possible.
    const std::size_t steps = (inner_ - 1) / kMostInner + 1;
    const std::size_t length = (inner_ + steps - 1) / steps;
    right_.resize(panels_ * plan_.right_digits * length * columns_);
    for (first_ = 0; first_ < inner_; first_ += length) {
      terms_ = std::min(length, inner_ - first_);
      // Cutting a value takes about as long as multiplying 16.
      pool.parallel_for(panels_, pieces_worth(16 * terms_ * columns_), [&](std::size_t begin, std::size_t end) {
        for (std::size_t p = begin; p < end; ++p) cut_panel(p);
      });
      const std::size_t tiles = (out_.rows() + kernels_.rows - 1) / kernels_.rows;
      const std::size_t work = kernels_.rows * terms_ * m_.cols();
      pool.parallel_for(tiles, pieces_worth(work),
                        [&](std::size_t begin, std::size_t end) { multiply_tiles(begin, end); });
    }
    out_.reduce();
    return std::move(out_);
  }

 private:
  void take_off_offset() {
    const auto row = out_.row(0);
    for (std::size_t k = 0; k < inner_; ++k) {
      const auto from = m_.row(k);
      for (std::size_t c = 0; c < from.size(); ++c) row[c] += from[c];
    }
    const UInt128 offset = plan_.left_offset;
    for (UInt128& v : row) v = 0 - v * offset;
    for (std::size_t r = 1; r < out_.rows(); ++r) std::ranges::copy(row, out_.row(r).begin());
  }

  [[nodiscard]] std::size_t columns_of(std::size_t panel) const {
    return std::min(columns_, m_.cols() - panel * columns_);
  }
  [[nodiscard]] std::size_t width_of(std::size_t panel) const {
    return columns_of(panel) <= kernels_.lanes ? kernels_.lanes : columns_;
  }
  [[nodiscard]] std::uint64_t* panel(std::size_t p) {
    return right_.data() + p * plan_.right_digits * terms_ * columns_;
  }

  void cut_panel(std::size_t p) {
    const std::size_t width = width_of(p);
    const std::size_t columns = columns_of(p);
    SecretVector<UInt128> padded(width);
    for (std::size_t k = 0; k < terms_; ++k) {
      const UInt128* from = m_.row(first_ + k).data() + p * columns_;
      if (columns < width) {
        std::copy_n(from, columns, padded.begin());
        from = padded.data();
      }
      kernels_.cut_right(plan_, from, width, panel(p) + k * width, terms_ * width);
    }
  }

  /// The digits of a tile's rows; rows beyond the last are zeros.
  ProductKernels::Left cut_rows(std::size_t tile, SecretVector<std::uint64_t>& digits) const {
    const std::size_t first_row = tile * kernels_.rows;
    const std::size_t rows = std::min(kernels_.rows, out_.rows() - first_row);
    const std::size_t all = kernels_.rows * terms_;
    if (rows < kernels_.rows) std::ranges::fill(digits, 0);
    if (transposed_) {
      for (std::size_t k = 0; k < terms_; ++k) {
        kernels_.cut_left(plan_, x_.dense_row(first_ + k).data() + first_row, rows, digits.data() + k * kernels_.rows,
                          1, all);
      }
      return {digits.data(), 1, kernels_.rows, all};
    }
    for (std::size_t r = 0; r < rows; ++r) {
      kernels_.cut_left(plan_, x_.dense_row(first_row + r).data() + first_, terms_, digits.data() + r * terms_, 1, all);
    }
    return {digits.data(), terms_, 1, all};
  }

  void multiply_tiles(std::size_t begin, std::size_t end) {
    SecretVector<std::uint64_t> digits(plan_.left_digits * kernels_.rows * terms_);
    SecretVector<UInt128> totals(kernels_.rows * columns_);
    for (std::size_t t = begin; t < end; ++t) {
      const ProductKernels::Left left = cut_rows(t, digits);
      const std::size_t rows = std::min(kernels_.rows, out_.rows() - t * kernels_.rows);
      for (std::size_t p = 0; p < panels_; ++p) {
        const std::size_t width = width_of(p);
        const std::size_t columns = columns_of(p);
        const auto to = [&](std::size_t r) { return out_.row(t * kernels_.rows + r).subspan(p * columns_, columns); };
        for (std::size_t r = 0; r < rows; ++r) std::ranges::copy(to(r), totals.data() + r * width);
        kernels_.add_product(plan_, left, {panel(p), terms_ * width}, terms_, width, totals.data());
        for (std::size_t r = 0; r < rows; ++r) std::copy_n(totals.data() + r * width, columns, to(r).begin());
      }
    }
  }

  const ProductKernels& kernels_;
  const IntMatrix& x_;
  const ShareMatrix& m_;
  bool transposed_;
  std::size_t inner_;
  DigitPlan plan_;
  std::size_t columns_;
  std::size_t panels_;
  ShareMatrix out_;
  SecretVector<std::uint64_t> right_;
  std::size_t first_ = 0;
  std::size_t terms_ = 0;
};

}  // namespace

bool worth_cutting(const ProductKernels& kernels, const IntMatrix& x, const ShareMatrix& m, bool transposed) {
  if (x.kind() != IntMatrix::Kind::kDense) return false;
  const ProductKernels::Worth& worth = kernels.worth;
  const std::size_t rows = transposed ? x.cols() : x.rows();
  if (rows < worth.rows || m.rows() < worth.inner || m.cols() < worth.cols) return false;
  if (rows * m.rows() * m.cols() < worth.work) return false;
  return worth.pairs >= DigitPlan::kMostPairs || plan_for(kernels, x, m).pair_count <= worth.pairs;
}

ShareMatrix dense_product(const ProductKernels& kernels, const IntMatrix& x, const ShareMatrix& m, bool transposed,
                          ThreadPool& pool) {
  return DenseProduct(kernels, x, m, transposed).run(pool);
}

}  // namespace blindfl

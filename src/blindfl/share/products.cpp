#include "blindfl/share/products.h"

#include <algorithm>
#include <cmath>

#include "blindfl/base/error.h"
#include "blindfl/share/dense_product.h"

namespace blindfl {

namespace {

constexpr std::size_t kGrain = 4096;  // ring multiplications worth handing to another thread

std::size_t grain_of(std::size_t work, std::size_t pieces) {
  return std::max<std::size_t>(1, kGrain / std::max<std::size_t>(1, work / std::max<std::size_t>(1, pieces)));
}

/// The kernels that a product is faster with than with the plain loop, or none.
const ProductKernels* kernels_for(const IntMatrix& x, const ShareMatrix& m, bool transposed) {
  const ProductKernels* kernels = available_product_kernels().front();
  return worth_cutting(*kernels, x, m, transposed) ? kernels : nullptr;
}

void add_scaled(std::span<std::uint64_t> out, std::int64_t x, std::span<const std::uint64_t> m) {
  const auto factor = static_cast<std::uint64_t>(x);
  for (std::size_t c = 0; c < out.size(); ++c) out[c] += factor * m[c];
}

// A signed 64-bit factor needs two word products: the sign is put right by one subtraction.
void add_scaled(std::span<UInt128> out, std::int64_t x, std::span<const UInt128> m) {
  const auto unsigned_x = static_cast<std::uint64_t>(x);
  const std::uint64_t negative = x < 0 ? ~std::uint64_t{0} : 0;
  for (std::size_t c = 0; c < out.size(); ++c) {
    const std::uint64_t low = low64(m[c]);
    const std::uint64_t carry_up = unsigned_x * high64(m[c]) - (low & negative);
    out[c] += static_cast<UInt128>(unsigned_x) * low + (static_cast<UInt128>(carry_up) << 64);
  }
}

/// The plain loop, in numbers of 64 bits where the ring has no more.
template <class Word>
class LoopProduct {
 public:
  LoopProduct(const IntMatrix& x, const ShareMatrix& m, bool transposed)
      : x_(x),
        right_(m.values().size()),
        cols_(m.cols()),
        out_(transposed ? x.cols() : x.rows(), m.cols(), x.scale() + m.scale(), m.ring_bits()) {
    std::ranges::transform(m.values(), right_.begin(), [](UInt128 v) { return static_cast<Word>(v); });
  }

  ShareMatrix rows(ThreadPool& pool) && {
    pool.parallel_for(x_.rows(), grain_of(x_.stored() * cols_, x_.rows()), [&](std::size_t begin, std::size_t end) {
      SecretVector<Word> sums(cols_);
      for (std::size_t r = begin; r < end; ++r) {
        std::ranges::fill(sums, 0);
        x_.for_each_in_row(r, [&](std::size_t c, std::int64_t v) { add_scaled(sums, v, right(c, 0, cols_)); });
        std::ranges::copy(sums, out_.row(r).begin());
      }
    });
    out_.reduce();
    return std::move(out_);
  }

  // Rows of x scatter over all of the result, so threads share out its columns instead.
  ShareMatrix scattered_rows(ThreadPool& pool) && {
    pool.parallel_for(cols_, grain_of(x_.stored() * cols_, cols_), [&](std::size_t begin, std::size_t end) {
      const std::size_t width = end - begin;
      SecretVector<Word> sums(out_.rows() * width);
      for (std::size_t r = 0; r < x_.rows(); ++r) {
        x_.for_each_in_row(r, [&](std::size_t c, std::int64_t v) {
          add_scaled(std::span(sums).subspan(c * width, width), v, right(r, begin, width));
        });
      }
      for (std::size_t r = 0; r < out_.rows(); ++r) {
        std::ranges::copy(std::span(sums).subspan(r * width, width), out_.row(r).subspan(begin).begin());
      }
    });
    out_.reduce();
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::span<const Word> right(std::size_t row, std::size_t first, std::size_t count) const {
    return std::span(right_).subspan(row * cols_ + first, count);
  }

  const IntMatrix& x_;
  SecretVector<Word> right_;
  std::size_t cols_;
  ShareMatrix out_;
};

}  // namespace

ShareMatrix multiply(const IntMatrix& x, const ShareMatrix& m, ThreadPool& pool) {
  require<InvalidArgument>(x.cols() == m.rows(), "product of ", x.rows(), " x ", x.cols(), " and ", m.rows(), " x ",
                           m.cols(), ": the inner dimensions differ");
  if (const ProductKernels* kernels = kernels_for(x, m, false)) return dense_product(*kernels, x, m, false, pool);
  if (m.ring_bits() <= 64) return LoopProduct<std::uint64_t>(x, m, false).rows(pool);
  return LoopProduct<UInt128>(x, m, false).rows(pool);
}

ShareMatrix multiply_transposed(const IntMatrix& x, const ShareMatrix& m, ThreadPool& pool) {
  require<InvalidArgument>(x.rows() == m.rows(), "product of ", x.rows(), " x ", x.cols(), " transposed and ", m.rows(),
                           " x ", m.cols(), ": the inner dimensions differ");
  if (const ProductKernels* kernels = kernels_for(x, m, true)) return dense_product(*kernels, x, m, true, pool);
  if (m.ring_bits() <= 64) return LoopProduct<std::uint64_t>(x, m, true).scattered_rows(pool);
  return LoopProduct<UInt128>(x, m, true).scattered_rows(pool);
}

ShareMatrix multiply(const IntMatrix& x, const ShareMatrix& m) {
  ThreadPool one;
  return multiply(x, m, one);
}

ShareMatrix multiply_transposed(const IntMatrix& x, const ShareMatrix& m) {
  ThreadPool one;
  return multiply_transposed(x, m, one);
}

ShareMatrix to_ring(const IntMatrix& x) {
  ShareMatrix out(x.rows(), x.cols(), x.scale());
  for (std::size_t r = 0; r < x.rows(); ++r) {
    x.for_each_in_row(
        r, [&](std::size_t c, std::int64_t v) { out.row(r)[c] = static_cast<UInt128>(static_cast<Int128>(v)); });
  }
  return out;
}

int product_bits(std::size_t terms, UInt128 left, UInt128 right) {
  constexpr UInt128 kLimit = static_cast<UInt128>(1) << 127;
  UInt128 total = terms;
  for (const UInt128 factor : {left, right}) {
    if (factor != 0 && total > kLimit / factor) return 128;
    total *= factor;
  }
  return bit_length(total);
}

}  // namespace blindfl

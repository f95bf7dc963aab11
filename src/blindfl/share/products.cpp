#include "blindfl/share/products.h"

#include <algorithm>
#include <cmath>

#include "blindfl/base/error.h"
#include "blindfl/share/dense_product.h"

namespace blindfl {

namespace {

// out += x * m over columns.

/// In a ring of up to 64 bits the upper halves stay zero.
void add_scaled_narrow(std::span<UInt128> out, std::int64_t x, std::span<const UInt128> m) {
  const auto factor = static_cast<std::uint64_t>(x);
  for (std::size_t c = 0; c < out.size(); ++c) out[c] = low64(out[c]) + factor * low64(m[c]);
}

// A signed 64-bit factor needs two word products: the sign is put right by one subtraction.
void add_scaled_wide(std::span<UInt128> out, std::int64_t x, std::span<const UInt128> m) {
  const auto unsigned_x = static_cast<std::uint64_t>(x);
  const std::uint64_t negative = x < 0 ? ~std::uint64_t{0} : 0;
  for (std::size_t c = 0; c < out.size(); ++c) {
    const std::uint64_t low = low64(m[c]);
    const std::uint64_t carry_up = unsigned_x * high64(m[c]) - (low & negative);
    out[c] += static_cast<UInt128>(unsigned_x) * low + (static_cast<UInt128>(carry_up) << 64);
  }
}

constexpr std::size_t kGrain = 4096;  // ring multiplications worth handing to another thread

std::size_t grain_of(std::size_t work, std::size_t pieces) {
  return std::max<std::size_t>(1, kGrain / std::max<std::size_t>(1, work / std::max<std::size_t>(1, pieces)));
}

/// The kernels that a product is faster with than with the plain loop, or none.
const ProductKernels* kernels_for(const IntMatrix& x, const ShareMatrix& m, bool transposed) {
  const ProductKernels* kernels = available_product_kernels().front();
  return worth_cutting(*kernels, x, m, transposed) ? kernels : nullptr;
}

template <class AddScaled>
void add_rows(const IntMatrix& x, const ShareMatrix& m, ThreadPool& pool, ShareMatrix& out, AddScaled add_scaled) {
  pool.parallel_for(x.rows(), grain_of(x.stored() * m.cols(), x.rows()), [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) {
      x.for_each_in_row(r, [&](std::size_t c, std::int64_t v) { add_scaled(out.row(r), v, m.row(c)); });
    }
  });
}

// Rows of x scatter over all of `out`, so threads share out its columns instead.
template <class AddScaled>
void scatter_rows(const IntMatrix& x, const ShareMatrix& m, ThreadPool& pool, ShareMatrix& out, AddScaled add_scaled) {
  pool.parallel_for(m.cols(), grain_of(x.stored() * m.cols(), m.cols()), [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = 0; r < x.rows(); ++r) {
      const auto from = m.row(r).subspan(begin, end - begin);
      x.for_each_in_row(
          r, [&](std::size_t c, std::int64_t v) { add_scaled(out.row(c).subspan(begin, end - begin), v, from); });
    }
  });
}

constexpr auto kNarrow = [](auto... values) { add_scaled_narrow(values...); };
constexpr auto kWide = [](auto... values) { add_scaled_wide(values...); };

bool is_narrow(const ShareMatrix& m) {
  return m.ring_bits() <= 64;
}
}  // namespace

ShareMatrix multiply(const IntMatrix& x, const ShareMatrix& m, ThreadPool& pool) {
  require<InvalidArgument>(x.cols() == m.rows(), "product of ", x.rows(), " x ", x.cols(), " and ", m.rows(), " x ",
                           m.cols(), ": the inner dimensions differ");
  if (const ProductKernels* kernels = kernels_for(x, m, false)) return dense_product(*kernels, x, m, false, pool);
  ShareMatrix out(x.rows(), m.cols(), x.scale() + m.scale(), m.ring_bits());
  is_narrow(m) ? add_rows(x, m, pool, out, kNarrow) : add_rows(x, m, pool, out, kWide);
  out.reduce();
  return out;
}

ShareMatrix multiply_transposed(const IntMatrix& x, const ShareMatrix& m, ThreadPool& pool) {
  require<InvalidArgument>(x.rows() == m.rows(), "product of ", x.rows(), " x ", x.cols(), " transposed and ", m.rows(),
                           " x ", m.cols(), ": the inner dimensions differ");
  if (const ProductKernels* kernels = kernels_for(x, m, true)) return dense_product(*kernels, x, m, true, pool);
  ShareMatrix out(x.cols(), m.cols(), x.scale() + m.scale(), m.ring_bits());
  is_narrow(m) ? scatter_rows(x, m, pool, out, kNarrow) : scatter_rows(x, m, pool, out, kWide);
  out.reduce();
  return out;
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

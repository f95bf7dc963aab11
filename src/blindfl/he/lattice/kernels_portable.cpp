#include <algorithm>

#include "blindfl/base/int128.h"
#include "blindfl/he/lattice/kernels.h"
#include "blindfl/he/lattice/short_transform.h"

namespace blindfl::he::lattice {

namespace {

constexpr std::uint64_t kMask52 = (std::uint64_t{1} << 52) - 1;

/// min without a branch on data: `x - c` wraps around to something large where x < c.
std::uint64_t reduced_once(std::uint64_t x, std::uint64_t c) {
  return std::min(x, x - c);
}

/// y * factor modulo q, in [0, 2q), for any y; quotient = floor(factor * 2^64 / q).
std::uint64_t shoup(std::uint64_t y, std::uint64_t factor, std::uint64_t quotient, std::uint64_t q) {
  return y * factor - high64(static_cast<UInt128>(y) * quotient) * q;
}

/// x / 2^52 modulo q, in [0, q), for x < q * 2^52.
std::uint64_t montgomery(UInt128 x, const Modulus& modulus) {
  const std::uint64_t m = (low64(x) * modulus.negated_inverse()) & kMask52;
  const auto t = static_cast<std::uint64_t>((x + static_cast<UInt128>(m) * modulus.value()) >> 52);
  return reduced_once(t, modulus.value());
}

void forward(std::uint64_t* a, const Modulus& modulus) {
  transform_short({a, modulus.degree()}, modulus);
}

void inverse(std::uint64_t* a, const Modulus& modulus) {
  const std::uint64_t q = modulus.value();
  const auto& roots = modulus.inverse_roots();
  const auto& last = modulus.last_stage();
  const std::size_t n = modulus.degree();
  for (std::size_t groups = n / 2, half = 1; groups > 1; groups /= 2, half *= 2) {
    for (std::size_t g = 0; g < groups; ++g) {
      const std::uint64_t w = roots.value[groups + g];
      const std::uint64_t w_quotient = roots.quotient64[groups + g];
      std::uint64_t* first = a + 2 * g * half;
      std::uint64_t* second = first + half;
      for (std::size_t j = 0; j < half; ++j) {
        const std::uint64_t x = first[j];
        const std::uint64_t y = second[j];
        first[j] = reduced_once(x + y, 2 * q);
        second[j] = shoup(x + 2 * q - y, w, w_quotient, q);
      }
    }
  }
  for (std::size_t j = 0; j < n / 2; ++j) {
    const std::uint64_t x = a[j];
    const std::uint64_t y = a[j + n / 2];
    a[j] = reduced_once(shoup(x + y, last.value[0], last.quotient64[0], q), q);
    a[j + n / 2] = reduced_once(shoup(x + 2 * q - y, last.value[1], last.quotient64[1], q), q);
  }
}

void multiply(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b, std::size_t n,
              const Modulus& modulus) {
  for (std::size_t i = 0; i < n; ++i) out[i] = montgomery(static_cast<UInt128>(a[i]) * b[i], modulus);
}

void multiply_subtract(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b, std::size_t n,
                       const Modulus& modulus) {
  const std::uint64_t q = modulus.value();
  for (std::size_t i = 0; i < n; ++i) {
    out[i] = reduced_once(out[i] + q - montgomery(static_cast<UInt128>(a[i]) * b[i], modulus), q);
  }
}

void accumulate(std::uint64_t* out, const Terms& terms, std::size_t n, const Modulus& modulus) {
  const std::uint64_t q = modulus.value();
  // A product is below q^2 and the reduction takes less than q * 2^52: that many products may be added up before it.
  const std::size_t most = std::size_t{1} << (52 - modulus.bits());
  for (std::size_t begin = 0; begin < terms.count; begin += most) {
    const std::size_t end = std::min(terms.count, begin + most);
    for (std::size_t p = 0; p < n; ++p) {
      const std::uint64_t* left = terms.left + p / terms.repeat;
      const std::uint64_t* right = terms.right + p;
      UInt128 sum = 0;
      for (std::size_t t = begin; t < end; ++t) {
        sum += static_cast<UInt128>(left[t * terms.left_stride]) * right[t * terms.right_stride];
      }
      out[p] = reduced_once(out[p] + montgomery(sum, modulus), q);
    }
  }
}

}  // namespace

void transform_short(std::span<std::uint64_t> a, const Modulus& modulus) {
  const std::uint64_t q = modulus.value();
  const auto& roots = modulus.roots();
  const std::size_t n = a.size();
  // Values stay below 4q: a butterfly brings its first input below 2q and its product is below 2q.
  for (std::size_t groups = 1, half = n / 2; groups < n; groups *= 2, half /= 2) {
    for (std::size_t g = 0; g < groups; ++g) {
      const std::uint64_t w = roots.value[groups + g];
      const std::uint64_t w_quotient = roots.quotient64[groups + g];
      std::uint64_t* first = a.data() + 2 * g * half;
      std::uint64_t* second = first + half;
      for (std::size_t j = 0; j < half; ++j) {
        const std::uint64_t x = reduced_once(first[j], 2 * q);
        const std::uint64_t y = shoup(second[j], w, w_quotient, q);
        first[j] = x + y;
        second[j] = x + 2 * q - y;
      }
    }
  }
  for (std::uint64_t& x : a) x = reduced_once(reduced_once(x, 2 * q), q);
}

const Kernels& portable_kernels() {
  static constexpr Kernels kKernels{"portable", forward, inverse, multiply, multiply_subtract, accumulate};
  return kKernels;
}

}  // namespace blindfl::he::lattice

#include "blindfl/he/lattice/sparse_inverse.h"

#include <algorithm>
#include <bit>

#include "blindfl/base/error.h"
#include "blindfl/base/int128.h"

namespace blindfl::he::lattice {

namespace {

/// One over the root at which `forward` leaves the polynomial's value number s.
std::uint64_t one_over_root(const Modulus& modulus, std::size_t s) {
  const std::uint64_t even = modulus.inverse_roots().value[modulus.degree() / 2 + s / 2];
  return s % 2 == 0 ? even : modulus.value() - even;
}

/// a * b / 2^52 modulo q, after Montgomery, for all values alike in time: `times` may be secret, and a division by the
/// modulus would not be.
std::uint64_t multiply_secret(const Modulus& modulus, std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kMask = (std::uint64_t{1} << Modulus::kRadixBits) - 1;
  const UInt128 product = static_cast<UInt128>(a) * b;
  const std::uint64_t multiple = (low64(product) & kMask) * modulus.negated_inverse() & kMask;
  const auto r =
      static_cast<std::uint64_t>((product + static_cast<UInt128>(multiple) * modulus.value()) >> Modulus::kRadixBits);
  return std::min(r, r - modulus.value());
}

}  // namespace

SparseInverse::SparseInverse(const Modulus& modulus, std::size_t stride, std::uint64_t scale,
                             std::span<const std::uint64_t> times)
    : stride_(stride) {
  const std::size_t n = modulus.degree();
  require<InvalidArgument>(std::has_single_bit(stride) && stride >= 8 && stride <= n / 8, "a stride of ", stride,
                           " is not a power of two from 8 to ", n / 8);
  require<InvalidArgument>(times.empty() || times.size() == n, times.size(), " factors for ", n, " values");
  count_ = n / stride;
  // c[stride * k + stride - 1] = 1/N * sum over s of value[s] * root[s]^-(stride - 1) * (root[s]^stride)^-k.
  const std::uint64_t factor = modulus.to_montgomery(modulus.multiply(scale, modulus.inverse(n)));
  weights_.resize(n);
  for (std::size_t s = 0; s < n; ++s) {
    const std::uint64_t weight = modulus.multiply(modulus.power(one_over_root(modulus, s), stride - 1), factor);
    weights_[s] = times.empty() ? weight : multiply_secret(modulus, modulus.to_montgomery(weight), times[s]);
  }
  last_stage_ = modulus.factors({1, modulus.inverse_roots().value[1]});
  inverse_lane_roots_ = Modulus::arranged(modulus.inverse_roots(), count_);
  if (count_ >= 64) return;
  matrix_.resize(count_ * count_);
  for (std::size_t g = 0; g < count_; ++g) {
    const std::uint64_t step = modulus.power(one_over_root(modulus, g * stride), stride);
    std::uint64_t power = modulus.to_montgomery(1);
    for (std::size_t k = 0; k < count_; ++k) {
      matrix_[g * count_ + k] = power;
      power = modulus.multiply(power, step);
    }
  }
}

}  // namespace blindfl::he::lattice

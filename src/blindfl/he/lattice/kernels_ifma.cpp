#include "blindfl/he/lattice/kernels_ifma.h"

#include <algorithm>
#include <bit>

#if defined(__x86_64__) && defined(__AVX512IFMA__)

#include <immintrin.h>

// Short loops over registers must disappear, or the registers become memory. Clang sees that by itself; under
// sanitizers g++ does not take the hint, and says so.
#if defined(__clang__) || defined(__SANITIZE_ADDRESS__)
#define BLINDFL_UNROLL
#else
#define BLINDFL_UNROLL _Pragma("GCC unroll 8")
#endif

namespace blindfl::he::lattice {

namespace {

using Lanes = __m512i;
constexpr std::size_t kLanes = 8;

inline Lanes broadcast(std::uint64_t x) {
  return _mm512_set1_epi64(static_cast<long long>(x));
}
inline Lanes load(const std::uint64_t* p) {
  return _mm512_loadu_si512(p);
}
inline void store(std::uint64_t* p, Lanes x) {
  _mm512_storeu_si512(p, x);
}
inline Lanes add(Lanes a, Lanes b) {
  return _mm512_add_epi64(a, b);
}
inline Lanes subtract(Lanes a, Lanes b) {
  return _mm512_sub_epi64(a, b);
}
inline Lanes low_product(Lanes sum, Lanes a, Lanes b) {
  return _mm512_madd52lo_epu64(sum, a, b);
}
inline Lanes high_product(Lanes sum, Lanes a, Lanes b) {
  return _mm512_madd52hi_epu64(sum, a, b);
}
inline Lanes low52(Lanes x) {
  return _mm512_and_si512(x, broadcast((std::uint64_t{1} << 52) - 1));
}
inline Lanes reduced_once(Lanes x, Lanes c) {
  return _mm512_min_epu64(x, subtract(x, c));
}

/// The constants of a modulus in every lane.
struct Constants {
  explicit Constants(const Modulus& modulus)
      : q(broadcast(modulus.value())),
        twice_q(broadcast(2 * modulus.value())),
        // Multiplying by 2^52 - q and keeping 52 bits is multiplying by -q.
        minus_q(broadcast((std::uint64_t{1} << 52) - modulus.value())),
        negated_inverse(broadcast(modulus.negated_inverse())) {}
  Lanes q;
  Lanes twice_q;
  Lanes minus_q;
  Lanes negated_inverse;
};

/// y * factor modulo q, in [0, 2q), for y < 2^52; quotient = floor(factor * 2^52 / q).
inline Lanes shoup(Lanes y, Lanes factor, Lanes quotient, const Constants& c) {
  const Lanes zero = _mm512_setzero_si512();
  const Lanes times = high_product(zero, y, quotient);
  return low52(low_product(low_product(zero, y, factor), times, c.minus_q));
}

/// (high * 2^52 + low) / 2^52 modulo q, in [0, q), for a number below q * 2^52; low may have more than 52 bits.
inline Lanes montgomery(Lanes low, Lanes high, const Constants& c) {
  const Lanes zero = _mm512_setzero_si512();
  high = add(high, _mm512_srli_epi64(low, 52));
  low = low52(low);
  const Lanes m = low_product(zero, low, c.negated_inverse);
  // low + lo(m * q) is 0 or 2^52: a carry exactly where low is not 0.
  const Lanes sum = high_product(high, m, c.q);
  const Lanes carried = _mm512_mask_add_epi64(sum, _mm512_test_epi64_mask(low, low), sum, broadcast(1));
  return reduced_once(carried, c.q);
}

/// Rows become columns.
inline void transpose(Lanes (&v)[kLanes]) {
  Lanes pairs[kLanes];
  for (std::size_t i = 0; i < 4; ++i) {
    pairs[2 * i] = _mm512_unpacklo_epi64(v[2 * i], v[2 * i + 1]);
    pairs[2 * i + 1] = _mm512_unpackhi_epi64(v[2 * i], v[2 * i + 1]);
  }
  const Lanes even = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
  const Lanes odd = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
  Lanes quads[kLanes];
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 2; ++j) {
      quads[4 * i + j] = _mm512_permutex2var_epi64(pairs[4 * i + j], even, pairs[4 * i + 2 + j]);
      quads[4 * i + 2 + j] = _mm512_permutex2var_epi64(pairs[4 * i + j], odd, pairs[4 * i + 2 + j]);
    }
  }
  for (std::size_t j = 0; j < 4; ++j) {
    v[j] = _mm512_shuffle_i64x2(quads[j], quads[4 + j], 0x44);
    v[4 + j] = _mm512_shuffle_i64x2(quads[j], quads[4 + j], 0xEE);
  }
}

inline void forward_butterfly(Lanes& x, Lanes& y, Lanes w, Lanes w_quotient, const Constants& c) {
  const Lanes a = reduced_once(x, c.twice_q);
  const Lanes b = shoup(y, w, w_quotient, c);
  x = add(a, b);
  y = subtract(add(a, c.twice_q), b);
}

inline void inverse_butterfly(Lanes& x, Lanes& y, Lanes w, Lanes w_quotient, const Constants& c) {
  const Lanes sum = add(x, y);
  const Lanes difference = subtract(add(x, c.twice_q), y);
  x = reduced_once(sum, c.twice_q);
  y = shoup(difference, w, w_quotient, c);
}

/// `Stages` stages at once, starting with `groups` groups of `length` values: what they share stays in registers.
template <int Stages>
void forward_pass(std::uint64_t* a, const Modulus& modulus, std::size_t groups, std::size_t length) {
  constexpr std::size_t kRows = std::size_t{1} << Stages;
  const std::size_t stride = length / kRows;
  const Constants c(modulus);
  const auto& roots = modulus.roots();
  for (std::size_t g = 0; g < groups; ++g) {
    for (std::size_t j = 0; j < stride; j += kLanes) {
      std::uint64_t* p = a + g * length + j;
      Lanes v[kRows];
      BLINDFL_UNROLL
      for (std::size_t r = 0; r < kRows; ++r) v[r] = load(p + r * stride);
      BLINDFL_UNROLL
      for (int s = 0; s < Stages; ++s) {
        const std::size_t half = kRows >> (s + 1);
        BLINDFL_UNROLL
        for (std::size_t h = 0; h < std::size_t{1} << s; ++h) {
          const std::size_t index = ((groups + g) << s) + h;
          const Lanes w = broadcast(roots.value[index]);
          const Lanes w_quotient = broadcast(roots.quotient52[index]);
          BLINDFL_UNROLL
          for (std::size_t r = 0; r < half; ++r) {
            forward_butterfly(v[2 * h * half + r], v[2 * h * half + r + half], w, w_quotient, c);
          }
        }
      }
      BLINDFL_UNROLL
      for (std::size_t r = 0; r < kRows; ++r) store(p + r * stride, v[r]);
    }
  }
}

template <int Stages>
void inverse_pass(std::uint64_t* a, const Modulus& modulus, std::size_t groups, std::size_t length) {
  constexpr std::size_t kRows = std::size_t{1} << Stages;
  const std::size_t stride = length / kRows;
  const Constants c(modulus);
  const auto& roots = modulus.inverse_roots();
  const auto& last = modulus.last_stage();
  for (std::size_t g = 0; g < groups; ++g) {
    for (std::size_t j = 0; j < stride; j += kLanes) {
      std::uint64_t* p = a + g * length + j;
      Lanes v[kRows];
      BLINDFL_UNROLL
      for (std::size_t r = 0; r < kRows; ++r) v[r] = load(p + r * stride);
      BLINDFL_UNROLL
      for (int s = Stages - 1; s >= 0; --s) {
        const std::size_t half = kRows >> (s + 1);
        if (s == 0 && groups == 1) {  // the very last stage also divides by N
          const Lanes by_n = broadcast(last.value[0]);
          const Lanes by_n_quotient = broadcast(last.quotient52[0]);
          const Lanes w = broadcast(last.value[1]);
          const Lanes w_quotient = broadcast(last.quotient52[1]);
          BLINDFL_UNROLL
          for (std::size_t r = 0; r < half; ++r) {
            const Lanes sum = add(v[r], v[r + half]);
            const Lanes difference = subtract(add(v[r], c.twice_q), v[r + half]);
            v[r] = reduced_once(shoup(sum, by_n, by_n_quotient, c), c.q);
            v[r + half] = reduced_once(shoup(difference, w, w_quotient, c), c.q);
          }
          break;
        }
        BLINDFL_UNROLL
        for (std::size_t h = 0; h < std::size_t{1} << s; ++h) {
          const std::size_t index = ((groups + g) << s) + h;
          const Lanes w = broadcast(roots.value[index]);
          const Lanes w_quotient = broadcast(roots.quotient52[index]);
          BLINDFL_UNROLL
          for (std::size_t r = 0; r < half; ++r) {
            inverse_butterfly(v[2 * h * half + r], v[2 * h * half + r + half], w, w_quotient, c);
          }
        }
      }
      BLINDFL_UNROLL
      for (std::size_t r = 0; r < kRows; ++r) store(p + r * stride, v[r]);
    }
  }
}

/// The three stages with butterflies shorter than a vector: 8 groups of 8 values are turned so that a group is a lane.
void forward_tail(std::uint64_t* a, const Modulus& modulus) {
  const Constants c(modulus);
  const std::uint64_t* factors = modulus.lane_roots().data();
  for (std::size_t block = 0; block < modulus.degree(); block += 64) {
    std::uint64_t* p = a + block;
    Lanes v[kLanes];
    for (std::size_t r = 0; r < kLanes; ++r) v[r] = load(p + kLanes * r);
    transpose(v);
    BLINDFL_UNROLL
    for (int s = 0; s < 3; ++s) {
      const std::size_t half = kLanes >> (s + 1);
      BLINDFL_UNROLL
      for (std::size_t h = 0; h < std::size_t{1} << s; ++h) {
        const Lanes w = load(factors);
        const Lanes w_quotient = load(factors + kLanes);
        factors += 2 * kLanes;
        BLINDFL_UNROLL
        for (std::size_t r = 0; r < half; ++r) {
          forward_butterfly(v[2 * h * half + r], v[2 * h * half + r + half], w, w_quotient, c);
        }
      }
    }
    transpose(v);
    for (std::size_t r = 0; r < kLanes; ++r) store(p + kLanes * r, reduced_once(reduced_once(v[r], c.twice_q), c.q));
  }
}

void inverse_tail(std::uint64_t* a, const Modulus& modulus) {
  const Constants c(modulus);
  const std::uint64_t* block_factors = modulus.inverse_lane_roots().data();
  for (std::size_t block = 0; block < modulus.degree(); block += 64) {
    std::uint64_t* p = a + block;
    Lanes v[kLanes];
    for (std::size_t r = 0; r < kLanes; ++r) v[r] = load(p + kLanes * r);
    transpose(v);
    BLINDFL_UNROLL
    for (int s = 2; s >= 0; --s) {
      const std::size_t half = kLanes >> (s + 1);
      BLINDFL_UNROLL
      for (std::size_t h = 0; h < std::size_t{1} << s; ++h) {
        const std::uint64_t* factors = block_factors + ((std::size_t{1} << s) - 1 + h) * 2 * kLanes;
        const Lanes w = load(factors);
        const Lanes w_quotient = load(factors + kLanes);
        BLINDFL_UNROLL
        for (std::size_t r = 0; r < half; ++r) {
          inverse_butterfly(v[2 * h * half + r], v[2 * h * half + r + half], w, w_quotient, c);
        }
      }
    }
    block_factors += 14 * kLanes;
    transpose(v);
    for (std::size_t r = 0; r < kLanes; ++r) store(p + kLanes * r, v[r]);
  }
}

/// Stages before the tail, as passes of three, and of two at the wide end where memory is far.
int wide_stages(const Modulus& modulus) {
  return std::countr_zero(modulus.degree()) - 3;
}

void forward(std::uint64_t* a, const Modulus& modulus) {
  std::size_t groups = 1;
  std::size_t length = modulus.degree();
  for (int left = wide_stages(modulus); left > 0;) {
    const int stages = left % 3 == 0 ? 3 : std::min(left, 2);
    if (stages == 3) forward_pass<3>(a, modulus, groups, length);
    if (stages == 2) forward_pass<2>(a, modulus, groups, length);
    if (stages == 1) forward_pass<1>(a, modulus, groups, length);
    groups <<= stages;
    length >>= stages;
    left -= stages;
  }
  forward_tail(a, modulus);
}

void inverse(std::uint64_t* a, const Modulus& modulus) {
  inverse_tail(a, modulus);
  std::size_t groups = modulus.degree() / 8;
  std::size_t length = 8;
  // The passes of the forward transform in the opposite order.
  const int all = wide_stages(modulus);
  for (int left = all; left > 0;) {
    const int stages = left >= 3 && (left - 3 == 0 || left - 3 >= 2 || (left - 3) % 3 == 0) ? 3 : std::min(left, 2);
    groups >>= stages;
    length <<= stages;
    if (stages == 3) inverse_pass<3>(a, modulus, groups, length);
    if (stages == 2) inverse_pass<2>(a, modulus, groups, length);
    if (stages == 1) inverse_pass<1>(a, modulus, groups, length);
    left -= stages;
  }
}

void multiply(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b, std::size_t n,
              const Modulus& modulus) {
  const Constants c(modulus);
  const Lanes zero = _mm512_setzero_si512();
  for (std::size_t i = 0; i < n; i += kLanes) {
    const Lanes x = load(a + i);
    const Lanes y = load(b + i);
    store(out + i, montgomery(low_product(zero, x, y), high_product(zero, x, y), c));
  }
}

void multiply_subtract(std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b, std::size_t n,
                       const Modulus& modulus) {
  const Constants c(modulus);
  const Lanes zero = _mm512_setzero_si512();
  for (std::size_t i = 0; i < n; i += kLanes) {
    const Lanes x = load(a + i);
    const Lanes y = load(b + i);
    const Lanes product = montgomery(low_product(zero, x, y), high_product(zero, x, y), c);
    store(out + i, reduced_once(subtract(add(load(out + i), c.q), product), c.q));
  }
}

/// 8 vectors at a time, so that the multipliers' latency is covered; `Repeat` tells whether they share their left
/// value.
template <bool Repeat, std::size_t Vectors>
void accumulate_block(std::uint64_t* out, const Terms& terms, std::size_t position, std::size_t begin, std::size_t end,
                      const Constants& c) {
  Lanes low[Vectors];
  Lanes high[Vectors];
  for (std::size_t r = 0; r < Vectors; ++r) low[r] = high[r] = _mm512_setzero_si512();
  const std::uint64_t* left = terms.left + (Repeat ? position / terms.repeat : position) + begin * terms.left_stride;
  const std::uint64_t* right = terms.right + position + begin * terms.right_stride;
  for (std::size_t t = begin; t < end; ++t, left += terms.left_stride, right += terms.right_stride) {
    const Lanes shared = broadcast(*left);
    BLINDFL_UNROLL
    for (std::size_t r = 0; r < Vectors; ++r) {
      const Lanes x = Repeat ? shared : load(left + kLanes * r);
      const Lanes y = load(right + kLanes * r);
      low[r] = low_product(low[r], x, y);
      high[r] = high_product(high[r], x, y);
    }
  }
  BLINDFL_UNROLL
  for (std::size_t r = 0; r < Vectors; ++r) {
    std::uint64_t* p = out + position + kLanes * r;
    store(p, reduced_once(add(load(p), montgomery(low[r], high[r], c)), c.q));
  }
}

void accumulate(std::uint64_t* out, const Terms& terms, std::size_t n, const Modulus& modulus) {
  const Constants c(modulus);
  // As in the portable kernels; the low halves then stay below 2^64 by far.
  const std::size_t most = std::size_t{1} << (52 - modulus.bits());
  const std::size_t wide = terms.repeat == 1 || terms.repeat % 64 == 0 ? n / 64 * 64 : 0;
  for (std::size_t begin = 0; begin < terms.count; begin += most) {
    const std::size_t end = std::min(terms.count, begin + most);
    for (std::size_t p = 0; p < wide; p += 64) {
      if (terms.repeat == 1) {
        accumulate_block<false, 8>(out, terms, p, begin, end, c);
      } else {
        accumulate_block<true, 8>(out, terms, p, begin, end, c);
      }
    }
    for (std::size_t p = wide; p < n; p += kLanes) {
      if (terms.repeat == 1) {
        accumulate_block<false, 1>(out, terms, p, begin, end, c);
      } else {
        accumulate_block<true, 1>(out, terms, p, begin, end, c);
      }
    }
  }
}

}  // namespace

const Kernels* ifma_kernels() {
  static constexpr Kernels kKernels{"ifma", forward, inverse, multiply, multiply_subtract, accumulate};
  static const bool supported = __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
                                __builtin_cpu_supports("avx512ifma") != 0;
  return supported ? &kKernels : nullptr;
}

}  // namespace blindfl::he::lattice

#else

namespace blindfl::he::lattice {

const Kernels* ifma_kernels() {
  return nullptr;
}

}  // namespace blindfl::he::lattice

#endif

#include "blindfl/he/paillier/ring_base.h"

#if defined(__x86_64__) && defined(__AVX512IFMA__)

#include "blindfl/he/paillier/ring_ifma_columns.h"
#include "blindfl/he/paillier/ring_loops.h"

namespace blindfl::he::paillier {

namespace {

using ifma::add;
using ifma::Vector;

/// 8 residues at a time, in limbs of 52 bits. R is at least 256 m, and digits are below 2 m: the digits of a product,
///
///   (a0 b0 + q m) / R < (4 m / R + 1) m   and   (a0 b1 + a1 b0 - q + q' m) / R < (8 m / R + 1) m,
///
/// are so again without a comparison. The second is not negative, being a whole number above -1.
template <std::size_t N, std::size_t B>
class IfmaDigits {
 public:
  static constexpr std::string_view kName = "ifma";
  static constexpr int kLimbBits = ifma::kLimbBits;
  static constexpr std::size_t kLimbs = N;
  static constexpr std::size_t kLanes = 8;
  static constexpr std::size_t kSelected = 4;

  struct Number {
    Vector limbs[2 * N];
  };

  IfmaDigits(const Limb* m, Limb negated_inverse, const Limb* squared_radix)
      : m_(m), negated_inverse_(negated_inverse & ifma::kLimbMask), squared_radix_(squared_radix) {}

  static void load(Number& to, const Limb* const* rows) { gather<2 * N>(to.limbs, rows); }

  static void store(Limb* const* rows, std::size_t count, const Number& x) {
    for (std::size_t i = 0; i < 2 * N; i += kLanes) {
      Vector v[kLanes];
      ifma::unrolled<kLanes>([&](auto k) { v[k] = i + k < 2 * N ? x.limbs[i + k] : ifma::zero(); });
      ifma::transpose(v);
      ifma::unrolled<kLanes>([&](auto k) {
        if (k < count) _mm512_storeu_si512(rows[k] + i, v[k]);
      });
    }
  }

  static void broadcast(Number& to, const Limb* row) {
    for (std::size_t i = 0; i < 2 * N; ++i) to.limbs[i] = ifma::broadcast(row[i]);
  }

  void multiply(Number& to, const Number& a, const Number& b) const {
    Vector sum[2 * N];
    Vector quotient[N];
    Vector low[N];
    Products::template multiply<false>(sum, a.limbs, b.limbs);
    reduce(sum, quotient);
    Products::carry(low, sum + N);

    for (std::size_t i = 0; i < N; ++i) {
      sum[i] = ifma::minus(ifma::zero(), quotient[i]);
      sum[N + i] = ifma::zero();
    }
    Products::template multiply<true>(sum, a.limbs, b.limbs + N);
    Products::template multiply<true>(sum, a.limbs + N, b.limbs);
    finish(to, low, sum, quotient);
  }

  void square(Number& to, const Number& a) const {
    Vector sum[2 * N];
    Vector quotient[N];
    Vector low[N];
    Products::square(sum, a.limbs);
    reduce(sum, quotient);
    Products::carry(low, sum + N);

    Products::template multiply<false>(sum, a.limbs, a.limbs + N);
    for (std::size_t i = 0; i < N; ++i) {
      sum[i] = ifma::minus(add(sum[i], sum[i]), quotient[i]);
      sum[N + i] = add(sum[N + i], sum[N + i]);
    }
    finish(to, low, sum, quotient);
  }

  void add_plaintext(Number& x, const Limb* const* values) const {
    Vector value[N];
    Vector radix[N];
    Vector sum[2 * N];
    Vector quotient[N];
    gather<N>(value, values);
    for (std::size_t i = 0; i < N; ++i) radix[i] = ifma::broadcast(squared_radix_[i]);
    Products::template multiply<false>(sum, value, radix);
    reduce(sum, quotient);
    Products::carry(value, sum + N);

    Products::template multiply<false>(sum, x.limbs, value);
    reduce(sum, quotient);
    for (std::size_t i = 0; i < N; ++i) sum[N + i] = add(sum[N + i], x.limbs[N + i]);
    // A little more than 3 m at most.
    Products::carry(x.limbs + N, sum + N);
    (void)subtract_once(x.limbs + N, 2);
  }

  void leave(Number& x) const {
    Vector sum[2 * N];
    Vector quotient[N];
    Vector low[N];
    for (std::size_t i = 0; i < N; ++i) {
      sum[i] = x.limbs[i];
      sum[N + i] = ifma::zero();
    }
    reduce(sum, quotient);
    Products::carry(low, sum + N);
    for (std::size_t i = 0; i < N; ++i) {
      sum[i] = ifma::minus(x.limbs[N + i], quotient[i]);
      sum[N + i] = ifma::zero();
    }
    reduce(sum, quotient);
    // Each digit is m at most: (2 m + (R - 1) m) / R, rounded down. What is taken from the first goes to the second.
    sum[N] = add(sum[N], subtract_once(low, 1));
    finish_digits(x, low, sum);
    (void)subtract_once(x.limbs + N, 1);
  }

  static void select(Number* to, const Number* table, std::size_t entries, const std::uint8_t* indices) {
    constexpr std::size_t kLimbsAtOnce = 4;
    static_assert(2 * N % kLimbsAtOnce == 0);
    Vector wanted[kSelected];
    ifma::unrolled<kSelected>([&](auto w) { wanted[w] = ifma::broadcast(indices[w]); });
    for (std::size_t i = 0; i < 2 * N; i += kLimbsAtOnce) {
      Vector found[kSelected][kLimbsAtOnce];
      ifma::unrolled<kSelected>(
          [&](auto w) { ifma::unrolled<kLimbsAtOnce>([&](auto t) { found[w][t] = ifma::zero(); }); });
      for (std::size_t e = 0; e < entries; ++e) {
        const Vector entry = ifma::broadcast(e);
        Vector limbs[kLimbsAtOnce];
        ifma::unrolled<kLimbsAtOnce>([&](auto t) { limbs[t] = table[e].limbs[i + t]; });
        ifma::unrolled<kSelected>([&](auto w) {
          const __mmask8 same = _mm512_cmpeq_epi64_mask(entry, wanted[w]);
          ifma::unrolled<kLimbsAtOnce>(
              [&](auto t) { found[w][t] = _mm512_mask_or_epi64(found[w][t], same, found[w][t], limbs[t]); });
        });
      }
      ifma::unrolled<kSelected>(
          [&](auto w) { ifma::unrolled<kLimbsAtOnce>([&](auto t) { to[w].limbs[i + t] = found[w][t]; }); });
    }
  }

 private:
  using Products = ifma::Columns<N, B>;

  /// The first `Limbs` limbs of 8 rows.
  template <std::size_t Limbs>
  static void gather(Vector* to, const Limb* const* rows) {
    constexpr std::size_t kWhole = Limbs / kLanes * kLanes;
    for (std::size_t i = 0; i < kWhole; i += kLanes) {
      Vector v[kLanes];
      ifma::unrolled<kLanes>([&](auto k) { v[k] = _mm512_loadu_si512(rows[k] + i); });
      ifma::transpose(v);
      ifma::unrolled<kLanes>([&](auto k) { to[i + k] = v[k]; });
    }
    if constexpr (constexpr std::size_t kRest = Limbs - kWhole; kRest > 0) {
      Vector v[kLanes];
      ifma::unrolled<kLanes>([&](auto k) { v[k] = _mm512_maskz_loadu_epi64((1U << kRest) - 1, rows[k] + kWhole); });
      ifma::transpose(v);
      ifma::unrolled<kRest>([&](auto k) { to[kWhole + k] = v[k]; });
    }
  }

  void reduce(Vector* sum, Vector* quotient) const { Products::reduce(sum, quotient, m_, negated_inverse_); }

  void finish(Number& to, const Vector* low, Vector* sum, Vector* quotient) const {
    reduce(sum, quotient);
    finish_digits(to, low, sum);
  }
  static void finish_digits(Number& to, const Vector* low, const Vector* sum) {
    for (std::size_t i = 0; i < N; ++i) to.limbs[i] = low[i];
    Products::carry(to.limbs + N, sum + N);
  }

  /// Takes `times` m from a digit, where it is not below that. Returns 1 where it was taken, 0 elsewhere.
  Vector subtract_once(Vector* digit, Limb times) const {
    Vector difference[N];
    Vector carried = ifma::zero();
    for (std::size_t i = 0; i < N; ++i) {
      const Vector x = add(ifma::minus(digit[i], ifma::broadcast(times * m_[i])), carried);
      difference[i] = ifma::low52(x);
      carried = ifma::carry_of(x);
    }
    const __mmask8 taken = _mm512_cmpeq_epi64_mask(carried, ifma::zero());
    for (std::size_t i = 0; i < N; ++i) digit[i] = _mm512_mask_blend_epi64(taken, digit[i], difference[i]);
    return _mm512_maskz_mov_epi64(taken, ifma::broadcast(1));
  }

  const Limb* m_;
  Limb negated_inverse_;
  const Limb* squared_radix_;
};

}  // namespace

bool ifma_is_supported() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512ifma") != 0;
}

std::unique_ptr<const Ring> make_ifma_ring(const BigInt& m) {
  // Tiles of 8 by 8 are the largest that fit into the registers; of those that divide a digit, these were the fastest.
  switch ((m.bits() + 63) / 64 * 64) {
    case 512:
      return std::make_unique<RingOf<IfmaDigits<10, 5>>>(m);
    case 1024:
      return std::make_unique<RingOf<IfmaDigits<20, 5>>>(m);
    case 1536:
      return std::make_unique<RingOf<IfmaDigits<30, 5>>>(m);
    case 2048:
      return std::make_unique<RingOf<IfmaDigits<40, 8>>>(m);
    case 3072:
      return std::make_unique<RingOf<IfmaDigits<60, 5>>>(m);
    default:
      return nullptr;
  }
}

}  // namespace blindfl::he::paillier

#else

namespace blindfl::he::paillier {

bool ifma_is_supported() {
  return false;
}

std::unique_ptr<const Ring> make_ifma_ring(const BigInt& /*m*/) {
  return nullptr;
}

}  // namespace blindfl::he::paillier

#endif

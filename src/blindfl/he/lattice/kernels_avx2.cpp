#include "blindfl/he/lattice/kernels_vector.h"

#if defined(__x86_64__) && defined(__AVX2__) && defined(__FMA__)

#include <immintrin.h>

#include "blindfl/he/lattice/kernel_loops.h"

namespace blindfl::he::lattice {

namespace {

/// 4 values at a time, as doubles: AVX2 has no wide integer product, but a fused multiply-add gives the two halves of
/// an exact product of 53-bit numbers. Lazy values are integers, of either sign, below 2^53:
///
/// A product y * w minus the nearest multiple of q is at most q/2 in magnitude, plus q for each unit by which the
/// quotient, computed with two roundings of 2^-53 each, is off: |y| * 2^-52 units. So a forward butterfly with
/// |x|, |y| <= B q gives at most B + 1/2 + B q / 2^52.
///   q < 2^48: that is B + 1/2 + B/16, and 15 stages from B = 1 end below 15 q < 2^52.
///   q < 2^50: that is B + 1/2 + B/4, and four stages from B = 1 end below 5.4. Before every fifth, x is settled: at
///   most
/// q/2 and a few units. That stage gives 1 + B/4, three more end below 3.9 + 0.49 B, and that never exceeds 7.6: below
/// 2^53.
/// Backwards, sums double: two stages, from residues or from settled values, end below 4q < 2^52.
///
/// A product a * b of a residue and a number below 2^k, three roundings, is at most (1/2 + 3 * 2^(k - 53)) q: 7/8 q for
/// k = 50, and a sum of 2^(52 - k) of them is below 2^52; 2q for k = 52.
struct Avx2Lanes {
  static constexpr std::size_t kLanes = 4;
  static constexpr int kStages = 2;
  static constexpr std::size_t kVectors = 4;
  static constexpr int kSumRoom = 0;
  static constexpr bool kGrows = true;
  using Part = std::uint64_t __attribute__((vector_size(32)));

  using Value = __m256d;
  struct Constants {
    explicit Constants(const Modulus& modulus)
        : q(_mm256_set1_pd(static_cast<double>(modulus.value()))),
          inverse_q(_mm256_set1_pd(1.0 / static_cast<double>(modulus.value()))),
          by_radix(root(modulus.one_over_radix(), 0)) {}
    Value q;
    Value inverse_q;
    struct Root {
      Value value;
      Value quotient;  // divided by q, rounded
    } by_radix;
  };
  using Root = decltype(Constants::by_radix);
  static Root root(const Modulus::Factors& factors, std::size_t index) {
    return {_mm256_set1_pd(factors.real[index]), _mm256_set1_pd(factors.real_quotient[index])};
  }
  static const double* lane_factors(const Modulus::LaneFactors& factors) { return factors.real.data(); }
  static Root lane_root(const double* p) { return {_mm256_loadu_pd(p), _mm256_loadu_pd(p + kLanes)}; }

  /// 2^52 as a double: its lowest bits count units.
  static Value magic() { return _mm256_set1_pd(4503599627370496.0); }
  static Value to_real(__m256i x) {
    return _mm256_sub_pd(_mm256_castsi256_pd(_mm256_or_si256(x, _mm256_castpd_si256(magic()))), magic());
  }
  static Value broadcast(std::uint64_t x) { return _mm256_set1_pd(static_cast<double>(x)); }
  static Value load(const std::uint64_t* p) { return to_real(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))); }
  static void store(std::uint64_t* p, Value x) {
    const __m256i bits = _mm256_castpd_si256(_mm256_add_pd(x, magic()));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_xor_si256(bits, _mm256_castpd_si256(magic())));
  }
  static Value load_lazy(const std::uint64_t* p) { return _mm256_loadu_pd(reinterpret_cast<const double*>(p)); }
  static void store_lazy(std::uint64_t* p, Value x) { _mm256_storeu_pd(reinterpret_cast<double*>(p), x); }

  static Value rounded(Value x) { return _mm256_round_pd(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  /// a * b - times * q, exactly: the product's high half minus the multiple is a small integer, and so is the low half.
  static Value product_minus(Value a, Value b, Value times, const Constants& c) {
    const Value high = _mm256_mul_pd(a, b);
    const Value low = _mm256_fmsub_pd(a, b, high);
    return _mm256_add_pd(_mm256_fnmadd_pd(times, c.q, high), low);
  }
  static Value times_root(Value y, Root w, const Constants& c) {
    return product_minus(y, w.value, rounded(_mm256_mul_pd(y, w.quotient)), c);
  }
  static void forward_butterfly(Value& x, Value& y, Root w, const Constants& c) {
    const Value b = times_root(y, w, c);
    y = _mm256_sub_pd(x, b);
    x = _mm256_add_pd(x, b);
  }
  // Sums double at each stage; `settled` brings them back before the next pass.
  static void inverse_butterfly(Value& x, Value& y, Root w, const Constants& c) {
    const Value difference = _mm256_sub_pd(x, y);
    x = _mm256_add_pd(x, y);
    y = times_root(difference, w, c);
  }
  static void last_butterfly(Value& x, Value& y, Root by_n, Root w, const Constants& c) {
    const Value difference = _mm256_sub_pd(x, y);
    x = times_root(_mm256_add_pd(x, y), by_n, c);
    y = times_root(difference, w, c);
  }
  static bool grows(const Modulus& modulus) { return modulus.bits() > 48; }
  static Value settled(Value x, const Constants& c) {
    return _mm256_fnmadd_pd(rounded(_mm256_mul_pd(x, c.inverse_q)), c.q, x);
  }
  static Value finished(Value x, const Constants& c) {
    const Value small = settled(x, c);
    const Value negative = _mm256_cmp_pd(small, _mm256_setzero_pd(), _CMP_LT_OQ);
    return _mm256_add_pd(small, _mm256_and_pd(negative, c.q));
  }

  static void transpose(Value (&v)[kLanes]) {
    const Value a = _mm256_unpacklo_pd(v[0], v[1]);
    const Value b = _mm256_unpackhi_pd(v[0], v[1]);
    const Value d = _mm256_unpacklo_pd(v[2], v[3]);
    const Value e = _mm256_unpackhi_pd(v[2], v[3]);
    v[0] = _mm256_permute2f128_pd(a, d, 0x20);
    v[1] = _mm256_permute2f128_pd(b, e, 0x20);
    v[2] = _mm256_permute2f128_pd(a, d, 0x31);
    v[3] = _mm256_permute2f128_pd(b, e, 0x31);
  }

  /// a * b modulo q, of either sign.
  static Value product(Value a, Value b, const Constants& c) {
    return product_minus(a, b, rounded(_mm256_mul_pd(_mm256_mul_pd(a, b), c.inverse_q)), c);
  }
  static Value multiply(Value a, Value b, const Constants& c) {
    return finished(times_root(product(a, b, c), c.by_radix, c), c);
  }
  static Value add(Value a, Value b) { return _mm256_add_pd(a, b); }
  static Value subtract(Value a, Value b, const Constants& c) { return finished(_mm256_sub_pd(a, b), c); }

  struct Sum {
    Value sum = _mm256_setzero_pd();
    void add(Value a, Value b, const Constants& c) { sum = _mm256_add_pd(sum, product(a, b, c)); }
    [[nodiscard]] Value added_to(Value out, const Constants& c) const {
      return finished(_mm256_add_pd(out, times_root(sum, c.by_radix, c)), c);
    }
  };
};

}  // namespace

const Kernels* avx2_kernels() {
  static constexpr Kernels kKernels = Loops<Avx2Lanes>::table("avx2");
  static const bool supported = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  return supported ? &kKernels : nullptr;
}

}  // namespace blindfl::he::lattice

#else

namespace blindfl::he::lattice {

const Kernels* avx2_kernels() {
  return nullptr;
}

}  // namespace blindfl::he::lattice

#endif

#include "blindfl/he/lattice/kernels_vector.h"

#if defined(__x86_64__) && defined(__AVX2__) && defined(__FMA__)

#include <immintrin.h>

#include <bit>

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
/// Backwards, sums double, and products stay below 3/2 q: s stages, from residues or from settled values, end below
/// 2^s q, which may be 2^52.
///
/// A product a * b of a residue and a number below 2^k, three roundings, is at most (1/2 + 3 * 2^(k - 53)) q: 7/8 q for
/// k = 50, and a sum of 2^(52 - k) of them is below 2^52; 2q for k = 52.
struct Avx2Lanes {
  static constexpr std::size_t kLanes = 4;
  static constexpr int kStages = 2;
  static constexpr std::size_t kVectors = 4;
  static constexpr int kSumRoom = 0;
  static constexpr std::size_t kLong = 12;
  static constexpr bool kGrows = true;
  using Part = std::uint64_t __attribute__((vector_size(32)));

  using Value = __m256d;
  struct Constants {
    explicit Constants(const Modulus& modulus)
        : q(_mm256_set1_pd(static_cast<double>(modulus.value()))),
          inverse_q(_mm256_set1_pd(1.0 / static_cast<double>(modulus.value()))),
          by_radix(root(modulus.one_over_radix(), 0)),
          by_quarter(root(modulus.one_over_radix(), 1)) {}
    Value q;
    Value inverse_q;
    struct Root {
      Value value;
      Value quotient;  // divided by q, rounded
    } by_radix, by_quarter;
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
  static Value load_shared(const std::uint64_t* p) { return to_real(_mm256_set1_epi64x(static_cast<long long>(*p))); }
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
  static int inverse_stages(const Modulus& modulus) { return 52 - modulus.bits(); }
  static Value settled(Value x, const Constants& c) {
    return _mm256_fnmadd_pd(rounded(_mm256_mul_pd(x, c.inverse_q)), c.q, x);
  }
  static Value finished(Value x, const Constants& c) {
    const Value small = settled(x, c);
    const Value negative = _mm256_cmp_pd(small, _mm256_setzero_pd(), _CMP_LT_OQ);
    return _mm256_add_pd(small, _mm256_and_pd(negative, c.q));
  }
  static Value finished_last(Value x, const Constants& c) { return finished(x, c); }

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
    static Value left(Value a) { return a; }
    static Value right(const std::uint64_t* p) { return load(p); }
    void add(Value a, Value b, const Constants& c) { sum = _mm256_add_pd(sum, product(a, b, c)); }
    [[nodiscard]] Value added_to(Value out, std::size_t /*terms*/, const Constants& c) const {
      return finished(_mm256_add_pd(out, times_root(sum, c.by_radix, c)), c);
    }
  };

  /// A sum of many products, without a reduction of each: of a product a * b < 2^100 one fused multiply-add, onto
  /// 2^102, gives the multiple of 2^50 next to it, and another what is left, at most 2^50 (half of it, rounding to the
  /// nearest), of either sign; onto 1.5 * 2^52 that leaves units as its lowest bits. Both are added up as the integers
  /// that their bits are: 2^12 products give less than 2^62 each.
  ///
  /// b comes as 2^52 + b, as it is loaded: 2^102 - a * 2^52, a multiple of 2^50 below 2^102 in magnitude, makes up for
  /// it, and every difference of such multiples stays below 2^103: exact.
  struct LongSum {
    static_assert(Modulus::kMaxBits <= 50);
    static constexpr std::size_t kMostTerms = 4096;
    static constexpr double kUpper = 0x1p102;
    static constexpr double kLower = 0x1.8p52;

    struct Left {
      Value a;
      Value upper;  // 2^102 - a * 2^52
      Value lower;  // and 1.5 * 2^52
    };
    static Left left(Value a) {
      const Value upper = _mm256_fnmadd_pd(a, magic(), _mm256_set1_pd(kUpper));
      return {a, upper, _mm256_add_pd(upper, _mm256_set1_pd(kLower))};
    }
    static Value right(const std::uint64_t* p) {
      const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
      return _mm256_castsi256_pd(_mm256_or_si256(b, _mm256_castpd_si256(magic())));
    }

    __m256i high = _mm256_setzero_si256();
    __m256i low = _mm256_setzero_si256();
    /// Register by register: as a whole, g++ 12 copies halves of them.
    void take(const LongSum& other) {
      high = other.high;
      low = other.low;
    }
    void add(const Left& a, Value b, const Constants& /*c*/) {
      const Value h = _mm256_fmadd_pd(a.a, b, a.upper);
      const Value l = _mm256_fmadd_pd(a.a, b, _mm256_sub_pd(a.lower, h));
      high = _mm256_add_epi64(high, _mm256_castpd_si256(h));
      low = _mm256_add_epi64(low, _mm256_castpd_si256(l));
    }

    /// `terms` times the bits of a number.
    static __m256i bits_of(double x, std::size_t terms) {
      const std::uint64_t bits = std::bit_cast<std::uint64_t>(x) * terms;
      return _mm256_set1_epi64x(static_cast<long long>(bits));
    }
    /// A number below 2^63 modulo q: at most q/2, 2^12 and 2^32 in magnitude.
    static Value reduced(__m256i x, const Constants& c) {
      // As bits of a double, the upper half counts 2^32 onto 2^84, the lower one units onto 2^52.
      const Value two84 = _mm256_set1_pd(0x1p84);
      const __m256i upper = _mm256_or_si256(_mm256_srli_epi64(x, 32), _mm256_castpd_si256(two84));
      const __m256i lower = _mm256_blend_epi32(x, _mm256_castpd_si256(magic()), 0xAA);
      return _mm256_add_pd(settled(_mm256_sub_pd(_mm256_castsi256_pd(upper), two84), c),
                           _mm256_sub_pd(_mm256_castsi256_pd(lower), magic()));
    }
    [[nodiscard]] Value added_to(Value out, std::size_t terms, const Constants& c) const {
      // The lower sum is of either sign: 2^62 more, which is 2^10 more of the result.
      const __m256i offset = _mm256_set1_epi64x(1LL << 62);
      const __m256i l = _mm256_add_epi64(_mm256_sub_epi64(low, bits_of(kLower, terms)), offset);
      const Value h = reduced(_mm256_sub_epi64(high, bits_of(kUpper, terms)), c);
      const Value sum = _mm256_add_pd(times_root(h, c.by_quarter, c), times_root(reduced(l, c), c.by_radix, c));
      return finished(_mm256_add_pd(_mm256_sub_pd(out, _mm256_set1_pd(0x1p10)), sum), c);
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

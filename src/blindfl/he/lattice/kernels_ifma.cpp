#include "blindfl/he/lattice/kernels_vector.h"

#if defined(__x86_64__) && defined(__AVX512IFMA__)

#include <immintrin.h>

#include "blindfl/he/lattice/kernel_loops.h"

namespace blindfl::he::lattice {

namespace {

/// 8 values at a time, multiplied 52 bits by 52. Lazy values stay below 4q < 2^52.
struct IfmaLanes {
  static constexpr std::size_t kLanes = 8;
  static constexpr int kStages = 3;
  static constexpr std::size_t kVectors = 8;
  static constexpr int kSumRoom = 4;
  static constexpr bool kGrows = false;
  using Part = std::uint64_t __attribute__((vector_size(64)));

  using Value = __m512i;
  struct Constants {
    explicit Constants(const Modulus& modulus)
        : q(broadcast(modulus.value())),
          twice_q(broadcast(2 * modulus.value())),
          // Multiplying by 2^52 - q and keeping 52 bits is multiplying by -q.
          minus_q(broadcast((std::uint64_t{1} << 52) - modulus.value())),
          negated_inverse(broadcast(modulus.negated_inverse())) {}
    Value q;
    Value twice_q;
    Value minus_q;
    Value negated_inverse;
  };
  struct Root {
    Value value;
    Value quotient;  // of 2^52
  };
  static Root root(const Modulus::Factors& factors, std::size_t index) {
    return {broadcast(factors.value[index]), broadcast(factors.quotient52[index])};
  }
  static const std::uint64_t* lane_factors(const Modulus::LaneFactors& factors) { return factors.whole.data(); }
  static Root lane_root(const std::uint64_t* p) { return {load(p), load(p + kLanes)}; }

  static Value broadcast(std::uint64_t x) { return _mm512_set1_epi64(static_cast<long long>(x)); }
  static Value load(const std::uint64_t* p) { return _mm512_loadu_si512(p); }
  static Value load_shared(const std::uint64_t* p) { return broadcast(*p); }
  static void store(std::uint64_t* p, Value x) { _mm512_storeu_si512(p, x); }
  static Value load_lazy(const std::uint64_t* p) { return load(p); }
  static void store_lazy(std::uint64_t* p, Value x) { store(p, x); }

  static Value add(Value a, Value b) { return _mm512_add_epi64(a, b); }
  static Value minus(Value a, Value b) { return _mm512_sub_epi64(a, b); }
  static Value low_product(Value sum, Value a, Value b) { return _mm512_madd52lo_epu64(sum, a, b); }
  static Value high_product(Value sum, Value a, Value b) { return _mm512_madd52hi_epu64(sum, a, b); }
  static Value low52(Value x) { return _mm512_and_si512(x, broadcast((std::uint64_t{1} << 52) - 1)); }
  static Value reduced_once(Value x, Value c) { return _mm512_min_epu64(x, minus(x, c)); }

  /// y * w modulo q, in [0, 2q), for y < 2^52.
  static Value shoup(Value y, Root w, const Constants& c) {
    const Value zero = _mm512_setzero_si512();
    const Value times = high_product(zero, y, w.quotient);
    return low52(low_product(low_product(zero, y, w.value), times, c.minus_q));
  }
  static void forward_butterfly(Value& x, Value& y, Root w, const Constants& c) {
    const Value a = reduced_once(x, c.twice_q);
    const Value b = shoup(y, w, c);
    x = add(a, b);
    y = minus(add(a, c.twice_q), b);
  }
  static void inverse_butterfly(Value& x, Value& y, Root w, const Constants& c) {
    const Value sum = add(x, y);
    y = shoup(minus(add(x, c.twice_q), y), w, c);
    x = reduced_once(sum, c.twice_q);
  }
  static void last_butterfly(Value& x, Value& y, Root by_n, Root w, const Constants& c) {
    const Value sum = add(x, y);
    y = shoup(minus(add(x, c.twice_q), y), w, c);
    x = shoup(sum, by_n, c);
  }
  static bool grows(const Modulus& /*modulus*/) { return false; }
  static Value settled(Value x, const Constants& /*c*/) { return x; }
  static Value finished(Value x, const Constants& c) { return reduced_once(reduced_once(x, c.twice_q), c.q); }
  static Value finished_last(Value x, const Constants& c) { return reduced_once(x, c.q); }

  static void transpose(Value (&v)[kLanes]) {
    Value pairs[kLanes];
    BLINDFL_UNROLL
    for (std::size_t i = 0; i < 4; ++i) {
      pairs[2 * i] = _mm512_unpacklo_epi64(v[2 * i], v[2 * i + 1]);
      pairs[2 * i + 1] = _mm512_unpackhi_epi64(v[2 * i], v[2 * i + 1]);
    }
    const Value even = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
    const Value odd = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
    Value quads[kLanes];
    BLINDFL_UNROLL
    for (std::size_t i = 0; i < 2; ++i) {
      BLINDFL_UNROLL
      for (std::size_t j = 0; j < 2; ++j) {
        quads[4 * i + j] = _mm512_permutex2var_epi64(pairs[4 * i + j], even, pairs[4 * i + 2 + j]);
        quads[4 * i + 2 + j] = _mm512_permutex2var_epi64(pairs[4 * i + j], odd, pairs[4 * i + 2 + j]);
      }
    }
    BLINDFL_UNROLL
    for (std::size_t j = 0; j < 4; ++j) {
      v[j] = _mm512_shuffle_i64x2(quads[j], quads[4 + j], 0x44);
      v[4 + j] = _mm512_shuffle_i64x2(quads[j], quads[4 + j], 0xEE);
    }
  }

  /// (high * 2^52 + low) / 2^52 modulo q, less than q above high; low may have more than 52 bits.
  static Value montgomery_lazy(Value low, Value high, const Constants& c) {
    const Value zero = _mm512_setzero_si512();
    high = add(high, _mm512_srli_epi64(low, 52));
    low = low52(low);
    const Value m = low_product(zero, low, c.negated_inverse);
    // low + lo(m * q) is 0 or 2^52: a carry exactly where low is not 0.
    const Value sum = high_product(high, m, c.q);
    return _mm512_mask_add_epi64(sum, _mm512_test_epi64_mask(low, low), sum, broadcast(1));
  }
  /// The same in [0, q), for a number below q * 2^52.
  static Value montgomery(Value low, Value high, const Constants& c) {
    return reduced_once(montgomery_lazy(low, high, c), c.q);
  }
  static Value multiply(Value a, Value b, const Constants& c) {
    const Value zero = _mm512_setzero_si512();
    return montgomery(low_product(zero, a, b), high_product(zero, a, b), c);
  }
  static Value subtract(Value a, Value b, const Constants& c) { return reduced_once(minus(add(a, c.q), b), c.q); }

  struct Sum {
    Value low = _mm512_setzero_si512();
    Value high = _mm512_setzero_si512();
    static Value left(Value a) { return a; }
    static Value right(const std::uint64_t* p) { return load(p); }
    void add(Value a, Value b, const Constants& /*c*/) {
      low = low_product(low, a, b);
      high = high_product(high, a, b);
    }
    [[nodiscard]] Value added_to(Value out, std::size_t /*terms*/, const Constants& c) const {
      // Below 17 q: of a sum below 16 q * 2^52, and out.
      Value sum = IfmaLanes::add(out, montgomery_lazy(low, high, c));
      BLINDFL_UNROLL
      for (unsigned int k = kSumRoom + 1; k-- > 0;) sum = reduced_once(sum, _mm512_slli_epi64(c.q, k));
      return sum;
    }
  };
  using LongSum = Sum;

  // Numbers of 192 places in limbs of 52 bits, the last of 36 and what may run over.
  static constexpr std::size_t kLimbs = 4;
  static constexpr unsigned int kLimbBits = 52;

  /// The sums of eight times four words, less 2^65: lower and upper halves.
  static void noise_of_eight(const std::uint64_t* words, Value& low, Value& high) {
    const Value first = load(words);
    const Value second = load(words + 8);
    const Value third = load(words + 16);
    const Value fourth = load(words + 24);
    // Of values 0 to 3, and of 4 to 7: words 0 and 2, and words 1 and 3.
    const Value even[] = {_mm512_unpacklo_epi64(first, second), _mm512_unpacklo_epi64(third, fourth)};
    const Value odd[] = {_mm512_unpackhi_epi64(first, second), _mm512_unpackhi_epi64(third, fourth)};
    const Value lower = _mm512_setr_epi64(0, 4, 1, 5, 8, 12, 9, 13);
    const Value upper = _mm512_setr_epi64(2, 6, 3, 7, 10, 14, 11, 15);
    low = _mm512_permutex2var_epi64(even[0], lower, even[1]);
    high = _mm512_set1_epi64(-2);
    const auto add_words = [&](Value more) {
      low = add(low, more);
      high = _mm512_mask_add_epi64(high, _mm512_cmplt_epu64_mask(low, more), high, broadcast(1));
    };
    add_words(_mm512_permutex2var_epi64(odd[0], lower, odd[1]));
    add_words(_mm512_permutex2var_epi64(even[0], upper, even[1]));
    add_words(_mm512_permutex2var_epi64(odd[0], upper, odd[1]));
  }

  static Value left_by(Value x, unsigned int bits) {
    return _mm512_sll_epi64(x, _mm_cvtsi32_si128(static_cast<int>(bits)));
  }
  static Value right_by(Value x, unsigned int bits) {
    return _mm512_srl_epi64(x, _mm_cvtsi32_si128(static_cast<int>(bits)));
  }

  static void add_noise(Value (&limbs)[kLimbs], const std::uint64_t* words, unsigned int place) {
    Value low;
    Value high;
    noise_of_eight(words, low, high);
    const std::size_t limb = place / kLimbBits;
    const unsigned int up = place % kLimbBits;
    limbs[limb] = add(limbs[limb], low52(left_by(low, up)));
    if (limb + 1 < kLimbs) limbs[limb + 1] = add(limbs[limb + 1], low52(right_by(low, kLimbBits - up)));
    if (limb + 2 < kLimbs) limbs[limb + 2] = add(limbs[limb + 2], right_by(low, 2 * kLimbBits - up));
    // The upper half is from -2 to 1.
    const std::size_t last = (place + 64) / kLimbBits;
    if (last < kLimbs) limbs[last] = add(limbs[last], left_by(high, (place + 64) % kLimbBits));
  }

  static void eight_shares(UInt128* out, const ShareSum& sum, std::size_t at) {
    Value limbs[kLimbs];
    for (auto& limb : limbs) limb = _mm512_setzero_si512();
    for (std::size_t l = 0; l < sum.primes; ++l) {
      const ShareSum::Top& top = sum.tops[l];
      const Value numerator = load(sum.numerators[l] + at);
      const Value factors[kLimbs] = {low52(broadcast(top.low)), low52(broadcast(top.low >> 52 | top.middle << 12)),
                                     low52(broadcast(top.middle >> 40 | top.high << 24)), broadcast(top.high >> 28)};
      BLINDFL_UNROLL
      for (std::size_t i = 0; i < kLimbs; ++i) {
        limbs[i] = low_product(limbs[i], numerator, factors[i]);
        if (i + 1 < kLimbs) limbs[i + 1] = high_product(limbs[i + 1], numerator, factors[i]);
      }
    }
    const auto half = static_cast<unsigned int>(191 - sum.ring_bits);
    limbs[half / kLimbBits] = add(limbs[half / kLimbBits], broadcast(std::uint64_t{1} << half % kLimbBits));
    if (sum.noise != nullptr) {
      add_noise(limbs, sum.noise + ShareSum::kNoiseWords * at, static_cast<unsigned int>(192 - sum.noise_places));
    }
    BLINDFL_UNROLL
    for (std::size_t i = 0; i + 1 < kLimbs; ++i) {
      limbs[i + 1] = add(limbs[i + 1], _mm512_srai_epi64(limbs[i], kLimbBits));
      limbs[i] = low52(limbs[i]);
    }
    // The upper two of three words of 64 bits, shifted down.
    const Value middle = _mm512_or_si512(_mm512_srli_epi64(limbs[1], 12), _mm512_slli_epi64(limbs[2], 40));
    const Value high = _mm512_or_si512(_mm512_srli_epi64(limbs[2], 24), _mm512_slli_epi64(limbs[3], 28));
    const auto down = static_cast<unsigned int>(128 - sum.ring_bits);
    const bool narrow = down >= 64;
    const Value low =
        narrow ? right_by(high, down - 64) : _mm512_or_si512(right_by(middle, down), left_by(high, 64 - down));
    const Value above = narrow ? _mm512_setzero_si512() : right_by(high, down);
    _mm512_storeu_si512(out, _mm512_permutex2var_epi64(low, _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), above));
    _mm512_storeu_si512(out + 4, _mm512_permutex2var_epi64(low, _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15), above));
  }
};

}  // namespace

const Kernels* ifma_kernels() {
  static constexpr Kernels kKernels = Loops<IfmaLanes>::table("ifma");
  static const bool supported = __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
                                __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
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

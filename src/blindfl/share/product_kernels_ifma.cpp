#include "blindfl/share/product_kernels.h"

#if defined(__x86_64__) && defined(__AVX512F__) && defined(__AVX512IFMA__)

#include <immintrin.h>

#include "blindfl/share/product_loops.h"

namespace blindfl {

namespace {

/// 8 integers at a time: the lower or upper 52 bits of products of 52-bit digits, added in words of 64 bits.
struct IfmaLanes {
  static constexpr std::size_t kRows = 8;
  static constexpr std::size_t kLanes = 8;
  static constexpr ProductKernels::Worth kWorth = {4, 8, 2, 2048, DigitPlan::kMostPairs};
  static constexpr bool kOffsetRemains = true;
  using Sum = __m512i;

  static DigitPlan plan(std::uint64_t bound, int ring_bits, std::size_t /*inner*/) {
    return unsigned_digits(bound, ring_bits);
  }

  static Sum zero() { return _mm512_setzero_si512(); }
  static Sum load(const std::uint64_t* p) { return _mm512_loadu_si512(p); }
  static Sum broadcast(const std::uint64_t* p) { return _mm512_set1_epi64(static_cast<long long>(*p)); }
  static Sum words(std::uint64_t x) { return _mm512_set1_epi64(static_cast<long long>(x)); }
  template <bool kHigh>
  static void add(Sum& sum, Sum a, Sum b) {
    sum = kHigh ? _mm512_madd52hi_epu64(sum, a, b) : _mm512_madd52lo_epu64(sum, a, b);
  }

  static void cut_left(const DigitPlan& plan, const std::int64_t* x, std::size_t count, std::uint64_t* out,
                       std::size_t stride, std::size_t digit_stride) {
    const std::uint64_t low = (std::uint64_t{1} << plan.left_bits) - 1;
    for (std::size_t d = 0; d < plan.left_digits; ++d) {
      std::uint64_t* to = out + d * digit_stride;
      const int shift = plan.left_bits * static_cast<int>(d);
      if (stride == 1) {  // apart, as this is where vectors can be used
        for (std::size_t i = 0; i < count; ++i) {
          to[i] = ((static_cast<std::uint64_t>(x[i]) + plan.left_offset) >> shift) & low;
        }
      } else {
        for (std::size_t i = 0; i < count; ++i) {
          to[i * stride] = ((static_cast<std::uint64_t>(x[i]) + plan.left_offset) >> shift) & low;
        }
      }
    }
  }

  // A shift by more than 63 bits, or by less than none, leaves nothing.
  static Sum up(Sum x, int bits) { return _mm512_sll_epi64(x, _mm_cvtsi32_si128(bits)); }
  static Sum down(Sum x, int bits) { return _mm512_srl_epi64(x, _mm_cvtsi32_si128(bits)); }

  static void cut_right(const DigitPlan& plan, const UInt128* m, std::size_t width, std::uint64_t* out,
                        std::size_t digit_stride) {
    const Sum evens = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
    const Sum odds = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
    const Sum mask = words((std::uint64_t{1} << plan.right_bits) - 1);
    for (std::size_t i = 0; i < width; i += kLanes) {
      const Sum first = _mm512_loadu_si512(m + i);
      const Sum second = _mm512_loadu_si512(m + i + kLanes / 2);
      const Sum low = _mm512_permutex2var_epi64(first, evens, second);
      const Sum high = _mm512_permutex2var_epi64(first, odds, second);
      for (std::size_t d = 0; d < plan.right_digits; ++d) {
        const int shift = plan.right_bits * static_cast<int>(d);
        const Sum bits = shift < 64 ? _mm512_or_si512(down(low, shift), up(high, 64 - shift)) : down(high, shift - 64);
        _mm512_storeu_si512(out + d * digit_stride + i, _mm512_and_si512(bits, mask));
      }
    }
  }

  // Four numbers of 128 bits are a vector: lower and upper words in turn.
  static void add_shifted(UInt128* totals, Sum twice, Sum ups, Sum downs) {
    const Sum shifted = _mm512_or_si512(_mm512_sllv_epi64(twice, ups), _mm512_srlv_epi64(twice, downs));
    const Sum sum = _mm512_add_epi64(_mm512_loadu_si512(totals), shifted);
    const auto carries = static_cast<__mmask8>((_mm512_cmplt_epu64_mask(sum, shifted) & 0x55) << 1);
    _mm512_storeu_si512(totals, _mm512_mask_add_epi64(sum, carries, sum, words(1)));
  }
  static void carry_over(Sum sum, int shift, UInt128* totals) {
    // The upper word takes what the shift moves out of the lower one, or all of it.
    const long long low_up = shift;
    const long long high_up = shift < 64 ? 64 : shift - 64;
    const long long high_down = shift < 64 ? 64 - shift : 64;
    const Sum ups = _mm512_setr_epi64(low_up, high_up, low_up, high_up, low_up, high_up, low_up, high_up);
    const Sum downs = _mm512_setr_epi64(64, high_down, 64, high_down, 64, high_down, 64, high_down);
    const Sum first = _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3), sum);
    const Sum second = _mm512_permutexvar_epi64(_mm512_setr_epi64(4, 4, 5, 5, 6, 6, 7, 7), sum);
    add_shifted(totals, first, ups, downs);
    add_shifted(totals + kLanes / 2, second, ups, downs);
  }
};

}  // namespace

const ProductKernels* ifma_product_kernels() {
  static constexpr ProductKernels kKernels = ProductLoops<IfmaLanes>::table("ifma");
  static const bool supported = __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
                                __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
                                __builtin_cpu_supports("avx512ifma") != 0;
  return supported ? &kKernels : nullptr;
}

}  // namespace blindfl

#else

namespace blindfl {

const ProductKernels* ifma_product_kernels() {
  return nullptr;
}

}  // namespace blindfl

#endif

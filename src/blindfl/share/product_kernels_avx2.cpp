#include "blindfl/share/product_kernels.h"

#if defined(__x86_64__) && defined(__AVX2__) && defined(__FMA__)

#include <immintrin.h>

#include "blindfl/share/product_loops.h"

namespace blindfl {

namespace {

struct Avx2Vector {
  static constexpr std::size_t kRows = 6;
  static constexpr std::size_t kLanes = 4;
  static constexpr ProductKernels::Worth kWorth = {8, 8, 2, 8192, DigitPlan::kMostPairs};
  using Sum = __m256d;
  static Sum zero() { return _mm256_setzero_pd(); }
  static Sum load(const std::uint64_t* p) { return _mm256_loadu_pd(reinterpret_cast<const double*>(p)); }
  static Sum broadcast(const std::uint64_t* p) {
    return _mm256_castsi256_pd(_mm256_set1_epi64x(static_cast<long long>(*p)));
  }
  template <bool kHigh>
  static void add(Sum& sum, Sum a, Sum b) {
    sum = _mm256_fmadd_pd(a, b, sum);
  }
  static void store(double* p, Sum sum) { _mm256_storeu_pd(p, sum); }
};

}  // namespace

const ProductKernels* avx2_product_kernels() {
  static constexpr ProductKernels kKernels = ProductLoops<DoubleLanes<Avx2Vector>>::table("avx2");
  static const bool supported = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  return supported ? &kKernels : nullptr;
}

}  // namespace blindfl

#else

namespace blindfl {

const ProductKernels* avx2_product_kernels() {
  return nullptr;
}

}  // namespace blindfl

#endif

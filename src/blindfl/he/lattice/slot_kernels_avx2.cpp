#include "blindfl/he/lattice/slot_kernels.h"

#if defined(__x86_64__) && defined(__AVX2__) && defined(__FMA__)

#include <immintrin.h>

#include "blindfl/he/lattice/slot_loops.h"

namespace blindfl::he::lattice {

namespace {

struct Avx2SlotLanes {
  static constexpr std::size_t kLanes = 4;
  using Real = double __attribute__((vector_size(32)));
  using Whole = std::uint64_t __attribute__((vector_size(32)));
  using Short = std::uint32_t __attribute__((vector_size(16)));
  using ShortSigned = std::int32_t __attribute__((vector_size(16)));

  static Real product_error(Real a, Real b, Real p) {
    return reinterpret_cast<Real>(
        _mm256_fmsub_pd(reinterpret_cast<__m256d>(a), reinterpret_cast<__m256d>(b), reinterpret_cast<__m256d>(p)));
  }
};

}  // namespace

const SlotKernels* avx2_slot_kernels() {
  static constexpr SlotKernels kKernels = SlotLoops<Avx2SlotLanes>::table("avx2");
  return &kKernels;
}

}  // namespace blindfl::he::lattice

#else

namespace blindfl::he::lattice {

const SlotKernels* avx2_slot_kernels() {
  return nullptr;
}

}  // namespace blindfl::he::lattice

#endif

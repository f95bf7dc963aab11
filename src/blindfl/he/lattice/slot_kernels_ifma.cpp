#include "blindfl/he/lattice/slot_kernels.h"

#if defined(__x86_64__) && defined(__AVX512IFMA__)

#include <immintrin.h>

#include "blindfl/he/lattice/slot_loops.h"

namespace blindfl::he::lattice {

namespace {

struct IfmaSlotLanes {
  static constexpr std::size_t kLanes = 8;
  using Real = double __attribute__((vector_size(64)));
  using Whole = std::uint64_t __attribute__((vector_size(64)));
  using Short = std::uint32_t __attribute__((vector_size(32)));
  using ShortSigned = std::int32_t __attribute__((vector_size(32)));

  static Real product_error(Real a, Real b, Real p) {
    return reinterpret_cast<Real>(
        _mm512_fmsub_pd(reinterpret_cast<__m512d>(a), reinterpret_cast<__m512d>(b), reinterpret_cast<__m512d>(p)));
  }
};

}  // namespace

const SlotKernels* ifma_slot_kernels() {
  static constexpr SlotKernels kKernels = SlotLoops<IfmaSlotLanes>::table("ifma");
  return &kKernels;
}

}  // namespace blindfl::he::lattice

#else

namespace blindfl::he::lattice {

const SlotKernels* ifma_slot_kernels() {
  return nullptr;
}

}  // namespace blindfl::he::lattice

#endif

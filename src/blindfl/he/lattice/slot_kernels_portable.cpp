#include "blindfl/he/lattice/slot_loops.h"

namespace blindfl::he::lattice {

namespace {

/// Two at a time: what every x86-64 has, and the compiler makes for others.
struct PortableSlotLanes {
  static constexpr std::size_t kLanes = 2;
  using Real = double __attribute__((vector_size(16)));
  using Whole = std::uint64_t __attribute__((vector_size(16)));
  using Short = std::uint32_t __attribute__((vector_size(8)));
  using ShortSigned = std::int32_t __attribute__((vector_size(8)));

  static Real product_error(Real a, Real b, Real p) { return product_error_by_splitting(a, b, p); }
};

}  // namespace

const SlotKernels& portable_slot_kernels() {
  static constexpr SlotKernels kKernels = SlotLoops<PortableSlotLanes>::table("portable");
  return kKernels;
}

}  // namespace blindfl::he::lattice

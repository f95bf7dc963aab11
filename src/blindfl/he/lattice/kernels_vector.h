#pragma once

#include "blindfl/he/lattice/kernels.h"

namespace blindfl::he::lattice {

/// Kernels for AVX-512 with IFMA (52-bit multiply-add, 8 lanes), or null where the processor has none.
[[nodiscard]] const Kernels* ifma_kernels();
/// Kernels for AVX2 with fused multiply-add (4 lanes), or null where the processor has none.
[[nodiscard]] const Kernels* avx2_kernels();

}  // namespace blindfl::he::lattice

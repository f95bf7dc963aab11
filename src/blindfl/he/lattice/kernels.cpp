#include "blindfl/he/lattice/kernels.h"

#include "blindfl/base/kernel_choice.h"
#include "blindfl/he/lattice/kernels_vector.h"

namespace blindfl::he::lattice {

const std::vector<const Kernels*>& available_kernels() {
  static const std::vector<const Kernels*> kernels =
      kernels_that_run({ifma_kernels(), avx2_kernels()}, portable_kernels());
  return kernels;
}

const Kernels& kernels_by_name(std::string_view name) {
  return kernels_named(name, available_kernels());
}

}  // namespace blindfl::he::lattice

#include "blindfl/he/lattice/slot_kernels.h"

namespace blindfl::he::lattice {

const SlotKernels& slot_kernels(std::string_view name) {
  for (const SlotKernels* kernels : {ifma_slot_kernels(), avx2_slot_kernels()}) {
    if (kernels != nullptr && kernels->name == name) return *kernels;
  }
  return portable_slot_kernels();
}

}  // namespace blindfl::he::lattice

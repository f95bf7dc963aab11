#include "blindfl/he/lattice/kernels.h"

#include <string>

#include "blindfl/base/error.h"
#include "blindfl/he/lattice/kernels_vector.h"

namespace blindfl::he::lattice {

const std::vector<const Kernels*>& available_kernels() {
  static const std::vector<const Kernels*> kernels = [] {
    std::vector<const Kernels*> found;
    for (const Kernels* kernels : {ifma_kernels(), avx2_kernels()}) {
      if (kernels != nullptr) found.push_back(kernels);
    }
    found.push_back(&portable_kernels());
    return found;
  }();
  return kernels;
}

const Kernels& kernels_by_name(std::string_view name) {
  std::string names;
  for (const Kernels* kernels : available_kernels()) {
    if (kernels->name == name) return *kernels;
    names += names.empty() ? "" : ", ";
    names += kernels->name;
  }
  fail<InvalidArgument>("this processor cannot run the kernels '", name, "'; it can run: ", names);
}

}  // namespace blindfl::he::lattice

#include "blindfl/share/product_kernels.h"

namespace blindfl {

const std::vector<const ProductKernels*>& available_product_kernels() {
  static const std::vector<const ProductKernels*> kernels = [] {
    std::vector<const ProductKernels*> found;
    for (const ProductKernels* kernels : {ifma_product_kernels(), avx2_product_kernels()}) {
      if (kernels != nullptr) found.push_back(kernels);
    }
    found.push_back(&portable_product_kernels());
    return found;
  }();
  return kernels;
}

}  // namespace blindfl

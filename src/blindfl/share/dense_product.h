#pragma once

#include "blindfl/base/thread_pool.h"
#include "blindfl/share/product_kernels.h"
#include "blindfl/share/share_matrix.h"
#include "blindfl/tensor/int_matrix.h"

namespace blindfl {

/// Whether kernels are faster than the plain loop with `x * m`, or `transpose(x) * m`.
[[nodiscard]] bool worth_cutting(const ProductKernels& kernels, const IntMatrix& x, const ShareMatrix& m,
                                 bool transposed);

/// `x * m` in the ring of `m`, or `transpose(x) * m`, for a dense `x` whose shape fits: on digits, as `kernels` do it.
[[nodiscard]] ShareMatrix dense_product(const ProductKernels& kernels, const IntMatrix& x, const ShareMatrix& m,
                                        bool transposed, ThreadPool& pool);

}  // namespace blindfl

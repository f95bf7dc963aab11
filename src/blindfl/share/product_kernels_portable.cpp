#include "blindfl/share/product_loops.h"

namespace blindfl {

namespace {

/// Two values at a time, as nearly every processor has in a vector. Products and sums are exact, fused or not.
struct PortableVector {
  static constexpr std::size_t kRows = 4;
  static constexpr std::size_t kLanes = 2;
  static constexpr ProductKernels::Worth kWorth = {16, 16, 4, 16384, 7};
  using Sum = double __attribute__((vector_size(16)));
  static Sum zero() { return Sum{}; }
  static double real(std::uint64_t word) { return __builtin_bit_cast(double, word); }
  static Sum load(const std::uint64_t* p) { return Sum{real(p[0]), real(p[1])}; }
  static Sum broadcast(const std::uint64_t* p) { return Sum{real(*p), real(*p)}; }
  template <bool kHigh>
  static void add(Sum& sum, Sum a, Sum b) {
    sum += a * b;
  }
  static void store(double* p, Sum sum) {
    p[0] = sum[0];
    p[1] = sum[1];
  }
};

}  // namespace

const ProductKernels& portable_product_kernels() {
  static constexpr ProductKernels kKernels = ProductLoops<DoubleLanes<PortableVector>>::table("portable");
  return kKernels;
}

}  // namespace blindfl

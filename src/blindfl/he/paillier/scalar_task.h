#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "blindfl/base/thread_pool.h"
#include "blindfl/he/paillier/ring.h"
#include "blindfl/he/paillier/scalar_products.h"

// Between `multiply_scalars` and its methods.

namespace blindfl::he::paillier {

/// What `multiply_scalars` was asked for, but with no zeros among the exponents and no base that has no entry: plans
/// and methods count on that.
struct ScalarTask {
  const Ring& ring;
  const Scalars& scalars;
  const Limb* const* bases;
  std::size_t groups;
  Limb* const* outputs;
  bool accumulate;
  ThreadPool& pool;

  [[nodiscard]] std::size_t rows() const { return scalars.rows(); }
  [[nodiscard]] const Limb* base(std::size_t base, std::size_t group) const { return bases[base * groups + group]; }
  [[nodiscard]] Limb* output(std::size_t row, std::size_t group) const { return outputs[row * groups + group]; }
};

inline void copy_row(const Ring& ring, Limb* to, const Limb* from) {
  std::memcpy(to, from, ring.stride() * sizeof(Limb));
}

inline std::uint64_t magnitude(std::int64_t x) {
  return x < 0 ? 0 - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
}

}  // namespace blindfl::he::paillier

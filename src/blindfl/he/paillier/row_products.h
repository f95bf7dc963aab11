#pragma once

#include <span>

#include "blindfl/base/thread_pool.h"
#include "blindfl/he/paillier/ring.h"

// What the methods of `multiply_scalars` need beyond the ring's own functions.

namespace blindfl::he::paillier {

/// As the ring's function, but few long chains are cut into pieces, so that no lane stands idle.
void multiply_long_chains(const Ring& ring, std::span<const Ring::Chain> chains);

struct Reciprocal {
  Limb* to;
  const Limb* from;
};
/// to = 1 / from, with a single inversion of a number and 3 (n - 1) products. No row is among both.
/// Throws InvalidArgument if there is no inverse.
void invert_rows(const Ring& ring, std::span<const Reciprocal> rows, ThreadPool& pool);

struct Quotient {
  Limb* to;
  const Limb* divisor;
  bool reciprocal;  ///< nothing stands at `to` yet: to = 1 / divisor
};
/// to = to / divisor. One product for each that is no reciprocal, besides what `invert_rows` takes.
void divide_rows(const Ring& ring, std::span<const Quotient> rows, ThreadPool& pool);

/// The ring's function, shared out between threads.
void multiply_in_parallel(const Ring& ring, std::span<const Ring::Product> products, ThreadPool& pool);

}  // namespace blindfl::he::paillier

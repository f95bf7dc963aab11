#pragma once

#include <cstdint>
#include <span>

#include "blindfl/he/lattice/modulus.h"

namespace blindfl::he::lattice {

/// The transform of a polynomial in x^(N / a.size()), given by its coefficients: the values that differ, each once. The
/// whole transform repeats each of them N / a.size() times. The portable kernel is this with all N values.
void transform_short(std::span<std::uint64_t> a, const Modulus& modulus);

}  // namespace blindfl::he::lattice

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "blindfl/he/paillier/scalar_task.h"

// Each row alone, by the method of Bos and Coster: of the two largest exponents a >= b, a^x b^y with x >= y is
// (a b)^y a^(x - y), so that one product makes the larger exponent smaller, until a single power of 1 is left. It needs
// no tables, and the entries of a row help each other: for sparse rows of wide exponents, whose bases no other row
// uses.

namespace blindfl::he::paillier {

/// The products for one row, or for the part of it that is divided by, in order. They work on slots: first the bases of
/// the row's part, which stay as they are, then further ones to write to.
struct ChainProgram {
  struct Step {
    std::uint32_t to;
    std::uint32_t left;
    std::uint32_t right;
  };
  std::size_t row = 0;
  bool divisor = false;
  std::vector<std::uint32_t> bases;
  std::vector<Step> steps;
  std::size_t slots = 0;  ///< besides the bases
  std::uint32_t result = 0;
};

/// Programs for the exponents of one sign in a row. Without bases if there are none.
[[nodiscard]] ChainProgram write_chain(const Scalars& scalars, std::size_t row, bool divisor);

/// What chains take: exactly if the scalars are few, from some of the rows if they are many.
[[nodiscard]] ScalarChoice estimate_chains(const Scalars& scalars, std::size_t groups);

/// Does what `task` asks for.
void multiply_by_chains(const ScalarTask& task);

}  // namespace blindfl::he::paillier

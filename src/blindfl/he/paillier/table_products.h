#pragma once

#include "blindfl/he/paillier/scalar_task.h"
#include "blindfl/he/paillier/table_plan.h"

// Straus' method with tables that all rows share. Exponents are cut into odd digits, each at a position of its own
// (exponent_digits.h); a base's table has its odd powers up to the largest digit in use. A row is then worked through
// position after position, from the highest: multiply by what has a digit there, square, and on.
//
// A row's digits cost one product each wherever they stand, and its squarings are shared by all its entries. Each base
// has a window of its own, as wide as pays for how often and with what exponents it is used.
//
// With combs, a base has a table for each window of its exponents instead, of all powers of base^(2^position):
// everything is then at position 0, and rows have nothing to square.

namespace blindfl::he::paillier {

/// Does what `task` asks for, as `plan` says.
void multiply_by_tables(const ScalarTask& task, const TablePlan& plan);

}  // namespace blindfl::he::paillier

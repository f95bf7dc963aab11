#pragma once

#include "blindfl/data/table_cuts.h"

namespace blindfl::made_up {

using data::hashed_test_rows;
using data::RowSplit;
using data::vertical_split;
using data::VerticalSplit;

}  // namespace blindfl::made_up

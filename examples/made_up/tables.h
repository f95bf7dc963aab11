#pragma once

#include "blindfl/data/table_cuts.h"

namespace blindfl::made_up {

using data::as_dense;
using data::select_columns;
using data::with_class_labels;

}  // namespace blindfl::made_up

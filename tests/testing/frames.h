#pragma once

#include "blindfl/data/labelled_frame.h"

namespace blindfl::testing {

using data::category_column;
using data::column_named;
using data::field_of;
using data::fit_scaling;
using data::LabelledFrame;
using data::numeric_column;
using data::read_libsvm_fields;
using data::scaled_table;
using data::select_rows;
using data::with_labels;

}  // namespace blindfl::testing

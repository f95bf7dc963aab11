#pragma once

#include <cstddef>

#include "blindfl/base/bytes.h"
#include "blindfl/tensor/int_matrix_builder.h"

namespace blindfl::data {

/// Appends a row to `out`, for this process to read again: as long as its entries need, and in the order of the
/// machine's bytes.
void write_row(const IntMatrix& from, std::size_t row, Bytes& out);

/// Adds one row, which `write_row` wrote, from the front of `in`, which gets shorter.
/// Throws DataError if it is cut short; what does not suit the format is found when `to` is finished.
void read_row(ByteView& in, IntMatrixBuilder& to);

}  // namespace blindfl::data

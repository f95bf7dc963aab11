#pragma once

#include <cstddef>

#include "blindfl/data/table.h"

namespace blindfl::made_up {

/// The columns begin, ..., end - 1, with the labels. Throws InvalidArgument unless begin <= end <= cols().
[[nodiscard]] data::Table select_columns(const data::Table& table, std::size_t begin, std::size_t end);

/// The same features with the labels 0, 1, 2, ... in the order of the labels' values: what classifiers take.
[[nodiscard]] data::Table with_class_labels(const data::Table& table);

/// The same table, every value stored.
[[nodiscard]] data::Table as_dense(const data::Table& table);

}  // namespace blindfl::made_up

#pragma once

#include <cstdint>
#include <filesystem>

#include "blindfl/lab/attacks/recorded_view.h"

namespace blindfl::lab::attacks {

/// Independent binary columns at A, each 1 in 15 to 60 of a hundred rows, normal ones at B, and labels that follow from
/// both.
[[nodiscard]] TwoTables synthetic_columns(std::int64_t rows, std::int64_t columns_a, std::int64_t columns_b,
                                          std::uint64_t seed);

/// The first rows of a LIBSVM file of `columns` binary features: A has the first `columns_a`, but for those that more
/// than 99 or fewer than one of a hundred rows have, and B the others. No labels.
/// Throws DataError if the file cannot be read or has fewer rows.
[[nodiscard]] TwoTables real_columns(const std::filesystem::path& path, std::size_t rows, std::size_t columns,
                                     std::size_t columns_a);

/// Rows begin, ..., end - 1 of both.
[[nodiscard]] TwoTables rows_between(const TwoTables& tables, std::int64_t begin, std::int64_t end);

}  // namespace blindfl::lab::attacks

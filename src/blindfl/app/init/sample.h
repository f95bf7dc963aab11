#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "blindfl/app/init/column_profile.h"
#include "blindfl/app/job/own.h"

namespace blindfl::app::init {

/// What a LIBSVM file has instead of columns.
struct SparseProfile {
  ColumnProfile labels{"label"};
  std::size_t highest_index = 0;
  bool from_zero = false;  ///< there is an index 0
  bool binary = true;      ///< all values are 0 or 1
  double largest = 0;      ///< in magnitude
  std::size_t most_per_row = 0;
};

/// The first rows of a file, and what they tell about it.
struct Sample {
  std::filesystem::path path{};
  prepare::FileFormat format = prepare::FileFormat::kCsv;  ///< CSV or LIBSVM
  std::string delimiter = ",";                             ///< as job files write it
  bool header = true;
  std::size_t rows = 0;
  bool whole = false;                     ///< there are no more rows
  std::vector<ColumnProfile> columns{};   ///< of a CSV file
  std::optional<SparseProfile> sparse{};  ///< of a LIBSVM file

  /// None if there is no such column.
  [[nodiscard]] const ColumnProfile* find(std::string_view name) const;
};

/// What is known of a file before it is looked at.
struct SampleOptions {
  std::size_t rows = 10000;
  std::optional<std::string> delimiter{};  ///< as job files write it
  std::optional<bool> header{};
  prepare::FileFormat format = prepare::FileFormat::kAuto;
  bool optional_labels = false;  ///< lines of a LIBSVM file may do without: A's
};

/// Looks at the first rows of a CSV, TSV or LIBSVM file, plain or compressed. Memory holds one row and what is counted.
/// Throws DataError, never with what a cell holds, if the file cannot be read or has no rows.
[[nodiscard]] Sample look_at(const std::filesystem::path& path, const SampleOptions& options = {});

}  // namespace blindfl::app::init

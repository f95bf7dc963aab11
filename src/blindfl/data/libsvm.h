#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blindfl/base/digest.h"
#include "blindfl/data/table.h"

namespace blindfl::data {

/// What a LIBSVM file does not say about itself.
struct LibsvmOptions {
  /// Columns of the table; 0 takes the highest index seen. A test set may lack the last columns of its training set.
  std::size_t cols = 0;
  /// What the file calls its first column: 1, as the format has it, or 0.
  std::size_t index_base = 1;
  /// Whether a row may do without a label, which then is 0. In a file whose first row has none, an empty line between
  /// rows is an error: it could be a row without any value.
  bool optional_labels = false;
};

/// How much of a file one table holds.
struct TableLimits {
  std::size_t rows = 0;
  /// After a row that reaches this many entries in all, the table ends.
  std::size_t entries = 0;
};

/// The rows of a LIBSVM file as one sparse table with labels after the other: memory holds one of them, however long
/// the file is. Rows are what `read_libsvm()` takes, and so are the errors.
class LibsvmReader {
 public:
  /// `digest`: see LineReader.
  /// Throws DataError if the file cannot be read; InvalidArgument if `options` make no sense.
  explicit LibsvmReader(const std::filesystem::path& path, const LibsvmOptions& options = {},
                        DigestOfPieces* digest = nullptr);
  LibsvmReader(const LibsvmReader&) = delete;
  LibsvmReader& operator=(const LibsvmReader&) = delete;
  ~LibsvmReader();

  /// The next rows; none after the last one. Without a number of columns in the options, a table has as many as were
  /// seen so far.
  /// Throws DataError as `read_libsvm()` does; InvalidArgument if a limit is 0.
  [[nodiscard]] std::optional<Table> next(const TableLimits& limits);
  /// "file: line 3": for errors about a row of the last table.
  [[nodiscard]] std::string where(std::size_t row) const;

 private:
  class Rows;

  std::unique_ptr<Rows> rows_;
  LibsvmOptions options_;
  std::size_t cols_seen_ = 0;
  bool any_ = false;
  std::string file_;
  std::vector<std::size_t> lines_;  ///< of the rows of the last table
};

/// One line of a LIBSVM file, for those who look at a file before it is read.
struct LibsvmLine {
  std::string_view label;  ///< as it is written; empty: none
  std::vector<std::pair<std::uint32_t, double>> entries{};
};
/// What a line, without its comment, says; none if it does not read `label index:value ...`. With `optional_label`, it
/// may do without a label.
[[nodiscard]] std::optional<LibsvmLine> parse_libsvm_line(std::string_view line, bool optional_label = false);

/// Reads `label index:value index:value ...` lines, plain or compressed, in one pass into a sparse table with labels.
///
/// Blank lines, `#` comments, CR LF and a leading `+` are fine, and so is a row with a label only. Indices ascend.
/// Throws DataError, with the file, the line and the kind of fault but never the value, for anything else, and for a
/// file without rows; InvalidArgument if `options` make no sense.
[[nodiscard]] Table read_libsvm(const std::filesystem::path& path, const LibsvmOptions& options = {});

}  // namespace blindfl::data

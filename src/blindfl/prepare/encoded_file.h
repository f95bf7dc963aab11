#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "blindfl/data/dataset.h"
#include "blindfl/prepare/prepared_rows.h"

namespace blindfl::prepare {

/// Cells, or entries, that are in memory at once while a file is read, unless one row has more.
constexpr std::size_t kPieceCells = std::size_t{1} << 20;
constexpr std::size_t kPieceRows = 4096;

/// Rows of `cells` cells that make a piece of a file.
[[nodiscard]] std::size_t rows_of_piece(std::size_t cells);

/// Some rows of a file, encoded.
struct EncodedPiece {
  data::Dataset rows;             ///< without labels
  std::vector<double> labels{};   ///< one for each row, or none in any piece
  std::vector<double> weights{};  ///< the same
  std::vector<std::string> ids{};
};

/// A file of rows that are encoded while it is read.
class EncodedFile {
 public:
  EncodedFile() = default;
  EncodedFile(const EncodedFile&) = delete;
  EncodedFile& operator=(const EncodedFile&) = delete;
  virtual ~EncodedFile() = default;

  /// The next rows; none after the last one. Throws DataError with file, line, column and kind of fault.
  [[nodiscard]] virtual std::optional<EncodedPiece> next() = 0;
  /// Columns with missing cells so far, in the training file's order.
  [[nodiscard]] virtual std::vector<FilledColumn> filled() const { return {}; }
};

}  // namespace blindfl::prepare

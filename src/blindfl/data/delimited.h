#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blindfl/data/text_file.h"

namespace blindfl::data {

/// What a file of delimited cells does not say about itself.
struct DelimitedOptions {
  char delimiter = ',';
  /// The first row has the names of the columns.
  bool header = true;
  /// The names of the columns of a file without a header. None: the columns are called 1, 2, 3, ...
  std::vector<std::string> names{};
  /// Blanks around a cell that has no quotes do not belong to it.
  bool trim = false;
  /// Quotes work as in RFC 4180. Off: a quote is a character like any other.
  bool quotes = true;
  /// A line that begins with this is no row; empty: there are no comments.
  std::string comment{};
  /// Of one row, line ends in quotes included: an open quote must not fill the memory.
  std::size_t max_row_bytes = LineReader::kMaxLineBytes;
};

/// The rows of a CSV or TSV file, plain or compressed, one at a time.
///
/// Cells in quotes may hold delimiters, doubled quotes and line ends, which come as LF. Lines end in LF or CR LF. Empty
/// lines are skipped: in a file of one column, an empty cell needs quotes. All rows have the same number of cells.
/// Errors name the file, the line where the row begins, the column and the kind of fault, never what a cell holds.
class DelimitedReader {
 public:
  static constexpr std::size_t kMaxColumns = std::size_t{1} << 20;

  /// `digest`: see LineReader.
  /// Throws DataError if the file cannot be read, lacks the header, or has two columns of one name; InvalidArgument if
  /// `options` make no sense.
  explicit DelimitedReader(const std::filesystem::path& path, DelimitedOptions options = {},
                           DigestOfPieces* digest = nullptr);

  /// As its path was given.
  [[nodiscard]] const std::string& file() const { return name_; }

  /// One for each column; none if the file has no rows and nobody named them.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

  /// Goes to the next row; false after the last one.
  /// Throws DataError if reading fails, the row has other cells than the first, a quote is not closed or not where it
  /// may be, the row is too long, or there is a NUL byte in it.
  [[nodiscard]] bool next();
  /// Of the current row, without quotes. Valid until the next call of `next()`.
  [[nodiscard]] std::span<const std::string_view> cells() const { return cells_; }
  /// Where the current row begins, counted from 1.
  [[nodiscard]] std::size_t line() const { return line_; }
  /// "file: line 3: column 2 ('age')": for errors about what a cell holds.
  [[nodiscard]] std::string where(std::size_t column) const { return where(column, line_); }
  /// The same of an earlier row, which began at `line`.
  [[nodiscard]] std::string where(std::size_t column, std::size_t line) const;
  /// Without the blanks at both ends, if cells are trimmed.
  [[nodiscard]] std::string_view trimmed(std::string_view text) const;

 private:
  bool read_row();
  bool next_line();
  void split_plain(std::string_view line);
  void split_quoted(std::string_view line);
  void take_unquoted(std::string_view& rest);
  void take_quoted(std::string_view& rest);
  void append(std::string_view piece);
  void check_room_for_cell(std::size_t cells) const;
  void name_columns();
  [[nodiscard]] std::string_view without_blanks_before(std::string_view text) const;

  DelimitedOptions options_;
  LineReader reader_;
  std::string name_;
  std::string_view blanks_;
  std::vector<std::string> names_;
  bool named_ = true;
  // The first row was read to count the columns, and not given away yet.
  bool ahead_ = false;
  std::size_t line_ = 0;
  std::vector<std::string_view> cells_;
  // The cells of a row with quotes, one after the other, and where each begins.
  std::string text_;
  std::vector<std::size_t> starts_;
};

}  // namespace blindfl::data

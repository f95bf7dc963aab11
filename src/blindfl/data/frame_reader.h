#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/data/frame.h"

namespace blindfl::data {

/// A delimited file, plain or compressed, as one frame after the other: memory holds one of them, however long the file
/// is. Dictionaries of categories are those of a frame, not of the file.
///
/// Cells are what `read_frame()` takes, and so are the errors.
class FrameReader {
 public:
  /// Throws DataError if the file cannot be read, holds nothing, or lacks a column; InvalidArgument if `spec` makes no
  /// sense.
  FrameReader(const std::filesystem::path& path, const FrameSpec& spec);
  /// The same of a file that is open already, so that its names can tell what to read; `spec.format` is not looked at.
  FrameReader(std::unique_ptr<DelimitedReader> file, FrameSpec spec);

  /// Of the file, in its order; also those that nobody asked for.
  [[nodiscard]] const std::vector<std::string>& names() const { return reader_->names(); }

  /// The next rows, `most` of them or all that are left; none after the last one.
  /// Throws DataError as `read_frame()` does; InvalidArgument if `most` is 0.
  [[nodiscard]] std::optional<Frame> next(std::size_t most);
  /// "file: line 3: column 2 ('age')": for errors about a row of the last frame.
  [[nodiscard]] std::string where(std::size_t row, std::string_view column) const;

 private:
  /// A column of the file that ends up in the frame.
  struct Wanted {
    ColumnSpec spec;
    std::size_t in_file = 0;
    std::size_t in_frame = 0;  ///< among those of its kind
  };

  void want(ColumnSpec spec, std::size_t in_file);
  void begin_frame();
  void add_row();
  void add_cell(const Wanted& column, std::string_view cell);
  void add_number(const Wanted& column, std::string_view cell);
  void add_categories(const Wanted& column, std::string_view cell);
  [[nodiscard]] bool is_missing(const Wanted& column, std::string_view cell) const;
  [[nodiscard]] double number(const Wanted& column, std::string_view cell) const;
  template <class... Parts>
  [[noreturn]] void fail_at(const Wanted& column, const Parts&... parts) const;
  void check_any_rows(bool any) const;

  FrameSpec spec_;
  std::unique_ptr<DelimitedReader> reader_;
  std::vector<Wanted> wanted_;
  std::size_t rows_before_ = 0;  ///< in the frames before this one
  Frame frame_;
  std::vector<CategoryColumnBuilder> builders_;
  std::vector<std::size_t> lines_;  ///< where each row of the last frame began
};

}  // namespace blindfl::data

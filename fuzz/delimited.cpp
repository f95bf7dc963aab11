// A delimited file, plain or compressed, read row by row and as a frame; what was learnt from the frame is saved and
// loaded. Input: options (1: a header, 2: trimmed, 4: no quotes, 8: comments, 16 and 32: which delimiter, 64: numeric
// columns, 128: the second column has several categories), then the file.

#include <array>
#include <string>

#include "blindfl/base/error.h"
#include "blindfl/data/delimited.h"
#include "blindfl/data/frame.h"
#include "input.h"
#include "memory_file.h"
#include "testing/frames.h"

namespace {

using namespace blindfl;
using data::ColumnKind;

data::FrameSpec make_spec(unsigned options) {
  constexpr std::array kDelimiters = {',', '\t', ';', ' '};
  data::FrameSpec spec;
  spec.format = {.delimiter = kDelimiters[options >> 4 & 3],
                 .header = (options & 1) != 0,
                 .trim = (options & 2) != 0,
                 .quotes = (options & 4) == 0,
                 .comment = (options & 8) != 0 ? "#" : "",
                 .max_row_bytes = 1000};
  spec.others = (options & 64) != 0 ? ColumnKind::kNumeric : ColumnKind::kCategory;
  spec.missing = {"", "?"};
  return spec;
}

/// How many rows the file has; their cells, one after the other, are read if nothing else.
std::size_t count_rows(const std::string& path, const data::DelimitedOptions& options, std::string& second_name) {
  data::DelimitedReader reader(path, options);
  std::size_t rows = 0;
  std::size_t bytes = 0;
  for (; reader.next(); ++rows) {
    fuzz::check(reader.cells().size() == reader.names().size(), "every row has a cell for each name");
    for (const std::string_view cell : reader.cells()) {
      bytes += cell.size();
      fuzz::check(cell.find('\0') == std::string_view::npos, "no cell has a NUL");
    }
    fuzz::check(!reader.where(0).empty(), "a place has words");
  }
  fuzz::check(bytes <= (rows + 1) * options.max_row_bytes, "no row is longer than allowed");
  if (reader.names().size() > 1) second_name = reader.names()[1];
  return rows;
}

template <class Saved>
void check_saved(const Saved& saved) {
  const Bytes bytes = write_to_bytes([&](ByteSink& out) { saved.save(out); });
  BufferSource in(bytes);
  const Saved back = Saved::load(in);
  fuzz::check(in.remaining() == 0 && write_to_bytes([&](ByteSink& out) { back.save(out); }) == bytes,
              "what was saved comes back");
}

void check_frame(const data::Frame& frame, std::size_t rows) {
  fuzz::check(frame.rows == rows, "a frame has the rows of its file");
  for (const data::NumericColumn& column : frame.numeric) {
    fuzz::check(column.values.size() == rows, "a numeric column has all rows");
  }
  for (const data::CategoryColumn& column : frame.categories) {
    fuzz::check(column.rows() == rows, "a column of categories has all rows");
    const data::Vocabulary vocabulary = data::Vocabulary::fit(column, {.most = 5});
    const IntMatrix encoded = encode_column(testing::field_of(column, vocabulary), column, vocabulary);
    fuzz::check(encoded.rows() == rows && encoded.cols() <= 6, "an encoded column has all rows");
    check_saved(vocabulary);
  }
  const data::NumericScaling scaling = testing::fit_scaling(frame.numeric);
  const data::Table table = testing::scaled_table(scaling, frame.numeric, rows);
  fuzz::check(table.rows() == rows && scaling.largest() <= 8, "a scaled column has all rows, within its bounds");
  check_saved(scaling);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::MemoryFile file;
  fuzz::Input input(data, size);
  const unsigned options = input.take_byte();
  file.replace(input.rest());
  try {
    data::FrameSpec spec = make_spec(options);
    std::string second;
    const std::size_t rows = count_rows(file.path(), spec.format, second);
    if ((options & 128) != 0) spec.columns.push_back({.name = second, .kind = ColumnKind::kCategories});
    check_frame(read_frame(file.path(), spec), rows);
  } catch (const DataError&) {
  }
  return 0;
}

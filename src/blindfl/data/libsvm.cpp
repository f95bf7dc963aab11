#include "blindfl/data/libsvm.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/data/number.h"
#include "blindfl/data/text_file.h"

namespace blindfl::data {

namespace {

constexpr std::string_view kBlanks = " \t";

/// Cuts the next word off the front of `rest`; empty at the end.
std::string_view take_word(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
  const std::string_view word = rest.substr(0, rest.find_first_of(kBlanks));
  rest.remove_prefix(word.size());
  return word;
}

}  // namespace

/// The rows of a file, entry by entry.
class LibsvmRows {
 public:
  explicit LibsvmRows(const std::filesystem::path& path, bool optional_labels, DigestOfPieces* digest)
      : reader_(path, LineReader::kMaxLineBytes, digest), name_(path.string()), optional_labels_(optional_labels) {}

  /// Goes to the next row and reads its label; false after the last one.
  bool next_row();
  /// Goes to the next entry of the row; false after the last one.
  bool next_entry();

  [[nodiscard]] double label() const { return label_; }
  /// Of the current entry.
  [[nodiscard]] std::uint64_t index() const { return index_; }
  [[nodiscard]] double value() const { return value_; }
  [[nodiscard]] std::size_t line() const { return reader_.number(); }

  template <class... Parts>
  void check_row(bool condition, const Parts&... parts) const {
    require<DataError>(condition, name_, ": line ", reader_.number(), ": ", parts...);
  }
  template <class... Parts>
  void check_entry(bool condition, const Parts&... parts) const {
    check_row(condition, "entry ", entry_, ": ", parts...);
  }
  void check_any(bool any) const { require<DataError>(any, name_, ": holds no rows; check that it is the right file"); }

 private:
  /// Takes the label off the front of the row, if it has one.
  void begin_row();
  void read_label(std::string_view word);
  void read_entry(std::string_view word);

  LineReader reader_;
  std::string name_;
  bool optional_labels_;
  bool begun_ = false;
  bool unlabelled_ = false;     ///< the first row has no label
  std::size_t empty_line_ = 0;  ///< the last one that was met; 0: none
  std::string_view rest_;
  double label_ = 0;
  std::size_t entry_ = 0;
  std::uint64_t index_ = 0;
  double value_ = 0;
};

bool LibsvmRows::next_row() {
  while (reader_.next()) {
    rest_ = reader_.line().substr(0, reader_.line().find('#'));
    entry_ = 0;
    if (rest_.find_first_not_of(kBlanks) == std::string_view::npos) {
      if (reader_.line().find('#') == std::string_view::npos) empty_line_ = reader_.number();
      continue;
    }
    begin_row();
    return true;
  }
  return false;
}

void LibsvmRows::begin_row() {
  std::string_view after = rest_;
  const std::string_view word = take_word(after);
  label_ = 0;
  const bool has_label = !optional_labels_ || word.find(':') == std::string_view::npos;
  if (!std::exchange(begun_, true)) unlabelled_ = !has_label;
  require<DataError>(!unlabelled_ || empty_line_ == 0, name_, ": line ", empty_line_,
                     ": is empty, in a file without labels; write 0 for a row without any value, or remove the line");
  empty_line_ = 0;
  if (!has_label) return;
  rest_ = after;
  read_label(word);
}

bool LibsvmRows::next_entry() {
  const std::string_view word = take_word(rest_);
  if (word.empty()) return false;
  ++entry_;
  read_entry(word);
  return true;
}

void LibsvmRows::read_label(std::string_view word) {
  const auto [parsed, number] = parse_real(word);
  check_row(parsed != Parsed::kMalformed, "bad label: not a number; a row reads `label index:value ...`");
  check_row(parsed != Parsed::kOutOfRange, "bad label: not a finite number, or beyond what a double holds");
  label_ = number;
}

void LibsvmRows::read_entry(std::string_view word) {
  const std::size_t colon = word.find(':');
  check_entry(colon != std::string_view::npos, "bad index: no colon; an entry reads `index:value`");
  const auto [index_parsed, index] = parse_number<std::uint64_t>(word.substr(0, colon));
  check_entry(index_parsed != Parsed::kMalformed, "bad index: not a whole number");
  check_entry(index_parsed == Parsed::kFine && index < IntMatrix::kNoColumn - 1, "bad index: too large");
  const auto [value_parsed, value] = parse_real(word.substr(colon + 1));
  check_entry(value_parsed != Parsed::kMalformed, "bad value: not a number");
  check_entry(value_parsed != Parsed::kOutOfRange, "non-finite value, or beyond what a double holds");
  index_ = index;
  value_ = value;
}

/// The column of the current entry, which comes after `columns`, those of the row before it.
namespace {

Table::Column column_of_entry(const LibsvmRows& rows, const LibsvmOptions& options,
                              std::span<const Table::Column> columns) {
  rows.check_entry(rows.index() >= options.index_base, "bad index: below ", options.index_base,
                   ", where the indices of this file were said to begin (first_index)");
  const auto column = static_cast<Table::Column>(rows.index() - options.index_base);
  rows.check_entry(options.cols == 0 || column < options.cols, "index beyond the last of ", options.cols, " columns");
  if (!columns.empty()) {
    rows.check_entry(column != columns.back(), "duplicate index; keep one of the two");
    rows.check_entry(column > columns.back(), "index not ascending; sort the entries of the row");
  }
  return column;
}

}  // namespace

class LibsvmReader::Rows : public LibsvmRows {
 public:
  using LibsvmRows::LibsvmRows;
};

LibsvmReader::LibsvmReader(const std::filesystem::path& path, const LibsvmOptions& options, DigestOfPieces* digest)
    : options_(options), file_(path.string()) {
  require<InvalidArgument>(options.index_base <= 1, "read_libsvm: indices begin at 0 or 1, not at ",
                           options.index_base);
  require<InvalidArgument>(options.cols < IntMatrix::kNoColumn, "read_libsvm: ", options.cols, " columns are too many");
  rows_ = std::make_unique<Rows>(path, options.optional_labels, digest);
}

LibsvmReader::~LibsvmReader() = default;

std::optional<Table> LibsvmReader::next(const TableLimits& limits) {
  require<InvalidArgument>(limits.rows > 0 && limits.entries > 0, "libsvm: nobody needs a table without rows");
  std::vector<std::size_t> row_starts{0};
  std::vector<Table::Column> columns;
  std::vector<double> values;
  std::vector<double> labels;
  lines_.clear();
  while (labels.size() < limits.rows && columns.size() < limits.entries && rows_->next_row()) {
    labels.push_back(rows_->label());
    lines_.push_back(rows_->line());
    while (rows_->next_entry()) {
      columns.push_back(column_of_entry(*rows_, options_, std::span(columns).subspan(row_starts.back())));
      values.push_back(rows_->value());
    }
    if (columns.size() > row_starts.back()) cols_seen_ = std::max<std::size_t>(cols_seen_, columns.back() + 1);
    row_starts.push_back(columns.size());
  }
  any_ = any_ || !labels.empty();
  rows_->check_any(any_);
  if (labels.empty()) return std::nullopt;
  const std::size_t count = labels.size();
  return Table::csr(count, options_.cols != 0 ? options_.cols : cols_seen_, std::move(row_starts), std::move(columns),
                    std::move(values), std::move(labels));
}

std::string LibsvmReader::where(std::size_t row) const {
  return file_ + ": line " + std::to_string(lines_.at(row));
}

std::optional<LibsvmLine> parse_libsvm_line(std::string_view line, bool optional_label) {
  LibsvmLine parsed;
  line = line.substr(0, line.find('#'));
  std::string_view after = line;
  const std::string_view first = take_word(after);
  if (!optional_label || first.find(':') == std::string_view::npos) {
    if (parse_real(first).first != Parsed::kFine) return std::nullopt;
    parsed.label = first;
    line = after;
  }
  for (std::string_view word = take_word(line); !word.empty(); word = take_word(line)) {
    const std::size_t colon = word.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const auto [index_parsed, index] = parse_number<std::uint32_t>(word.substr(0, colon));
    const auto [value_parsed, value] = parse_real(word.substr(colon + 1));
    if (index_parsed != Parsed::kFine || value_parsed != Parsed::kFine) return std::nullopt;
    parsed.entries.emplace_back(index, value);
  }
  return parsed;
}

Table read_libsvm(const std::filesystem::path& path, const LibsvmOptions& options) {
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  return *LibsvmReader(path, options).next({.rows = kAll, .entries = kAll});
}

}  // namespace blindfl::data

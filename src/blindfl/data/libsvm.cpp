#include "blindfl/data/libsvm.h"

#include <algorithm>
#include <cstdint>
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

/// Collects the rows of one file.
class LibsvmParser {
 public:
  LibsvmParser(std::string name, const LibsvmOptions& options) : name_(std::move(name)), options_(options) {}

  void add_line(std::size_t number, std::string_view line);
  [[nodiscard]] Table finish();

 private:
  template <class... Parts>
  void check(bool condition, const Parts&... parts) const {
    require<DataError>(condition, name_, ": line ", line_, ": ", parts...);
  }
  double label(std::string_view word) const;
  void add_entry(std::string_view word);

  std::string name_;
  LibsvmOptions options_;
  std::size_t line_ = 0;
  std::size_t cols_seen_ = 0;
  std::vector<std::size_t> row_starts_{0};
  std::vector<Table::Column> columns_;
  std::vector<double> values_;
  std::vector<double> labels_;
};

void LibsvmParser::add_line(std::size_t number, std::string_view line) {
  line_ = number;
  std::string_view rest = line.substr(0, line.find('#'));
  const std::string_view first = take_word(rest);
  if (first.empty()) return;
  labels_.push_back(label(first));
  for (std::string_view word = take_word(rest); !word.empty(); word = take_word(rest)) add_entry(word);
  row_starts_.push_back(columns_.size());
}

double LibsvmParser::label(std::string_view word) const {
  const auto [parsed, number] = parse_real(word);
  check(parsed != Parsed::kMalformed, "bad label: not a number; a row reads `label index:value ...`");
  check(parsed != Parsed::kOutOfRange, "bad label: not a finite number, or beyond what a double holds");
  return number;
}

void LibsvmParser::add_entry(std::string_view word) {
  const std::size_t entry = columns_.size() - row_starts_.back() + 1;
  const std::size_t colon = word.find(':');
  check(colon != std::string_view::npos, "entry ", entry, ": bad index: no colon; an entry reads `index:value`");

  const auto [index_parsed, index] = parse_number<std::uint64_t>(word.substr(0, colon));
  check(index_parsed != Parsed::kMalformed, "entry ", entry, ": bad index: not a whole number");
  check(index_parsed == Parsed::kFine && index < IntMatrix::kNoColumn - 1, "entry ", entry, ": bad index: too large");
  check(index >= options_.index_base, "entry ", entry, ": bad index: below ", options_.index_base,
        ", where the indices of this file were said to begin");
  const std::uint64_t column = index - options_.index_base;
  check(options_.cols == 0 || column < options_.cols, "entry ", entry, ": index beyond the last of ", options_.cols,
        " columns");
  if (entry > 1) {
    check(column != columns_.back(), "entry ", entry, ": duplicate index");
    check(column > columns_.back(), "entry ", entry, ": index not ascending");
  }

  const auto [value_parsed, value] = parse_real(word.substr(colon + 1));
  check(value_parsed != Parsed::kMalformed, "entry ", entry, ": bad value: not a number");
  check(value_parsed != Parsed::kOutOfRange, "entry ", entry, ": non-finite value, or beyond what a double holds");
  cols_seen_ = std::max<std::size_t>(cols_seen_, column + 1);
  columns_.push_back(static_cast<Table::Column>(column));
  values_.push_back(value);
}

Table LibsvmParser::finish() {
  require<DataError>(!labels_.empty(), name_, ": holds no rows; check that it is the right file");
  const std::size_t rows = labels_.size();
  return Table::csr(rows, options_.cols != 0 ? options_.cols : cols_seen_, std::move(row_starts_), std::move(columns_),
                    std::move(values_), std::move(labels_));
}

}  // namespace

Table read_libsvm(const std::filesystem::path& path, const LibsvmOptions& options) {
  require<InvalidArgument>(options.index_base <= 1, "read_libsvm: indices begin at 0 or 1, not at ",
                           options.index_base);
  require<InvalidArgument>(options.cols < IntMatrix::kNoColumn, "read_libsvm: ", options.cols, " columns are too many");
  LineReader reader(path);
  LibsvmParser parser(path.string(), options);
  while (reader.next()) parser.add_line(reader.number(), reader.line());
  return parser.finish();
}

}  // namespace blindfl::data

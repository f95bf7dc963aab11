#include "blindfl/data/delimited.h"

#include <algorithm>

#include "blindfl/base/error.h"
#include "blindfl/base/text.h"

namespace blindfl::data {

namespace {

constexpr char kQuote = '"';
constexpr std::size_t kMaxNameShown = 64;

std::string_view blanks_beside(char delimiter) {
  if (delimiter == ' ') return "\t";
  return delimiter == '\t' ? " " : " \t";
}

bool has_duplicates(const std::vector<std::string>& names) {
  std::vector<std::string_view> sorted(names.begin(), names.end());
  std::ranges::sort(sorted);
  return std::ranges::adjacent_find(sorted) != sorted.end();
}

void check(const DelimitedOptions& options) {
  const bool ends_lines = options.delimiter == '\n' || options.delimiter == '\r' || options.delimiter == '\0';
  require<InvalidArgument>(!ends_lines && !(options.quotes && options.delimiter == kQuote),
                           "delimited file: a line end, a NUL or a quote cannot be the delimiter");
  require<InvalidArgument>(!options.header || options.names.empty(),
                           "delimited file: names are for files without a header");
  require<InvalidArgument>(options.names.size() <= DelimitedReader::kMaxColumns && !has_duplicates(options.names),
                           "delimited file: two columns have the same name, or there are too many");
}

}  // namespace

DelimitedReader::DelimitedReader(const std::filesystem::path& path, DelimitedOptions options, DigestOfPieces* digest)
    : options_(std::move(options)),
      reader_(path, options_.max_row_bytes, digest),
      name_(path.string()),
      blanks_(blanks_beside(options_.delimiter)) {
  check(options_);
  names_ = options_.names;
  ahead_ = read_row();
  require<DataError>(ahead_ || !options_.header, name_,
                     ": holds nothing, where a header was expected; check that it is the right file");
  if (ahead_) name_columns();
}

void DelimitedReader::name_columns() {
  if (options_.header) {
    names_.assign(cells_.begin(), cells_.end());
    require<DataError>(!has_duplicates(names_), name_, ": line ", line_,
                       ": two columns have the same name; is this line the header that it was said to be?");
    ahead_ = false;
  } else if (names_.empty()) {
    named_ = false;
    for (std::size_t i = 1; i <= cells_.size(); ++i) names_.push_back(std::to_string(i));
  }
}

bool DelimitedReader::next() {
  if (!ahead_) return read_row();
  ahead_ = false;
  return true;
}

bool DelimitedReader::read_row() {
  while (next_line()) {
    const std::string_view line = reader_.line();
    if ((options_.trim ? trimmed(line) : line).empty()) continue;
    if (!options_.comment.empty() && line.starts_with(options_.comment)) continue;
    line_ = reader_.number();
    cells_.clear();
    if (options_.quotes && line.find(kQuote) != std::string_view::npos) {
      split_quoted(line);
    } else {
      split_plain(line);
    }
    require<DataError>(names_.empty() || cells_.size() == names_.size(), name_, ": line ", line_, ": ", cells_.size(),
                       " cells instead of ", names_.size(),
                       "; quote cells that hold the delimiter, and check which one it is");
    return true;
  }
  return false;
}

bool DelimitedReader::next_line() {
  if (!reader_.next()) return false;
  require<DataError>(reader_.line().find('\0') == std::string_view::npos, name_, ": line ", reader_.number(),
                     ": a NUL byte; this is not a text file, or not in UTF-8");
  return true;
}

void DelimitedReader::split_plain(std::string_view line) {
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = line.find(options_.delimiter);
    check_room_for_cell(cells_.size());
    cells_.push_back(trimmed(line.substr(0, end)));
    line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  }
}

void DelimitedReader::split_quoted(std::string_view line) {
  text_.clear();
  starts_.clear();
  std::string_view rest = line;
  for (bool more = true; more;) {
    check_room_for_cell(starts_.size());
    starts_.push_back(text_.size());
    if (without_blanks_before(rest).starts_with(kQuote)) {
      take_quoted(rest);
    } else {
      take_unquoted(rest);
    }
    more = !rest.empty();
    if (more) rest.remove_prefix(1);
  }
  for (std::size_t i = 0; i < starts_.size(); ++i) {
    const std::size_t end = i + 1 < starts_.size() ? starts_[i + 1] : text_.size();
    cells_.push_back(std::string_view(text_).substr(starts_[i], end - starts_[i]));
  }
}

void DelimitedReader::take_unquoted(std::string_view& rest) {
  const std::string_view cell = rest.substr(0, rest.find(options_.delimiter));
  if (cell.find(kQuote) != std::string_view::npos) {
    fail<DataError>(where(starts_.size() - 1),
                    ": a quote within a cell that does not begin with one; quote the cell and double the quote, or "
                    "turn quotes off");
  }
  append(trimmed(cell));
  rest.remove_prefix(cell.size());
}

void DelimitedReader::take_quoted(std::string_view& rest) {
  rest = without_blanks_before(rest).substr(1);
  for (bool open = true; open;) {
    const std::size_t quote = rest.find(kQuote);
    append(rest.substr(0, quote));
    if (quote == std::string_view::npos) {
      if (!next_line())
        fail<DataError>(
            where(starts_.size() - 1),
            ": a quote is opened here and never closed; close it, or double a quote that is part of a text");
      append("\n");
      rest = reader_.line();
    } else {
      rest.remove_prefix(quote + 1);
      // Two quotes in a row are one of the cell's own.
      open = rest.starts_with(kQuote);
      if (open) append("\"");
      if (open) rest.remove_prefix(1);
    }
  }
  rest = without_blanks_before(rest);
  if (!rest.empty() && rest.front() != options_.delimiter) {
    fail<DataError>(where(starts_.size() - 1), ": text after a closing quote; a quote within a cell must be doubled");
  }
}

void DelimitedReader::append(std::string_view piece) {
  require<DataError>(piece.size() <= options_.max_row_bytes - text_.size(), name_, ": line ", line_,
                     ": the row is longer than ", options_.max_row_bytes, " bytes; perhaps a quote was never closed");
  text_ += piece;
}

void DelimitedReader::check_room_for_cell(std::size_t cells) const {
  const std::size_t most = names_.empty() ? kMaxColumns : names_.size();
  require<DataError>(cells < most, name_, ": line ", line_, ": more than ", most,
                     " cells; quote those that hold the delimiter, and check which one it is");
}

std::string_view DelimitedReader::without_blanks_before(std::string_view text) const {
  if (options_.trim) text.remove_prefix(std::min(text.find_first_not_of(blanks_), text.size()));
  return text;
}

std::string_view DelimitedReader::trimmed(std::string_view text) const {
  if (!options_.trim) return text;
  return without_blanks_before(text.substr(0, text.find_last_not_of(blanks_) + 1));
}

std::string DelimitedReader::where(std::size_t column, std::size_t line) const {
  std::string place = name_ + ": line " + std::to_string(line) + ": column " + std::to_string(column + 1);
  if (named_ && column < names_.size()) place += " ('" + printable(names_[column]).substr(0, kMaxNameShown) + "')";
  return place;
}

}  // namespace blindfl::data

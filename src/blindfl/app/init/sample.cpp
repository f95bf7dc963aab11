#include "blindfl/app/init/sample.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "blindfl/base/error.h"
#include "blindfl/data/delimited.h"
#include "blindfl/data/libsvm.h"
#include "blindfl/data/number.h"
#include "blindfl/data/text_file.h"

namespace blindfl::app::init {

namespace {

using data::Parsed;

constexpr std::string_view kBlanks = " \t";
constexpr std::size_t kFirstLines = 20;
/// Of all columns together: a file of very many columns is looked at in fewer rows.
constexpr std::size_t kMostCells = 20'000'000;

/// Lines with something in them, at most `kFirstLines`.
std::vector<std::string> first_lines(const std::filesystem::path& path) {
  data::LineReader reader(path);
  std::vector<std::string> lines;
  while (lines.size() < kFirstLines && reader.next()) {
    if (reader.line().find_first_not_of(kBlanks) != std::string_view::npos) lines.emplace_back(reader.line());
  }
  require<DataError>(!lines.empty(), path.string(), ": has no rows");
  if (lines.front().starts_with("\xEF\xBB\xBF")) lines.front().erase(0, 3);
  return lines;
}

bool is_sparse(const std::vector<std::string>& lines, bool optional_labels) {
  std::size_t entries = 0;
  for (const std::string& line : lines) {
    if (line.starts_with('#')) continue;
    const auto parsed = data::parse_libsvm_line(line, optional_labels);
    if (!parsed) return false;
    entries += parsed->entries.size();
  }
  return entries > 0;
}

/// Cells of a line, delimiters in quotes not counted.
std::size_t count_cells(std::string_view line, char delimiter) {
  bool quoted = false;
  std::size_t count = 1;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (c == delimiter && !quoted) ++count;
  }
  return count;
}

char guess_delimiter(const std::vector<std::string>& lines) {
  char best = ',';
  std::size_t most = 1;
  for (const char candidate : {',', '\t', ';', '|', ' '}) {
    const std::size_t count = count_cells(lines.front(), candidate);
    const bool all_alike =
        std::ranges::all_of(lines, [&](const std::string& line) { return count_cells(line, candidate) == count; });
    // Blanks are in names and texts too: they count only where nothing else does.
    if (all_alike && count > most && (candidate != ' ' || most == 1)) {
      most = count;
      best = candidate;
    }
  }
  return best;
}

/// Names are no numbers, not empty, and each is there once.
bool looks_like_names(std::span<const std::string_view> cells) {
  std::set<std::string_view> seen;
  return std::ranges::all_of(cells, [&](std::string_view cell) {
    return !cell.empty() && data::parse_real(cell).first == Parsed::kMalformed && seen.insert(cell).second;
  });
}

bool guess_header(const std::filesystem::path& path, char delimiter) {
  data::DelimitedReader reader(path, {.delimiter = delimiter, .header = false, .trim = true});
  require<DataError>(reader.next(), path.string(), ": has no rows");
  return looks_like_names(reader.cells());
}

void read_columns(Sample& sample, char delimiter, std::size_t most_rows) {
  data::DelimitedReader reader(sample.path, {.delimiter = delimiter, .header = sample.header, .trim = true});
  sample.columns.reserve(reader.names().size());
  for (const std::string& name : reader.names()) sample.columns.emplace_back(name);
  const std::size_t most = std::min(most_rows, kMostCells / std::max<std::size_t>(sample.columns.size(), 1) + 1);
  sample.whole = true;
  while (reader.next()) {
    if (sample.rows == most) {
      sample.whole = false;
      break;
    }
    ++sample.rows;
    const auto cells = reader.cells();
    for (std::size_t i = 0; i < sample.columns.size(); ++i) sample.columns[i].add(cells[i]);
  }
  require<DataError>(sample.rows > 0, sample.path.string(), ": has no rows");
}

void read_sparse(Sample& sample, std::size_t most_rows, bool optional_labels) {
  SparseProfile& sparse = sample.sparse.emplace();
  data::LineReader reader(sample.path);
  sample.whole = true;
  while (reader.next()) {
    const std::string_view line = reader.line();
    if (line.substr(0, line.find('#')).find_first_not_of(kBlanks) == std::string_view::npos) continue;
    if (sample.rows == most_rows) {
      sample.whole = false;
      break;
    }
    ++sample.rows;
    const auto parsed = data::parse_libsvm_line(line, optional_labels);
    require<DataError>(parsed.has_value(), sample.path.string(), ": line ", reader.number(),
                       ": is not `label index:value ...`, as lines of LIBSVM files are");
    std::size_t entries = 0;
    for (const auto& [index, value] : parsed->entries) {
      sparse.highest_index = std::max<std::size_t>(sparse.highest_index, index);
      sparse.from_zero = sparse.from_zero || index == 0;
      sparse.binary = sparse.binary && (value == 0 || value == 1);
      sparse.largest = std::max(sparse.largest, std::abs(value));
      if (value != 0) ++entries;
    }
    sparse.most_per_row = std::max(sparse.most_per_row, entries);
    sparse.labels.add(parsed->label);
  }
}

}  // namespace

const ColumnProfile* Sample::find(std::string_view name) const {
  const auto found = std::ranges::find(columns, name, &ColumnProfile::name);
  return found == columns.end() ? nullptr : &*found;
}

Sample look_at(const std::filesystem::path& path, const SampleOptions& options) {
  const std::vector<std::string> lines = first_lines(path);
  Sample sample;
  sample.path = path;
  const bool looks_sparse = options.format == prepare::FileFormat::kAuto && !options.delimiter && !options.header &&
                            is_sparse(lines, options.optional_labels);
  if (options.format == prepare::FileFormat::kLibsvm || looks_sparse) {
    sample.format = prepare::FileFormat::kLibsvm;
    read_sparse(sample, options.rows, options.optional_labels);
    return sample;
  }
  char delimiter = 0;
  if (options.delimiter) {
    delimiter = *options.delimiter == "tab" ? '\t' : options.delimiter->front();
  } else {
    delimiter = guess_delimiter(lines);
  }
  sample.delimiter = delimiter == '\t' ? std::string("tab") : std::string(1, delimiter);
  sample.header = options.header ? *options.header : guess_header(path, delimiter);
  read_columns(sample, delimiter, options.rows);
  return sample;
}

}  // namespace blindfl::app::init

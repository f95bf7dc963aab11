#include "blindfl/data/frame.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/data/number.h"

namespace blindfl::data {

namespace {

constexpr std::size_t kMaxRows = std::numeric_limits<std::uint32_t>::max();

bool contains(const std::vector<std::string>& texts, std::string_view text) {
  return std::ranges::find(texts, text) != texts.end();
}

void check(const FrameSpec& spec) {
  require<InvalidArgument>(spec.others == ColumnKind::kIgnored || spec.others == ColumnKind::kNumeric ||
                               spec.others == ColumnKind::kCategory,
                           "frame: columns without a name in the spec are ignored, numeric or one category");
  std::vector<std::string_view> names;
  std::size_t labels = 0;
  std::size_t ids = 0;
  for (const ColumnSpec& column : spec.columns) {
    names.push_back(column.name);
    labels += column.kind == ColumnKind::kLabel;
    ids += column.kind == ColumnKind::kId;
    require<InvalidArgument>(column.classes.empty() || column.kind == ColumnKind::kLabel, "frame: column '",
                             column.name, "' has classes, but is not the label");
  }
  require<InvalidArgument>(labels <= 1 && ids <= 1, "frame: there is one label and one id at most");
  std::ranges::sort(names);
  require<InvalidArgument>(std::ranges::adjacent_find(names) == names.end(), "frame: a column is named twice");
}

/// Collects the rows of one file.
class FrameBuilder {
 public:
  FrameBuilder(const DelimitedReader& reader, const std::string& file, const FrameSpec& spec);

  void add_row();
  [[nodiscard]] Frame finish();

 private:
  /// A column of the file that ends up in the frame.
  struct Wanted {
    ColumnSpec spec;
    std::size_t in_file;
    std::size_t in_frame;  ///< among those of its kind
  };

  void want(ColumnSpec spec, std::size_t in_file);
  void add_cell(const Wanted& column, std::string_view cell);
  void add_categories(const Wanted& column, std::string_view cell);
  [[nodiscard]] bool is_missing(const Wanted& column, std::string_view cell) const;
  [[nodiscard]] double number(const Wanted& column, std::string_view cell) const;
  [[nodiscard]] double label(const Wanted& column, std::string_view cell) const;
  template <class... Parts>
  [[noreturn]] void fail_at(const Wanted& column, const Parts&... parts) const {
    fail<DataError>(reader_.where(column.in_file), ": ", parts...);
  }

  const DelimitedReader& reader_;
  const FrameSpec& spec_;
  std::vector<Wanted> wanted_;
  std::vector<CategoryColumnBuilder> builders_;
  Frame frame_;
};

FrameBuilder::FrameBuilder(const DelimitedReader& reader, const std::string& file, const FrameSpec& spec)
    : reader_(reader), spec_(spec) {
  const std::vector<std::string>& names = reader.names();
  std::vector<bool> named(names.size(), false);
  for (const ColumnSpec& column : spec.columns) {
    const auto at = std::ranges::find(names, column.name);
    require<DataError>(at != names.end(), file, ": has no column '", column.name,
                       "'; check the header, or the names that were given instead");
    const auto in_file = static_cast<std::size_t>(at - names.begin());
    named[in_file] = true;
    want(column, in_file);
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!named[i]) want({.name = names[i], .kind = spec.others}, i);
  }
}

void FrameBuilder::want(ColumnSpec spec, std::size_t in_file) {
  std::size_t in_frame = 0;
  if (spec.kind == ColumnKind::kIgnored) return;
  if (spec.kind == ColumnKind::kNumeric) {
    in_frame = frame_.numeric.size();
    frame_.numeric.push_back({.name = spec.name});
  } else if (spec.kind == ColumnKind::kCategory || spec.kind == ColumnKind::kCategories) {
    in_frame = builders_.size();
    builders_.emplace_back(spec.name, spec.kind == ColumnKind::kCategories);
  }
  wanted_.push_back({.spec = std::move(spec), .in_file = in_file, .in_frame = in_frame});
}

void FrameBuilder::add_row() {
  require<DataError>(frame_.rows < kMaxRows, "too many rows: a frame has 2^32 - 1 at most");
  ++frame_.rows;
  for (const Wanted& column : wanted_) add_cell(column, reader_.cells()[column.in_file]);
}

void FrameBuilder::add_cell(const Wanted& column, std::string_view cell) {
  const bool missing = is_missing(column, cell);
  switch (column.spec.kind) {
    case ColumnKind::kIgnored:
      return;
    case ColumnKind::kNumeric:
      frame_.numeric[column.in_frame].values.push_back(missing ? std::numeric_limits<double>::quiet_NaN()
                                                               : number(column, cell));
      return;
    case ColumnKind::kCategory:
    case ColumnKind::kCategories:
      if (missing) {
        builders_[column.in_frame].add_missing();
      } else if (column.spec.kind == ColumnKind::kCategory) {
        builders_[column.in_frame].add(cell);
      } else {
        add_categories(column, cell);
      }
      if (column.spec.kind == ColumnKind::kCategories) builders_[column.in_frame].end_row();
      return;
    case ColumnKind::kLabel:
      if (missing) fail_at(column, "the label is missing");
      frame_.labels.push_back(label(column, cell));
      return;
    case ColumnKind::kId:
      if (missing) fail_at(column, "the id is missing");
      frame_.ids.emplace_back(cell);
      return;
  }
}

void FrameBuilder::add_categories(const Wanted& column, std::string_view cell) {
  while (!cell.empty()) {
    const std::size_t end = std::min(cell.find(column.spec.separator), cell.size());
    const std::string_view category = reader_.trimmed(cell.substr(0, end));
    cell.remove_prefix(std::min(end + 1, cell.size()));
    if (category.empty()) continue;
    if (is_missing(column, category)) {
      builders_[column.in_frame].add_missing();
    } else {
      builders_[column.in_frame].add(category);
    }
  }
}

bool FrameBuilder::is_missing(const Wanted& column, std::string_view cell) const {
  return contains(spec_.missing, cell) || contains(column.spec.missing, cell);
}

double FrameBuilder::number(const Wanted& column, std::string_view cell) const {
  const auto [parsed, value] = parse_real(cell);
  if (parsed == Parsed::kMalformed) {
    fail_at(column, "not a number; if it stands for a missing value, list it as one");
  }
  if (parsed == Parsed::kOutOfRange) fail_at(column, "not a finite number, or beyond what a double holds");
  return value;
}

double FrameBuilder::label(const Wanted& column, std::string_view cell) const {
  const std::vector<std::string>& classes = column.spec.classes;
  if (classes.empty()) return number(column, cell);
  const auto at = std::ranges::find(classes, cell);
  if (at == classes.end()) fail_at(column, "the label is none of the ", classes.size(), " classes");
  return static_cast<double>(at - classes.begin());
}

Frame FrameBuilder::finish() {
  for (CategoryColumnBuilder& builder : builders_) frame_.categories.push_back(builder.finish());
  return std::move(frame_);
}

template <class Column>
const Column& find_column(const std::vector<Column>& columns, std::string_view name) {
  const auto at = std::ranges::find(columns, name, &Column::name);
  require<InvalidArgument>(at != columns.end(), "frame: there is no such column as '", name, "' of this kind");
  return *at;
}

template <class T>
std::vector<T> chosen_of(const std::vector<T>& all, std::span<const std::uint32_t> chosen) {
  std::vector<T> to;
  if (all.empty()) return to;
  to.reserve(chosen.size());
  for (const std::uint32_t row : chosen) to.push_back(all[row]);
  return to;
}

}  // namespace

const NumericColumn& Frame::numeric_column(std::string_view name) const {
  return find_column(numeric, name);
}

const CategoryColumn& Frame::category_column(std::string_view name) const {
  return find_column(categories, name);
}

Frame Frame::select_rows(std::span<const std::uint32_t> chosen) const {
  for (const std::uint32_t row : chosen) {
    require<InvalidArgument>(row < rows, "select_rows: row ", row, " of ", rows, " does not exist");
  }
  Frame to{.rows = chosen.size()};
  for (const NumericColumn& column : numeric) {
    to.numeric.push_back({.name = column.name, .values = chosen_of(column.values, chosen)});
  }
  for (const CategoryColumn& column : categories) to.categories.push_back(column.select_rows(chosen));
  to.labels = chosen_of(labels, chosen);
  to.ids = chosen_of(ids, chosen);
  return to;
}

Frame read_frame(const std::filesystem::path& path, const FrameSpec& spec) {
  check(spec);
  DelimitedReader reader(path, spec.format);
  const std::string file = path.string();
  const auto check_rows = [&](bool any) {
    require<DataError>(any, file, ": holds no rows; check that it is the right file");
  };
  // An empty file has no columns either, which would be the lesser news.
  check_rows(!reader.names().empty());
  FrameBuilder builder(reader, file, spec);
  while (reader.next()) builder.add_row();
  Frame frame = builder.finish();
  check_rows(frame.rows > 0);
  return frame;
}

}  // namespace blindfl::data

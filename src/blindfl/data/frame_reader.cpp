#include "blindfl/data/frame_reader.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/data/number.h"

namespace blindfl::data {

namespace {

constexpr std::size_t kMostFrameRows = std::numeric_limits<std::uint32_t>::max();

bool contains(const std::vector<std::string>& texts, std::string_view text) {
  return std::ranges::find(texts, text) != texts.end();
}

void check(const FrameSpec& spec) {
  require<InvalidArgument>(spec.others == ColumnKind::kIgnored || spec.others == ColumnKind::kNumeric ||
                               spec.others == ColumnKind::kCategory,
                           "frame: columns without a name in the spec are ignored, numeric or one category");
  std::vector<std::string_view> names;
  names.reserve(spec.columns.size());
  std::size_t ids = 0;
  for (const ColumnSpec& column : spec.columns) {
    names.push_back(column.name);
    ids += column.kind == ColumnKind::kId;
    require<InvalidArgument>(column.kind != ColumnKind::kCategories || !column.separator.empty(), "frame: column '",
                             column.name, "' has nothing to separate its categories");
  }
  require<InvalidArgument>(ids <= 1, "frame: there is one id at most");
  std::ranges::sort(names);
  require<InvalidArgument>(std::ranges::adjacent_find(names) == names.end(), "frame: a column is named twice");
}

FrameSpec checked(FrameSpec spec) {
  check(spec);
  return spec;
}

}  // namespace

FrameReader::FrameReader(const std::filesystem::path& path, const FrameSpec& spec)
    : FrameReader(std::make_unique<DelimitedReader>(path, spec.format), spec) {}

FrameReader::FrameReader(std::unique_ptr<DelimitedReader> file, FrameSpec spec)
    : spec_(checked(std::move(spec))), reader_(std::move(file)) {
  const std::vector<std::string>& names = reader_->names();
  // An empty file has no columns either, which would be the lesser news.
  check_any_rows(!names.empty());
  std::unordered_map<std::string_view, std::size_t> places;
  places.reserve(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) places.emplace(names[i], i);
  std::vector<bool> named(names.size(), false);
  for (const ColumnSpec& column : spec_.columns) {
    const auto at = places.find(column.name);
    require<DataError>(at != places.end(), reader_->file(), ": has no column '", column.name,
                       "'; check the header, or the names that were given instead");
    named[at->second] = true;
    want(column, at->second);
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!named[i]) want({.name = names[i], .kind = spec_.others}, i);
  }
}

void FrameReader::want(ColumnSpec spec, std::size_t in_file) {
  if (spec.kind != ColumnKind::kIgnored) wanted_.push_back({.spec = std::move(spec), .in_file = in_file});
}

void FrameReader::begin_frame() {
  frame_ = {};
  builders_.clear();
  lines_.clear();
  for (Wanted& column : wanted_) {
    if (column.spec.kind == ColumnKind::kNumeric) {
      column.in_frame = frame_.numeric.size();
      frame_.numeric.push_back({.name = column.spec.name});
    } else if (column.spec.kind == ColumnKind::kCategory || column.spec.kind == ColumnKind::kCategories) {
      column.in_frame = builders_.size();
      builders_.emplace_back(column.spec.name, column.spec.kind == ColumnKind::kCategories);
    }
  }
}

std::optional<Frame> FrameReader::next(std::size_t most) {
  require<InvalidArgument>(most > 0, "frame: nobody needs a frame without rows");
  begin_frame();
  while (frame_.rows < most && reader_->next()) add_row();
  rows_before_ += frame_.rows;
  check_any_rows(rows_before_ > 0);
  if (frame_.rows == 0) return std::nullopt;
  frame_.categories.reserve(builders_.size());
  for (CategoryColumnBuilder& builder : builders_) frame_.categories.push_back(builder.finish());
  return std::exchange(frame_, {});
}

std::string FrameReader::where(std::size_t row, std::string_view column) const {
  require<InvalidArgument>(row < lines_.size(), "frame: there is no such row in the last one");
  const auto at = std::ranges::find(names(), column);
  require<InvalidArgument>(at != names().end(), "frame: there is no such column as '", column, "'");
  return reader_->where(static_cast<std::size_t>(at - names().begin()), lines_[row]);
}

void FrameReader::add_row() {
  require<DataError>(rows_before_ + frame_.rows < kMostFrameRows, reader_->file(),
                     ": too many rows: 2^32 - 1 are the most");
  ++frame_.rows;
  lines_.push_back(reader_->line());
  for (const Wanted& column : wanted_) add_cell(column, reader_->cells()[column.in_file]);
}

void FrameReader::add_cell(const Wanted& column, std::string_view cell) {
  switch (column.spec.kind) {
    case ColumnKind::kIgnored:
      return;
    case ColumnKind::kNumeric:
      add_number(column, cell);
      return;
    case ColumnKind::kCategory:
      if (is_missing(column, cell)) {
        builders_[column.in_frame].add_missing();
      } else {
        builders_[column.in_frame].add(cell);
      }
      return;
    case ColumnKind::kCategories:
      add_categories(column, cell);
      return;
    case ColumnKind::kId:
      if (is_missing(column, cell)) fail_at(column, "the id is missing; fill it in, or leave the row out");
      frame_.ids.emplace_back(cell);
      return;
  }
}

void FrameReader::add_number(const Wanted& column, std::string_view cell) {
  const bool missing = is_missing(column, cell);
  if (missing && !column.spec.optional) {
    fail_at(column, "the number is missing, which is not allowed in this column; fill it in, or say what it becomes");
  }
  frame_.numeric[column.in_frame].values.push_back(missing ? std::numeric_limits<double>::quiet_NaN()
                                                           : number(column, cell));
}

void FrameReader::add_categories(const Wanted& column, std::string_view cell) {
  CategoryColumnBuilder& builder = builders_[column.in_frame];
  if (is_missing(column, cell)) {
    builder.add_missing();
    cell = {};
  }
  while (!cell.empty()) {
    const std::size_t end = std::min(cell.find(column.spec.separator), cell.size());
    const std::string_view category = reader_->trimmed(cell.substr(0, end));
    cell.remove_prefix(std::min(end + column.spec.separator.size(), cell.size()));
    if (category.empty()) continue;
    if (is_missing(column, category)) {
      builder.add_missing();
    } else {
      builder.add(category);
    }
  }
  builder.end_row();
}

bool FrameReader::is_missing(const Wanted& column, std::string_view cell) const {
  return contains(spec_.missing, cell) || contains(column.spec.missing, cell);
}

double FrameReader::number(const Wanted& column, std::string_view cell) const {
  const auto [parsed, value] = parse_real(cell);
  if (parsed == Parsed::kMalformed) {
    fail_at(column, "not a number; if it stands for a missing value, list it as one");
  }
  if (parsed == Parsed::kOutOfRange) fail_at(column, "not a finite number, or beyond what a double holds");
  return value;
}

template <class... Parts>
void FrameReader::fail_at(const Wanted& column, const Parts&... parts) const {
  fail<DataError>(reader_->where(column.in_file), ": ", parts...);
}

void FrameReader::check_any_rows(bool any) const {
  require<DataError>(any, reader_->file(), ": holds no rows; check that it is the right file");
}

}  // namespace blindfl::data

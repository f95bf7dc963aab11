#include "blindfl/data/frame.h"

#include <algorithm>
#include <limits>

#include "blindfl/base/error.h"
#include "blindfl/data/frame_reader.h"

namespace blindfl::data {

namespace {

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
  FrameReader reader(path, spec);
  return *reader.next(std::numeric_limits<std::size_t>::max());
}

}  // namespace blindfl::data

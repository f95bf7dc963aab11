#include "blindfl/data/category_column.h"

#include <utility>

#include "blindfl/base/error.h"

namespace blindfl::data {

std::span<const std::uint32_t> CategoryColumn::codes_of(std::size_t row) const {
  require<InvalidArgument>(row < rows(), "column '", name, "': row ", row, " of ", rows(), " does not exist");
  const std::span<const std::uint32_t> all(codes);
  return has_several() ? all.subspan(row_starts[row], row_starts[row + 1] - row_starts[row]) : all.subspan(row, 1);
}

CategoryColumn CategoryColumn::select_rows(std::span<const std::uint32_t> rows) const {
  CategoryColumn to{.name = name, .dictionary = dictionary};
  if (has_several()) to.row_starts.push_back(0);
  for (const std::uint32_t row : rows) {
    const auto of_row = codes_of(row);
    to.codes.insert(to.codes.end(), of_row.begin(), of_row.end());
    if (has_several()) to.row_starts.push_back(to.codes.size());
  }
  return to;
}

CategoryColumnBuilder::CategoryColumnBuilder(std::string name, bool several) {
  column_.name = std::move(name);
  if (several) column_.row_starts.push_back(0);
}

void CategoryColumnBuilder::add(std::string_view category) {
  auto at = places_.find(category);
  if (at == places_.end()) {
    require<DataError>(places_.size() < CategoryColumn::kMissing, "column '", column_.name,
                       "': too many different categories");
    at = places_.emplace(category, static_cast<std::uint32_t>(places_.size())).first;
  }
  column_.codes.push_back(at->second);
}

CategoryColumn CategoryColumnBuilder::finish() {
  column_.dictionary.resize(places_.size());
  while (!places_.empty()) {
    auto node = places_.extract(places_.begin());
    column_.dictionary[node.mapped()] = std::move(node.key());
  }
  return std::exchange(column_, {});
}

}  // namespace blindfl::data

#include "blindfl/data/category_column.h"

#include <utility>

#include "blindfl/base/error.h"

namespace blindfl::data {

std::span<const std::uint32_t> CategoryColumn::codes_of(std::size_t row) const {
  require<InvalidArgument>(row < rows(), "column '", name, "': row ", row, " of ", rows(), " does not exist");
  const std::span<const std::uint32_t> all(codes);
  return has_several() ? all.subspan(row_starts[row], row_starts[row + 1] - row_starts[row]) : all.subspan(row, 1);
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

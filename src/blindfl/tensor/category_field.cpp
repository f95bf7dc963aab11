#include "blindfl/tensor/category_field.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"

namespace blindfl {

namespace {

using Column = IntMatrix::Column;

void check_field(const CategoryField& field) {
  require<InvalidArgument>(field.categories > 0 && field.categories < std::numeric_limits<Column>::max(), "field '",
                           field.name, "': a table needs between 1 and 2^32 - 2 rows");
  require<InvalidArgument>(field.most > 0 && field.most <= (std::size_t{1} << 16), "field '", field.name,
                           "': a row has between 1 and 65536 categories at most");
}

IntMatrix encode_one_hot(const CategoryField& field, std::span<const std::size_t> row_starts,
                         std::span<const Column> all) {
  std::vector<Column> ones(row_starts.size() - 1, IntMatrix::kNoColumn);
  for (std::size_t r = 0; r < ones.size(); ++r) {
    if (row_starts[r] < row_starts[r + 1]) ones[r] = all[row_starts[r]];
  }
  return IntMatrix::one_hot(field.categories, std::move(ones));
}

}  // namespace

IntMatrix encode_categories(const CategoryField& field, std::span<const std::size_t> row_starts,
                            std::span<const Column> all) {
  check_field(field);
  require<InvalidArgument>(!row_starts.empty() && row_starts.front() == 0 && row_starts.back() == all.size() &&
                               std::ranges::is_sorted(row_starts),
                           "field '", field.name, "': the starts of rows do not fit the number of categories");
  require<InvalidArgument>(std::ranges::all_of(all, [&](Column c) { return c < field.categories; }), "field '",
                           field.name, "': a category is beyond the ", field.categories, " rows of the table");
  const std::size_t rows = row_starts.size() - 1;
  for (std::size_t r = 0; r < rows; ++r) {
    const std::size_t count = row_starts[r + 1] - row_starts[r];
    require<DataError>(count <= field.most, "field '", field.name, "': row ", r, " has ", count,
                       " categories, and at most ", field.most, " were declared");
  }
  if (field.most == 1) return encode_one_hot(field, row_starts, all);

  std::vector<std::size_t> starts{0};
  std::vector<Column> columns;
  std::vector<std::int64_t> values;
  for (std::size_t r = 0; r < rows; ++r) {
    std::vector<Column> row(all.begin() + static_cast<std::ptrdiff_t>(row_starts[r]),
                            all.begin() + static_cast<std::ptrdiff_t>(row_starts[r + 1]));
    std::ranges::sort(row);
    for (auto at = row.begin(); at != row.end();) {
      const auto next = std::upper_bound(at, row.end(), *at);
      const auto times = next - at;
      const double share = static_cast<double>(times) / static_cast<double>(row.size());
      columns.push_back(*at);
      values.push_back(field.pooling == Pooling::kSum ? times : std::llround(std::ldexp(share, field.scale())));
      at = next;
    }
    starts.push_back(columns.size());
  }
  return IntMatrix::csr(rows, field.categories, std::move(starts), std::move(columns), std::move(values), field.scale(),
                        field.bound());
}

IntMatrix encode_categories(const CategoryField& field, std::span<const Column> one_per_row) {
  std::vector<std::size_t> starts(one_per_row.size() + 1);
  std::iota(starts.begin(), starts.end(), std::size_t{0});
  return encode_categories(field, starts, one_per_row);
}

}  // namespace blindfl

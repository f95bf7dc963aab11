#include "blindfl/lab/attacks/attack_data.h"

#include <numeric>

#include "blindfl/base/error.h"
#include "blindfl/data/libsvm.h"
#include "blindfl/lab/local_model.h"

namespace blindfl::lab::attacks {

using torch::Tensor;
using torch::indexing::Slice;

TwoTables synthetic_columns(std::int64_t rows, std::int64_t columns_a, std::int64_t columns_b, std::uint64_t seed) {
  constexpr auto kDouble = torch::kFloat64;
  constexpr double kLargest = 4;  // within every encoding
  torch::Generator random = at::detail::createCPUGenerator(seed);
  const auto uniform = [&](torch::IntArrayRef shape) { return torch::rand(shape, random, torch::dtype(kDouble)); };
  const auto normal = [&](torch::IntArrayRef shape) { return torch::randn(shape, random, torch::dtype(kDouble)); };
  TwoTables tables;
  const Tensor often = 0.15 + 0.45 * uniform({columns_a});
  tables.a = (uniform({rows, columns_a}) < often).to(kDouble);
  tables.b = normal({rows, columns_b}).clamp(-kLargest, kLargest);
  const Tensor score =
      torch::mv(tables.a - often, normal({columns_a})) + torch::mv(tables.b, normal({columns_b})) + normal({rows});
  tables.labels = (score > 0).to(kDouble);
  return tables;
}

TwoTables real_columns(const std::filesystem::path& path, std::size_t rows, std::size_t columns,
                       std::size_t columns_a) {
  const data::Table table = data::read_libsvm(path, {.cols = columns});
  require<DataError>(table.rows() >= rows, path.string(), ": has ", table.rows(), " rows, and ", rows,
                     " were asked for");
  std::vector<std::uint32_t> first(rows);
  std::iota(first.begin(), first.end(), 0U);
  const Tensor all = lab::features_tensor(table.select_rows(first)).to_dense().to(torch::kFloat64);
  const auto middle = static_cast<std::int64_t>(columns_a);
  const Tensor a = all.index({Slice(), Slice(0, middle)});
  const Tensor often = a.mean(0);
  return {a.index({Slice(), (often > 0.01) & (often < 0.99)}), all.index({Slice(), Slice(middle)}), {}};
}

TwoTables rows_between(const TwoTables& tables, std::int64_t begin, std::int64_t end) {
  const auto part = [&](const Tensor& values) { return values.defined() ? values.index({Slice(begin, end)}) : values; };
  return {part(tables.a), part(tables.b), part(tables.labels)};
}

}  // namespace blindfl::lab::attacks

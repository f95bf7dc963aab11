#include "blindfl/lab/attacks/audit_parts.h"

#include <numeric>

#include "blindfl/base/error.h"

namespace blindfl::lab::attacks {

using torch::Tensor;
using torch::indexing::Slice;

Spread spread_of(const std::vector<double>& numbers) {
  require<InvalidArgument>(numbers.size() >= 2, "audit: chance takes more than one draw");
  const auto count = static_cast<double>(numbers.size());
  const double mean = std::accumulate(numbers.begin(), numbers.end(), 0.0) / count;
  double squares = 0;
  for (const double number : numbers) squares += (number - mean) * (number - mean);
  return {.mean = mean, .deviation = std::sqrt(squares / (count - 1))};
}

Tensor random_like(const Tensor& like, torch::Generator& random) {
  const Tensor sizes = like.to(torch::kFloat64).pow(2).mean(0, true).sqrt().clamp_min(1e-300);
  return torch::randn(like.sizes(), random, torch::dtype(torch::kFloat64)) * sizes;
}

Tensor two_valued(const Tensor& columns) {
  const Tensor values = columns.to(torch::kFloat64);
  const Tensor low = std::get<0>(values.min(0, true));
  const Tensor high = std::get<0>(values.max(0, true));
  const Tensor only_these = ((values == low) | (values == high)).all(0) & (low < high).squeeze(0);
  return (values == high).to(torch::kFloat64).index({Slice(), only_these});
}

Tensor with_constant(const Tensor& columns) {
  return torch::cat({columns.to(torch::kFloat64), torch::ones({columns.size(0), 1}, torch::kFloat64)}, 1);
}

}  // namespace blindfl::lab::attacks

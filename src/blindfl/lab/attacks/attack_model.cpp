#include "blindfl/lab/attacks/attack_model.h"

#include <algorithm>

#include "blindfl/base/error.h"
#include "blindfl/lab/attacks/compare_shares.h"

namespace blindfl::lab::attacks {

namespace {

torch::Tensor with_constant(const torch::Tensor& features) {
  return torch::cat({features.to(torch::kFloat64), torch::ones({features.size(0), 1}, torch::kFloat64)}, 1);
}

torch::Tensor as_column(const torch::Tensor& scores) {
  return scores.to(torch::kFloat64).reshape({-1, 1});
}

}  // namespace

StolenModel attack_model(const torch::Tensor& queried, const torch::Tensor& scores, const torch::Tensor& fresh,
                         const torch::Tensor& fresh_scores) {
  const torch::NoGradGuard no_grad;
  require<InvalidArgument>(queried.dim() == 2 && fresh.dim() == 2 && queried.size(1) == fresh.size(1) &&
                               queried.size(0) == scores.numel() && fresh.size(0) == fresh_scores.numel(),
                           "attack: features and scores have different numbers of rows, or of features");
  require<InvalidArgument>(queried.size(0) > queried.size(1) + 1 && fresh.size(0) >= 2,
                           "attack: there are fewer scores than unknown weights, or none to compare with");
  // Of all weights that fit the shortest: features that say the same share theirs.
  const torch::Tensor weights = torch::mm(torch::linalg::pinv(with_constant(queried), 1e-9), as_column(scores));
  const torch::Tensor stolen = torch::mm(with_constant(fresh), weights);
  const torch::Tensor truth = as_column(fresh_scores);
  const auto agree = [&](const torch::Tensor& a, const torch::Tensor& b) {
    return (a == b).to(torch::kFloat64).mean().item<double>();
  };
  const torch::Tensor positive = truth > 0;
  const double ones = positive.to(torch::kFloat64).mean().item<double>();
  return {.correlation = compare_shares(stolen, truth).correlation,
          .agreement = agree(stolen > 0, positive),
          .common = std::max(ones, 1 - ones)};
}

}  // namespace blindfl::lab::attacks

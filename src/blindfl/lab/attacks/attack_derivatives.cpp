#include "blindfl/lab/attacks/attack_derivatives.h"

#include <algorithm>

#include "blindfl/base/error.h"
#include "blindfl/lab/attacks/label_shares.h"
#include "blindfl/nn/bridge.h"
#include "blindfl/run/metrics.h"

namespace blindfl::lab::attacks {

namespace {

using torch::Tensor;

/// One row of doubles for each label, none so large that squares of it overflow: shares are numbers of many bits.
Tensor checked_derivatives(const Tensor& derivatives, const std::vector<double>& labels) {
  require<InvalidArgument>(derivatives.dim() == 2 && derivatives.size(0) == nn::torch_size(labels.size()),
                           "attack: there is not one label for each row of derivatives");
  const Tensor values = derivatives.to(torch::kFloat64);
  return values / values.abs().max().clamp_min(1e-300);
}

Tensor lengths(const Tensor& rows) {
  return rows.norm(2, {1});
}

/// The share of right guesses among rows of one label.
double share_right(const Tensor& right, const Tensor& of_label) {
  return (right & of_label).sum().item<double>() / of_label.sum().item<double>();
}

}  // namespace

std::int64_t longest_row(const Tensor& derivatives) {
  require<InvalidArgument>(derivatives.dim() == 2 && derivatives.numel() > 0, "attack: there are no derivatives");
  return lengths(derivatives.to(torch::kFloat64)).argmax().item<std::int64_t>();
}

ToldLabels attack_directions(const Tensor& derivatives, const std::vector<double>& labels, std::int64_t reference) {
  const Tensor rows = checked_derivatives(derivatives, labels);
  require<InvalidArgument>(reference >= 0 && reference < rows.size(0), "attack: there is no row ", reference,
                           " to take as the reference");
  std::vector<double> others = labels;
  others.erase(others.begin() + reference);
  (void)ones_are_rarer(others);  // for its checks

  const Tensor unit = rows / lengths(rows).clamp_min(1e-300).unsqueeze(1);
  ToldLabels told{.cosines = torch::mv(unit, unit[reference])};
  const Tensor truth = torch::tensor(labels, torch::kFloat64) == 1.0;
  const Tensor counts = torch::ones_like(truth);
  counts[reference] = false;
  const bool label_of_reference = truth[reference].item<bool>();
  const Tensor right = ((told.cosines > 0) == (truth == label_of_reference)) & counts;
  const double share = right.sum().item<double>() / counts.sum().item<double>();
  told.accuracy = std::max(share, 1 - share);
  told.balanced = (share_right(right, truth & counts) + share_right(right, truth.logical_not() & counts)) / 2;
  told.guess = most_common_share(others);
  return told;
}

Success attack_norms(const Tensor& derivatives, const std::vector<double>& labels) {
  const Tensor norms = lengths(checked_derivatives(derivatives, labels));
  const double of_ones = run::auc(nn::to_vector(norms), labels);
  return {.value = ones_are_rarer(labels) ? of_ones : 1 - of_ones, .chance = 0.5};
}

}  // namespace blindfl::lab::attacks

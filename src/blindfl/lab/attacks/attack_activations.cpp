#include "blindfl/lab/attacks/attack_activations.h"

#include "blindfl/base/error.h"
#include "blindfl/lab/attacks/label_shares.h"
#include "blindfl/nn/bridge.h"
#include "blindfl/run/metrics.h"

namespace blindfl::lab::attacks {

Success attack_activations(const torch::Tensor& contribution, const std::vector<double>& labels) {
  require<InvalidArgument>(contribution.dim() == 2 && contribution.size(0) == nn::torch_size(labels.size()),
                           "attack: there is not one label for each row of what A has");
  const std::vector<double> scores = nn::to_vector(contribution);
  if (contribution.size(1) == 1) return {.value = run::auc(scores, labels), .chance = 0.5};
  const auto classes = static_cast<std::size_t>(contribution.size(1));
  return {.value = run::class_accuracy(scores, classes, labels), .chance = most_common_share(labels)};
}

}  // namespace blindfl::lab::attacks

#include "blindfl/lab/attacks/attack_membership.h"

#include <algorithm>
#include <cmath>

#include "blindfl/base/error.h"
#include "blindfl/nn/bridge.h"
#include "blindfl/nn/models.h"
#include "blindfl/run/metrics.h"

namespace blindfl::lab::attacks {

namespace {

/// The loss of each row by itself.
std::vector<double> losses(Family family, const ScoredRows& rows) {
  const std::size_t count = rows.labels.size();
  require<InvalidArgument>(count > 0 && rows.scores.dim() == 2 && rows.scores.size(0) == nn::torch_size(count),
                           "attack: there is not one label for each row of scores");
  const torch::Tensor labels = nn::to_tensor(rows.labels);
  const torch::Tensor scores = rows.scores.to(torch::kFloat32);
  std::vector<double> losses;
  losses.reserve(count);
  for (std::int64_t i = 0; i < nn::torch_size(count); ++i) {
    losses.push_back(nn::loss(family, scores.narrow(0, i, 1), labels.narrow(0, i, 1)).item<double>());
  }
  return losses;
}

}  // namespace

Success attack_membership(Family family, const ScoredRows& trained, const ScoredRows& fresh) {
  const torch::NoGradGuard no_grad;
  std::vector<double> suspicion = losses(family, trained);
  std::vector<double> member(suspicion.size(), 1.0);
  for (const double loss : losses(family, fresh)) suspicion.push_back(loss);
  member.resize(suspicion.size(), 0.0);
  for (double& loss : suspicion) loss = -loss;
  return {.value = run::auc(suspicion, member), .chance = 0.5};
}

}  // namespace blindfl::lab::attacks

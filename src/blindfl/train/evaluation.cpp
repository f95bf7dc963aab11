#include "blindfl/train/evaluation.h"

#include <cstdint>

#include "blindfl/base/error.h"
#include "blindfl/nn/bridge.h"

namespace blindfl::train {

std::optional<Evaluation> evaluate_scores(const WeightedLoss& loss, const Predictions& predictions,
                                          const torch::Tensor& scores, const std::vector<double>& labels,
                                          const std::vector<double>& weights, const std::vector<bool>& counts) {
  require<InvalidArgument>(static_cast<std::size_t>(scores.size(0)) == labels.size(),
                           "there are not as many scores as labels");
  require<InvalidArgument>(weights.empty() || weights.size() == labels.size(),
                           "there are not as many weights as labels");
  require<InvalidArgument>(counts.empty() || counts.size() == labels.size(),
                           "there are not as many rows that may count as labels");
  std::vector<std::int64_t> known;
  Evaluation evaluation;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if ((!counts.empty() && !counts[i]) || (!weights.empty() && !(weights[i] > 0))) continue;
    known.push_back(static_cast<std::int64_t>(i));
    evaluation.labels.push_back(labels[i]);
    if (!weights.empty()) evaluation.weights.push_back(weights[i]);
  }
  if (known.empty()) return std::nullopt;
  const torch::NoGradGuard no_grad;
  const torch::Tensor chosen = scores.index_select(0, torch::tensor(known));
  evaluation.predictions = nn::to_vector(predictions(chosen));
  evaluation.columns = evaluation.predictions.size() / known.size();
  const torch::Tensor truth = nn::to_tensor(evaluation.labels);
  if (evaluation.weights.empty()) {
    evaluation.loss = loss(chosen, truth, {}).item<double>();
  } else {
    const torch::Tensor by_row = nn::to_tensor(evaluation.weights);
    evaluation.loss = (loss(chosen, truth, by_row) / by_row.mean()).item<double>();
  }
  return evaluation;
}

}  // namespace blindfl::train

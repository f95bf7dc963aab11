#include "blindfl/app/work/measures.h"

#include <algorithm>
#include <cmath>

#include "blindfl/base/error.h"
#include "blindfl/nn/bridge.h"
#include "blindfl/run/metrics.h"

namespace blindfl::app {

namespace {

using job::Metric;

constexpr double kThreshold = 0.5;
constexpr std::size_t kRocPoints = 400;
constexpr std::size_t kCalibrationBins = 10;

constexpr double kLiftShare = 0.1;

bool is_positive(double label) {
  return label > 0.5;
}

bool has_both_classes(const std::vector<double>& labels) {
  return std::ranges::any_of(labels, is_positive) && !std::ranges::all_of(labels, is_positive);
}

std::optional<double> if_possible(bool possible, double (*metric)(run::Numbers, run::Numbers, run::Numbers),
                                  const Judged& judged) {
  if (!possible) return std::nullopt;
  return metric(judged.predictions, judged.labels, judged.weights);
}

std::optional<double> value_of_classes(Metric metric, const Judged& judged) {
  const auto& [predictions, labels, weights, columns, loss] = judged;
  const bool by_column = columns > 1;
  switch (metric) {
    case Metric::kAccuracy:
      return by_column ? run::class_accuracy(predictions, columns, labels, weights)
                       : run::binary_accuracy(predictions, labels, kThreshold, weights);
    case Metric::kPrecision:
      return by_column ? run::class_precision(predictions, columns, labels, weights)
                       : run::precision(predictions, labels, kThreshold, weights);
    case Metric::kRecall:
      return by_column ? run::class_recall(predictions, columns, labels, weights)
                       : run::recall(predictions, labels, kThreshold, weights);
    case Metric::kLogLoss:
      return by_column ? run::class_log_loss(predictions, columns, labels, weights)
                       : run::log_loss(predictions, labels, weights);
    default:
      return std::nullopt;
  }
}

std::optional<double> value_of(Metric metric, const Judged& judged) {
  const bool two_classes = judged.columns == 1 && has_both_classes(judged.labels);
  const bool varies = std::ranges::adjacent_find(judged.labels, std::ranges::not_equal_to()) != judged.labels.end();
  switch (metric) {
    case Metric::kLoss:
      return judged.loss;
    case Metric::kAuc:
      return if_possible(two_classes, run::auc, judged);
    case Metric::kPrAuc:
      return if_possible(two_classes, run::average_precision, judged);
    case Metric::kKs:
      return if_possible(two_classes, run::ks, judged);
    case Metric::kLift:
      if (!two_classes) return std::nullopt;
      return run::lift(judged.predictions, judged.labels, kLiftShare, judged.weights);
    case Metric::kF1:
      return run::f1(judged.predictions, judged.labels, kThreshold, judged.weights);
    case Metric::kAccuracy:
    case Metric::kPrecision:
    case Metric::kRecall:
    case Metric::kLogLoss:
      return value_of_classes(metric, judged);
    case Metric::kRmse:
      return run::rmse(judged.predictions, judged.labels, judged.weights);
    case Metric::kR2:
      return if_possible(varies, run::r_squared, judged);
    case Metric::kMae:
      return run::mae(judged.predictions, judged.labels, judged.weights);
    case Metric::kDeviance:
      return run::poisson_deviance(judged.predictions, judged.labels, judged.weights);
  }
  fail<InvalidArgument>("there is no such metric");
}

/// The class that a row is taken for: the first of those with the highest probability.
std::size_t predicted_class(const Judged& judged, std::size_t row) {
  if (judged.columns == 1) return judged.predictions[row] > kThreshold ? 1 : 0;
  const auto first = judged.predictions.begin() + static_cast<std::ptrdiff_t>(row * judged.columns);
  const auto end = first + static_cast<std::ptrdiff_t>(judged.columns);
  return static_cast<std::size_t>(std::max_element(first, end) - first);
}

run::ClassCounts counts_of(const Judged& judged, const std::vector<std::string>& names) {
  const std::size_t classes = std::max<std::size_t>(judged.columns, 2);
  run::ClassCounts counts;
  for (std::size_t i = 0; i < classes; ++i) counts.names.push_back(i < names.size() ? names[i] : std::to_string(i));
  counts.counts.assign(classes * classes, 0);
  for (std::size_t row = 0; row < judged.labels.size(); ++row) {
    const auto actual = static_cast<std::size_t>(std::lround(judged.labels[row]));
    require<InvalidArgument>(actual < classes, "a label is none of the ", classes, " classes");
    ++counts.counts[actual * classes + predicted_class(judged, row)];
  }
  return counts;
}

}  // namespace

std::optional<Judged> judge(const JobModel& model, const train::WeightedLoss& loss, const torch::Tensor& scores,
                            const std::vector<double>& labels, const std::vector<double>& weights) {
  require<InvalidArgument>(static_cast<std::size_t>(scores.size(0)) == labels.size(),
                           "there are not as many scores as labels");
  require<InvalidArgument>(weights.empty() || weights.size() == labels.size(),
                           "there are not as many weights as labels");
  std::vector<std::int64_t> known;
  Judged judged;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (std::isnan(labels[i]) || (!weights.empty() && !(weights[i] > 0))) continue;
    known.push_back(static_cast<std::int64_t>(i));
    judged.labels.push_back(labels[i]);
    if (!weights.empty()) judged.weights.push_back(weights[i]);
  }
  if (known.empty()) return std::nullopt;
  const torch::NoGradGuard no_grad;
  const torch::Tensor chosen = scores.index_select(0, torch::tensor(known));
  judged.columns = model.outputs;
  judged.predictions = nn::to_vector(nn::predictions(model.family, chosen));
  const torch::Tensor truth = nn::to_tensor(judged.labels, judged.labels.size(), 1).view({-1});
  if (judged.weights.empty()) {
    judged.loss = loss(chosen, truth, {}).item<double>();
  } else {
    const torch::Tensor by_row = nn::to_tensor(judged.weights, judged.weights.size(), 1).view({-1});
    judged.loss = (loss(chosen, truth, by_row) / by_row.mean()).item<double>();
  }
  return judged;
}

std::vector<Metric> metrics_of(const job::Model& model, const job::Top& top) {
  if (!top.metrics.empty()) return top.metrics;
  if (!job::is_classifier(model.kind)) {
    if (model.kind == job::ModelKind::kPoisson) {
      return {Metric::kDeviance, Metric::kLoss, Metric::kRmse, Metric::kMae};
    }
    return {Metric::kRmse, Metric::kR2, Metric::kLoss, Metric::kMae};
  }
  if (family_of(model) == nn::Family::kMultinomial) {
    return {Metric::kAccuracy, Metric::kPrecision, Metric::kRecall, Metric::kLogLoss};
  }
  return {Metric::kAuc,       Metric::kPrAuc,  Metric::kKs, Metric::kLift,   Metric::kAccuracy,
          Metric::kPrecision, Metric::kRecall, Metric::kF1, Metric::kLogLoss};
}

std::vector<run::Measure> measure(const std::vector<Metric>& metrics, const Judged& judged) {
  std::vector<run::Measure> measures;
  measures.reserve(metrics.size());
  for (const Metric metric : metrics) {
    if (const auto value = value_of(metric, judged)) measures.push_back({job::Value<Metric>::write(metric), *value});
  }
  return measures;
}

bool larger_is_better(Metric metric) {
  switch (metric) {
    case Metric::kLoss:
    case Metric::kLogLoss:
    case Metric::kRmse:
    case Metric::kMae:
    case Metric::kDeviance:
      return false;
    default:
      return true;
  }
}

run::ConfusionMatrix confusion_of(const job::Model& model, const Judged& judged,
                                  const std::vector<std::string>& names) {
  if (!job::is_classifier(model.kind) || model.class_count() > run::kMostShownClasses) return {};
  std::vector<std::string> classes = names;
  for (std::size_t c = classes.size(); c < model.class_count(); ++c) classes.push_back(std::to_string(c));
  classes.resize(model.class_count());
  return run::confusion_matrix(judged.predictions, judged.labels, std::move(classes), kThreshold, judged.weights);
}

void add_curves(const job::Model& model, const Judged& judged, const std::vector<std::string>& classes,
                run::RunReport& report) {
  switch (family_of(model)) {
    case nn::Family::kLogistic:
      if (has_both_classes(judged.labels)) {
        report.roc = run::roc_curve(judged.predictions, judged.labels, kRocPoints, judged.weights);
        report.calibration = run::calibration(judged.predictions, judged.labels, kCalibrationBins, judged.weights);
      }
      [[fallthrough]];
    case nn::Family::kMultinomial:
      report.classes = counts_of(judged, classes);
      return;
    case nn::Family::kLinear:
    case nn::Family::kPoisson:
      report.regression = {.predicted = judged.predictions, .actual = judged.labels};
  }
}

}  // namespace blindfl::app

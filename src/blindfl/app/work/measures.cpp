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

bool has_both_classes(const std::vector<double>& labels) {
  const auto is_positive = [](double label) { return label > 0.5; };
  return std::ranges::any_of(labels, is_positive) && !std::ranges::all_of(labels, is_positive);
}

std::optional<double> value_of(Metric metric, const Judged& judged) {
  const auto& [predictions, labels, columns, loss] = judged;
  const bool two_classes = columns == 1 && has_both_classes(labels);
  switch (metric) {
    case Metric::kLoss:
      return loss;
    case Metric::kAuc:
      return two_classes ? std::optional(run::auc(predictions, labels)) : std::nullopt;
    case Metric::kKs:
      return two_classes ? std::optional(run::ks(predictions, labels)) : std::nullopt;
    case Metric::kAccuracy:
      return columns == 1 ? run::binary_accuracy(predictions, labels, kThreshold)
                          : run::class_accuracy(predictions, columns, labels);
    case Metric::kF1:
      return run::f1(predictions, labels, kThreshold);
    case Metric::kLogLoss:
      return columns == 1 ? run::log_loss(predictions, labels) : run::class_log_loss(predictions, columns, labels);
    case Metric::kRmse:
      return run::rmse(predictions, labels);
    case Metric::kMae:
      return run::mae(predictions, labels);
    case Metric::kDeviance:
      return run::poisson_deviance(predictions, labels);
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

Judged judge(const JobModel& model, const torch::Tensor& scores, const std::vector<double>& labels) {
  require<InvalidArgument>(static_cast<std::size_t>(scores.size(0)) == labels.size(),
                           "there are not as many scores as labels");
  std::vector<std::int64_t> known;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (!std::isnan(labels[i])) known.push_back(static_cast<std::int64_t>(i));
  }
  require<DataError>(!known.empty(), "there are no rows with a label to measure on");
  const torch::NoGradGuard no_grad;
  const torch::Tensor chosen = scores.index_select(0, torch::tensor(known));
  Judged judged;
  judged.labels.reserve(known.size());
  for (const std::int64_t i : known) judged.labels.push_back(labels[static_cast<std::size_t>(i)]);
  judged.columns = model.outputs;
  judged.predictions = nn::to_vector(nn::predictions(model.family, chosen));
  const torch::Tensor truth = nn::to_tensor(judged.labels, judged.labels.size(), 1).view({-1});
  judged.loss = nn::loss(model.family, chosen, truth).item<double>();
  return judged;
}

std::vector<Metric> metrics_of(const job::Model& model, const job::Top& top) {
  if (!top.metrics.empty()) return top.metrics;
  if (!job::is_classifier(model.kind)) {
    if (model.kind == job::ModelKind::kPoisson) return {Metric::kDeviance, Metric::kLoss, Metric::kRmse, Metric::kMae};
    return {Metric::kRmse, Metric::kLoss, Metric::kMae};
  }
  if (family_of(model) == nn::Family::kMultinomial) return {Metric::kAccuracy, Metric::kLogLoss};
  return {Metric::kAuc, Metric::kKs, Metric::kAccuracy, Metric::kF1, Metric::kLogLoss};
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
  return metric == Metric::kAuc || metric == Metric::kKs || metric == Metric::kAccuracy || metric == Metric::kF1;
}

void add_curves(const job::Model& model, const Judged& judged, const std::vector<std::string>& classes,
                run::RunReport& report) {
  switch (family_of(model)) {
    case nn::Family::kLogistic:
      if (has_both_classes(judged.labels)) {
        report.roc = run::roc_curve(judged.predictions, judged.labels, kRocPoints);
        report.calibration = run::calibration(judged.predictions, judged.labels, kCalibrationBins);
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

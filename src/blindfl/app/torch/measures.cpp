#include "blindfl/app/torch/measures.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "blindfl/base/error.h"
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
                                  const Evaluation& evaluation) {
  if (!possible) return std::nullopt;
  return metric(evaluation.predictions, evaluation.labels, evaluation.weights);
}

std::optional<double> value_of_classes(Metric metric, const Evaluation& evaluation) {
  const auto& [predictions, labels, weights, columns, loss] = evaluation;
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

std::optional<double> value_of(Metric metric, const Evaluation& evaluation) {
  const bool two_classes = evaluation.columns == 1 && has_both_classes(evaluation.labels);
  const bool varies =
      std::ranges::adjacent_find(evaluation.labels, std::ranges::not_equal_to()) != evaluation.labels.end();
  switch (metric) {
    case Metric::kLoss:
      return evaluation.loss;
    case Metric::kAuc:
      return if_possible(two_classes, run::auc, evaluation);
    case Metric::kPrAuc:
      return if_possible(two_classes, run::average_precision, evaluation);
    case Metric::kKs:
      return if_possible(two_classes, run::ks, evaluation);
    case Metric::kLift:
      if (!two_classes) return std::nullopt;
      return run::lift(evaluation.predictions, evaluation.labels, kLiftShare, evaluation.weights);
    case Metric::kF1:
      return run::f1(evaluation.predictions, evaluation.labels, kThreshold, evaluation.weights);
    case Metric::kAccuracy:
    case Metric::kPrecision:
    case Metric::kRecall:
    case Metric::kLogLoss:
      return value_of_classes(metric, evaluation);
    case Metric::kRmse:
      return run::rmse(evaluation.predictions, evaluation.labels, evaluation.weights);
    case Metric::kR2:
      return if_possible(varies, run::r_squared, evaluation);
    case Metric::kMae:
      return run::mae(evaluation.predictions, evaluation.labels, evaluation.weights);
    case Metric::kDeviance:
      return run::poisson_deviance(evaluation.predictions, evaluation.labels, evaluation.weights);
  }
  fail<InvalidArgument>("there is no such metric");
}

/// Of all classes, however many: a name, or its number, for each.
run::ConfusionMatrix all_classes(const Evaluation& evaluation, std::vector<std::string> names) {
  const std::size_t count = std::max<std::size_t>(evaluation.columns, 2);
  for (std::size_t c = names.size(); c < count; ++c) names.push_back(std::to_string(c));
  names.resize(count);
  return run::confusion_matrix(evaluation.predictions, evaluation.labels, std::move(names), kThreshold,
                               evaluation.weights);
}

}  // namespace

std::optional<Evaluation> evaluate_scores(const JobModel& model, const train::WeightedLoss& loss,
                                          const torch::Tensor& scores, const std::vector<double>& labels,
                                          const std::vector<double>& weights, const std::vector<bool>& counts) {
  const auto predictions = [&](const torch::Tensor& of) { return job_predictions(model, of); };
  return train::evaluate_scores(loss, predictions, scores, labels, weights, counts);
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

std::vector<run::Measure> measure(const std::vector<Metric>& metrics, const Evaluation& evaluation) {
  std::vector<run::Measure> measures;
  measures.reserve(metrics.size());
  for (const Metric metric : metrics) {
    if (const auto value = value_of(metric, evaluation))
      measures.push_back({job::Value<Metric>::write(metric), *value});
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

run::ConfusionMatrix confusion_of(const job::Model& model, const Evaluation& evaluation,
                                  const std::vector<std::string>& names) {
  if (!job::is_classifier(model.kind) || model.class_count() > run::kMostShownClasses) return {};
  return all_classes(evaluation, names);
}

void add_curves(const job::Model& model, const Evaluation& evaluation, const std::vector<std::string>& classes,
                run::RunReport& report) {
  switch (family_of(model)) {
    case nn::Family::kLogistic:
      if (has_both_classes(evaluation.labels)) {
        report.roc = run::roc_curve(evaluation.predictions, evaluation.labels, kRocPoints, evaluation.weights);
        report.calibration =
            run::calibration(evaluation.predictions, evaluation.labels, kCalibrationBins, evaluation.weights);
      }
      [[fallthrough]];
    case nn::Family::kMultinomial:
      report.classes = all_classes(evaluation, classes);
      return;
    case nn::Family::kLinear:
    case nn::Family::kPoisson:
      report.regression = {.predicted = evaluation.predictions, .actual = evaluation.labels};
  }
}

}  // namespace blindfl::app

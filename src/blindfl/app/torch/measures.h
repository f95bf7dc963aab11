#pragma once

#include <torch/torch.h>

#include <optional>
#include <string>
#include <vector>

#include "blindfl/app/job/job.h"
#include "blindfl/app/torch/job_model.h"
#include "blindfl/run/confusion.h"
#include "blindfl/run/measure.h"
#include "blindfl/run/report.h"
#include "blindfl/train/evaluation.h"

namespace blindfl::app {

using train::Evaluation;

/// As `train::evaluate_scores` does, with a job's predictions.
[[nodiscard]] std::optional<Evaluation> evaluate_scores(const JobModel& model, const train::WeightedLoss& loss,
                                                        const torch::Tensor& scores, const std::vector<double>& labels,
                                                        const std::vector<double>& weights = {},
                                                        const std::vector<bool>& counts = {});

/// What a job measures, the one that matters first: what its owner lists, or what suits the model.
[[nodiscard]] std::vector<job::Metric> metrics_of(const job::Model& model, const job::Top& top);
/// What cannot be measured on these rows, such as the AUC of one class, is left out.
[[nodiscard]] std::vector<run::Measure> measure(const std::vector<job::Metric>& metrics, const Evaluation& evaluation);
/// Whether a larger value is a better one.
[[nodiscard]] bool larger_is_better(job::Metric metric);

/// How rows of the classes were taken, at 0.5 if there are two; empty for models without classes, and for more of them
/// than anybody wants to see. `names` are those of the classes, or none: then their numbers.
[[nodiscard]] run::ConfusionMatrix confusion_of(const job::Model& model, const Evaluation& evaluation,
                                                const std::vector<std::string>& names);

/// What quality is drawn from: the confusion matrix of a classifier, ROC and calibration for two classes that both
/// occur, predictions and what they should be of a regression. `classes` are their names, in order.
void add_curves(const job::Model& model, const Evaluation& evaluation, const std::vector<std::string>& classes,
                run::RunReport& report);

}  // namespace blindfl::app

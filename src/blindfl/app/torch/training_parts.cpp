#include "blindfl/app/torch/training_parts.h"

#include <ostream>
#include <span>

#include "blindfl/app/plan/plan_text.h"
#include "blindfl/base/error.h"
#include "blindfl/base/random.h"
#include "blindfl/nn/shared_evaluation.h"

namespace blindfl::app {

namespace {

SplitPlaces places_of(const AgreedRun& agreed) {
  const job::Training& training = agreed.job.shared.training;
  return split_places(split_of(training, agreed.alignment.train.size()), training.order_seed);
}

Weighting weighting_at(const TrainingTask& task, const PreparedData& data, const AgreedRun& agreed,
                       const SplitPlaces& split, const protocol::Alignment& trained_on) {
  if (!task.is_b()) return {};
  Weighting weighting =
      weighting_of(agreed.job, data.train, trained_on, select_places(agreed.alignment.train, split.validation));
  if (!weighting.by_class.empty()) {
    task.out << weight_words(data.preparation.classes(), weighting.by_class) << "\n";
  }
  return weighting;
}

void tell_counts(const TrainingTask& task, const PreparedData& data, const RunRows& rows) {
  std::ostream& out = task.out;
  out << "training on " << rows.counts.training << " rows";
  if (rows.validation) out << ", validating on " << rows.counts.validation;
  if (rows.test) out << ", testing on " << rows.counts.test << (data.test_file ? "" : " of the same file");
  const std::size_t placeholders = rows.training.rows() - rows.training.real();
  if (task.is_b() && placeholders > 0) {
    out << "; " << placeholders << " placeholders among the rows to train on do not count";
  }
  out << "\n";
}

/// What early stopping looks at: the metric that matters first, or, where it cannot be measured, the loss.
train::Watched watch(job::Metric metric, const Evaluation& evaluation) {
  const std::vector<run::Measure> value = measure({metric}, evaluation);
  if (value.empty()) return {.name = "loss", .value = evaluation.loss, .larger_is_better = false};
  return {.name = value.front().name, .value = value.front().value, .larger_is_better = larger_is_better(metric)};
}

/// The mean loss and the accuracy, and no score: a row that is scored under many weights gives its features away.
std::optional<train::Validation> validate_shared(const JobModel& model, const RunRows& rows, std::size_t batch) {
  train::SharedLearner learner = model.learner;
  const LossRows validated(*rows.validation, model.labels, rows.weighting.by_class);
  const auto means = nn::shared_means(*learner->model, *learner->loss, validated, batch);
  if (!means) return std::nullopt;
  const std::string name = job::Value<job::Metric>::write(job::Metric::kLoss);
  train::Validation validation{.measures = {{name, means->loss}},
                               .watched = {.name = name, .value = means->loss, .larger_is_better = false}};
  if (means->accuracy) {
    validation.measures.push_back({job::Value<job::Metric>::write(job::Metric::kAccuracy), *means->accuracy});
  }
  return validation;
}

/// With several A's the layers say with whom they are; an A has those with B alone.
std::vector<protocol::PlanRow> plan_with_each(const TrainingTask& task, const AgreedRun& agreed) {
  std::vector<protocol::PlanRow> rows;
  for (const LayerEstimate& layer : agreed.expected.layers) {
    if (!task.is_b() && layer.pair != agreed.shapes_a.name(agreed.place)) continue;
    rows.insert(rows.end(), layer.rows.begin(), layer.rows.end());
  }
  return rows;
}

}  // namespace

RunRows::RunRows(const TrainingTask& task, const PreparedData& data, const AgreedRun& agreed)
    : RunRows(task, data, agreed, places_of(agreed),
              select_places(agreed.alignment.train, places_of(agreed).training)) {}

RunRows::RunRows(const TrainingTask& task, const PreparedData& data, const AgreedRun& agreed, const SplitPlaces& split,
                 const protocol::Alignment& trained_on)
    : weighting(weighting_at(task, data, agreed, split, trained_on)),
      training(*data.train.rows, trained_on, weighting.by_row) {
  const auto choose = [&](std::optional<AlignedRows>& rows, const std::vector<std::uint32_t>& places,
                          std::span<const double> weights) {
    if (!places.empty()) rows.emplace(*data.train.rows, select_places(agreed.alignment.train, places), weights);
  };
  choose(validation, split.validation, weighting.by_validated_row);
  choose(test, split.test, {});
  if (data.test_file) test.emplace(*data.test_file->rows, *agreed.alignment.test);
  // A cannot tell which of its rows have no label at B.
  const auto count = [&](const AlignedRows& rows) { return task.is_b() ? rows.real() : rows.rows(); };
  counts = {
      .training = count(training), .validation = validation ? count(*validation) : 0, .test = test ? count(*test) : 0};
  require<DataError>(counts.training > 0,
                     "none of the rows to train on is one that both parties have; they have too few in common");
  // Both know how many rows these are, so that both end here.
  const bool tells_of_rows =
      agreed.job.shared.model.shared_top() && validation && validation->rows() < nn::kLeastRowsOfMeanLoss;
  require<ConfigError>(
      !tells_of_rows, "shared.training.validation_share keeps back ", validation ? validation->rows() : 0,
      " rows. Under a shared top B learns their mean loss in every epoch, which of fewer than ",
      nn::kLeastRowsOfMeanLoss, " rows would tell of each. Set it to 0, or as high as it takes to have as many rows");
  tell_counts(task, data, *this);
}

BuiltModel build_model(const TrainingTask& task, const protocol::Sessions& sessions, const PreparedData& data,
                       const AgreedRun& agreed, const RunRows& rows) {
  torch::manual_seed(task.job.own.run.weight_seed.value_or(Random().below(std::uint64_t{1} << 62)));
  BuiltModel built{.model = make_model(sessions, agreed.job.shared.model, agreed.layers), .loss = {}};
  if (agreed.shapes_a.several()) built.model.plan = plan_with_each(task, agreed);
  for (const std::string& line : choice_lines(built.model.plan)) task.out << line << "\n";
  if (task.is_b() && built.model.family == nn::Family::kLinear) {
    built.model.labels = standardised(rows.training.only_real().in_order(data.train.labels));
  }
  built.loss = job_loss(built.model, rows.weighting.by_class);
  return built;
}

data::Batch LossRows::batch(std::span<const std::uint32_t> chosen, std::size_t batch_size) const {
  data::Batch batch = rows_.batch(chosen, batch_size);
  if (!by_class_.empty()) {
    batch.weights.resize(batch.labels.size(), 1.0);
    for (std::size_t i = 0; i < batch.labels.size(); ++i) {
      batch.weights[i] *= by_class_[static_cast<std::size_t>(batch.labels[i])];
    }
  }
  for (double& label : batch.labels) label = (label - scaling_.center) / scaling_.scale;
  return batch;
}

std::optional<Evaluation> evaluate_rows(const BuiltModel& built, const torch::Tensor& scores, const AlignedRows& rows,
                                        const PreparedRows& source) {
  return evaluate_scores(built.model, built.loss, scores, rows.in_order(source.labels),
                         source.weights.empty() ? std::vector<double>() : rows.in_order(source.weights),
                         rows.alignment().real);
}

std::optional<train::Validation> validate(const PreparedData& data, const AgreedRun& agreed, const RunRows& rows,
                                          const BuiltModel& built) {
  const job::Job& job = agreed.job;
  if (built.model.shared_top()) return validate_shared(built.model, rows, agreed.options.batch);
  const torch::Tensor scores = train::score(built.model.forward, *rows.validation, agreed.options.batch);
  if (job.own.party != Party::kB) return std::nullopt;
  const auto evaluation = evaluate_rows(built, scores, *rows.validation, data.train);
  if (!evaluation) return std::nullopt;
  const std::vector<job::Metric> metrics = metrics_of(job.shared.model, job.own.top);
  return train::Validation{.measures = measure(metrics, *evaluation), .watched = watch(metrics.front(), *evaluation)};
}

}  // namespace blindfl::app

#pragma once

#include <optional>
#include <span>

#include "blindfl/app/torch/aligned_rows.h"
#include "blindfl/app/torch/job_model.h"
#include "blindfl/app/torch/measures.h"
#include "blindfl/app/torch/row_split.h"
#include "blindfl/app/torch/training_agreement.h"
#include "blindfl/app/torch/weighting.h"
#include "blindfl/run/summary.h"
#include "blindfl/train/training_loop.h"

namespace blindfl::app {

/// The rows of a run, by what they are for. `data` must outlive this.
class RunRows {
 public:
  /// Tells how many there are. Throws DataError if none of those to train on is one that both parties have; ConfigError
  /// under a shared top, at both parties, if there are too few to validate on: see nn::kLeastRowsOfMeanLoss.
  RunRows(const TrainingTask& task, const PreparedData& data, const AgreedRun& agreed);

  Weighting weighting;  ///< at B
  AlignedRows training;
  std::optional<AlignedRows> validation;
  std::optional<AlignedRows> test;
  run::RowCounts counts;  ///< B counts its own, A all

 private:
  RunRows(const TrainingTask& task, const PreparedData& data, const AgreedRun& agreed, const SplitPlaces& split,
          const protocol::Alignment& trained_on);
};

/// A job's model as it is trained.
struct BuiltModel {
  JobModel model;
  train::WeightedLoss loss;
};
/// Makes the model with this party's initial shares, and tells what was chosen for its layers.
[[nodiscard]] BuiltModel build_model(const TrainingTask& task, const protocol::Sessions& sessions,
                                     const PreparedData& data, const AgreedRun& agreed, const RunRows& rows);

/// Rows as a loss on shares takes them: numeric labels scaled (see LabelScaling), and weights of rows times those of
/// their classes, if there are any. `rows` and `by_class` must outlive this.
class LossRows final : public data::RowSource {
 public:
  LossRows(const data::RowSource& rows, const LabelScaling& scaling, std::span<const double> by_class)
      : rows_(rows), scaling_(scaling), by_class_(by_class) {}
  [[nodiscard]] std::size_t rows() const override { return rows_.rows(); }
  [[nodiscard]] data::Batch batch(std::span<const std::uint32_t> chosen, std::size_t batch_size) const override;

 private:
  const data::RowSource& rows_;
  LabelScaling scaling_;
  std::span<const double> by_class_;
};

/// What B finds on some of its rows; nothing at A, and if none of them counts. `scores` are in the order of `rows`, and
/// those of `source`'s.
[[nodiscard]] std::optional<Evaluation> evaluate_rows(const BuiltModel& built, const torch::Tensor& scores,
                                                      const AlignedRows& rows, const PreparedRows& source);

/// Scores the validation rows, which there must be, and at B says how good the scores are. Under a shared top no score
/// is opened, but the mean loss and, for classes, the accuracy, to B.
[[nodiscard]] std::optional<train::Validation> validate(const PreparedData& data, const AgreedRun& agreed,
                                                        const RunRows& rows, const BuiltModel& built);

}  // namespace blindfl::app

#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "blindfl/app/job/job.h"
#include "blindfl/app/job/preparation.h"
#include "blindfl/app/torch/kept_view.h"
#include "blindfl/app/torch/row_split.h"
#include "blindfl/app/torch/run_files.h"
#include "blindfl/run/summary.h"

namespace blindfl::app {

/// The rows of a run by what they were for.
enum class RowSet { kTraining, kValidation, kTest };

/// A finished run as one party has it: its folder, and its data files, which must be as they were.
class AuditedRun {
 public:
  /// Throws ConfigError if the folder holds no finished run; DataError, naming the file, if one of it is damaged, or a
  /// data file is gone or has changed since the run began.
  explicit AuditedRun(const std::filesystem::path& folder);

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  [[nodiscard]] const run::RunSummary& summary() const { return summary_; }
  [[nodiscard]] Party party() const { return facts_.party; }
  [[nodiscard]] const ModelFacts& facts() const { return facts_; }
  [[nodiscard]] const std::vector<SeenPass>& view() const { return view_; }

  /// Rows in the order that both parties follow; none if the run had none of these.
  [[nodiscard]] protocol::Alignment rows(RowSet set) const;
  /// This party's features of the first `count` rows, rows x columns: numeric ones, or one column for each category.
  [[nodiscard]] torch::Tensor features(RowSet set, std::size_t count, bool categories) const;
  /// How many columns these have.
  [[nodiscard]] std::size_t columns(bool categories) const;
  /// B's labels of all rows of a set, placeholders included; empty at A, and where the file has none.
  [[nodiscard]] std::vector<double> labels(RowSet set) const;
  /// What a file of scores calls each row of a set that is no placeholder, and the place that it has in the set.
  struct NamedRow {
    std::string name;
    std::size_t place = 0;
  };
  [[nodiscard]] std::vector<NamedRow> named_rows(RowSet set) const;

 private:
  [[nodiscard]] const PreparedRows& source(RowSet set) const;

  std::filesystem::path folder_;
  run::RunSummary summary_;
  ModelFacts facts_;
  job::Job job_;
  PreparedRows train_;
  std::optional<PreparedRows> test_file_;
  SavedAlignment alignment_;
  SplitPlaces split_;
  std::vector<SeenPass> view_;
};

/// Scores in a file as `predict --scores` writes it, row by row; those that `named` does not name are passed over.
/// The row of each score among `named`, and the scores, rows x columns of the file.
struct ScoresOfFile {
  std::vector<std::size_t> of;  ///< index into `named`
  torch::Tensor values;
};
/// Throws DataError, naming the file and the line, for what is no number.
[[nodiscard]] ScoresOfFile read_scores(const std::filesystem::path& path,
                                       const std::vector<AuditedRun::NamedRow>& named);

}  // namespace blindfl::app

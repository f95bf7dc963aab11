#pragma once

#include <algorithm>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "blindfl/app/torch/aligned_rows.h"
#include "blindfl/app/torch/job_session.h"
#include "blindfl/app/torch/measures.h"
#include "blindfl/app/torch/resume_options.h"
#include "blindfl/app/torch/run_files.h"
#include "blindfl/app/torch/weighting.h"
#include "blindfl/train/checkpoint.h"
#include "blindfl/train/run_log.h"
#include "blindfl/train/run_start.h"

namespace blindfl::app {

/// One party's training, from its files to its shares of a model in the run's folder; or the rest of it, after it was
/// interrupted or killed.
class TrainingRun {
 public:
  enum class Start { kNew, kResume };

  /// `out` must outlive this.
  TrainingRun(const job::Job& job, Start start, std::ostream& out, ResumeOptions resume = {});
  ~TrainingRun();

  /// Throws whatever goes wrong; the folder then says so, and holds what is needed to resume.
  void run();

 private:
  void open_folder();
  void read_files();
  void tell_about_data();
  void ask_consent();
  void meet_peer();
  void agree_on_start(const train::RunOffer& mine, const train::RunOffer& theirs);
  void settle_epochs();
  void warn_of_hiding() const;
  void check_progress() const;
  [[nodiscard]] std::string way_on() const;
  void begin_folder();
  void take_rows();
  void make_parts();
  void load_or_begin();
  void train();
  void validate(train::StopVote& vote);
  void count_rows();
  void count_votes(const train::StopVote& mine, const train::StopVote& theirs);
  void checkpoint();
  void count_traffic();
  void finish();
  void keep_test(const ModelFacts& facts) const;
  void keep_best();
  void note_loss();
  void score_test();
  [[nodiscard]] std::optional<Evaluation> evaluate_test(const torch::Tensor& scores) const;
  void add_baseline();
  void measure_baseline();
  /// What early stopping looks at.
  struct Watched {
    std::string name;
    double value = 0;
    double sign = 1;  ///< of what is better
  };
  [[nodiscard]] Watched watch(const Evaluation& evaluation) const;
  [[nodiscard]] train::TrainOptions train_options() const;
  [[nodiscard]] std::uint64_t epoch_of(std::uint64_t step) const;
  [[nodiscard]] bool checkpoint_is_due(bool epoch_ends) const;
  [[nodiscard]] ModelFacts facts() const;
  [[nodiscard]] run::RunReport write_report();
  void write_summary(run::RunState state);
  /// Of the test rows: of a file of their own, or of the training file.
  [[nodiscard]] const PreparedRows& test_file() const { return test_rows_ ? *test_rows_ : train_rows_; }
  [[nodiscard]] bool is_b() const { return party_ == Party::kB; }
  /// The peer may be one checkpoint behind: it needs the one before the last.
  [[nodiscard]] std::size_t kept_checkpoints() const { return std::max<std::size_t>(2, job_.own.run.keep); }

  job::Job job_;
  Start start_;
  ResumeOptions resume_;
  std::size_t epochs_ = 0;  ///< that this run goes to; layers are planned for those of the job
  std::ostream& out_;
  Party party_;
  std::optional<run::RunFolder> folder_;
  run::RunSummary summary_;
  std::optional<Preparation> preparation_;
  PreparedRows train_rows_;
  std::optional<PreparedRows> test_rows_;
  std::optional<MarkedFile> train_file_;
  std::optional<MarkedFile> test_file_;
  train::SavedKeys keys_;
  std::optional<std::filesystem::path> early_ledger_;
  std::unique_ptr<JobSession> connection_;
  std::optional<std::uint64_t> resumed_;  ///< step that both resume after
  PartyShape theirs_;
  SavedAlignment alignment_;
  Weighting weighting_;
  std::optional<AlignedRows> training_;
  std::optional<AlignedRows> validation_;
  std::optional<AlignedRows> test_;
  std::optional<JobLayers> layers_;
  JobModel model_;
  train::WeightedLoss loss_;
  std::unique_ptr<train::Trainer> trainer_;
  std::unique_ptr<train::RunLog> log_;
  train::TrainingState state_;
  net::Traffic sent_before_;  ///< by earlier processes of the same run
  net::Traffic received_before_;
  std::size_t keys_saved_ = 0;
  std::optional<Evaluation> evaluation_;  ///< of the test rows, at B
  std::uint64_t best_before_ = 0;         ///< the best step when the checkpoint before the last was written
  bool begun_ = false;                    ///< this process made the folder
  bool stopped_ = false;
  double setup_seconds_ = 0;
  double training_seconds_ = 0;
  double waiting_ = 0;  ///< while training
  double sending_ = 0;
  double in_protocol_ = 0;  ///< waiting and sending included
  net::Traffic trained_sent_;
  net::Traffic trained_received_;
  std::uint64_t steps_here_ = 0;
};

}  // namespace blindfl::app

#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/run/summary.h"

// What a run leaves behind, at one party, for its owner's eyes only:
//
//   run.lock           held by the process that uses the folder
//   summary.json       what the run was and how it ended
//   metrics.jsonl      what was measured while training; at A measures of the work alone
//   events/            the same for TensorBoard
//   transcript.ledger  every message that crossed the link, without payloads; transcript-2.ledger after a restart
//   checkpoints/       step-000000000120.ckpt
//   model/             this party's shares of the model
//   report.html        all of it, for people
//   view/              what this party saw of its rows for validation and test, if its job says so
//   attacks.html       what attacks make of that: a page that an audit adds, of the model that was there then

namespace blindfl {
class DiskFile;
}

namespace blindfl::run {

/// A checkpoint that is there.
struct SavedStep {
  std::uint64_t step = 0;
  std::filesystem::path path;
};

/// The summary in a run's folder, without the folder's lock: to learn what is there.
/// Throws DataError if it cannot be read or is damaged.
[[nodiscard]] RunSummary read_summary(const std::filesystem::path& folder);

/// The folder of one run, used by this process alone until the end of the scope.
class RunFolder {
 public:
  /// Makes the folder, mode 0700, with all that belongs in it, and writes `summary`. A folder that is there must be
  /// empty. Throws ConfigError if it is not, another process uses it, or the folder above is not there;
  /// InvalidArgument for a summary that cannot be written.
  [[nodiscard]] static RunFolder create(const std::filesystem::path& path, const RunSummary& summary);

  /// Opens the folder of a run of that party and name again, to resume it, and removes what a killed process left half
  /// written. Throws ConfigError if it is another's, another process uses it or there is none; DataError if its summary
  /// is damaged.
  [[nodiscard]] static RunFolder reopen(const std::filesystem::path& path, Party party, std::string_view run);

  RunFolder(RunFolder&&) noexcept;
  ~RunFolder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// The last summary that was written or read.
  [[nodiscard]] const RunSummary& summary() const { return summary_; }
  /// Whose files are in it, for the label of checkpoints and models: "party A of run credit".
  [[nodiscard]] std::string owner() const;

  [[nodiscard]] std::filesystem::path summary_path() const { return path_ / "summary.json"; }
  [[nodiscard]] std::filesystem::path metrics_path() const { return path_ / "metrics.jsonl"; }
  [[nodiscard]] std::filesystem::path events_path() const { return path_ / "events"; }
  [[nodiscard]] std::filesystem::path model_path() const { return path_ / "model"; }
  [[nodiscard]] std::filesystem::path report_path() const { return path_ / "report.html"; }
  [[nodiscard]] std::filesystem::path view_path() const { return path_ / "view"; }
  [[nodiscard]] std::filesystem::path attacks_path() const { return path_ / "attacks.html"; }
  [[nodiscard]] std::filesystem::path checkpoint_path(std::uint64_t step) const;

  /// Ledgers are never overwritten: a name that is not taken.
  [[nodiscard]] std::filesystem::path new_ledger_path(std::string_view link = {}) const;

  /// Checkpoints, the newest first. Nothing is known of their content.
  [[nodiscard]] std::vector<SavedStep> checkpoints() const;

  /// Replaces the summary, in one step. Throws InvalidArgument if it is another run's or cannot be written.
  void write_summary(const RunSummary& summary);
  /// Replaces the report, in one step; a page of attacks, which is of an earlier model, goes.
  void write_report(std::string_view html);
  /// Writes the page of attacks, and the report with a link to it, if there is one.
  void write_attacks(std::string_view html, const std::optional<std::string>& report);
  /// Makes the folder for what this party saw, if it is not there.
  void make_view_folder() const;

 private:
  explicit RunFolder(std::filesystem::path path);

  std::filesystem::path path_;
  std::unique_ptr<DiskFile> lock_;
  RunSummary summary_;
};

}  // namespace blindfl::run

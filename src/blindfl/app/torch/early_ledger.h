#pragma once

#include <filesystem>
#include <optional>

#include "blindfl/run/run_folder.h"

namespace blindfl::app {

/// Where a training writes its ledger: in the run's folder; beside it, with this process's number, as long as there is
/// none; or nowhere.
class LedgerPlace {
 public:
  /// `opened` is the run that is in `folder`, if there is one.
  LedgerPlace(bool is_written, const std::filesystem::path& folder, const std::optional<run::RunFolder>& opened);
  LedgerPlace(const LedgerPlace&) = delete;
  LedgerPlace& operator=(const LedgerPlace&) = delete;
  /// Removes a ledger of a run that never got a folder.
  ~LedgerPlace();

  [[nodiscard]] const std::optional<std::filesystem::path>& path() const { return path_; }
  /// Moves the ledger out of a folder that will be removed.
  void leave_folder() { move_to(early_); }
  void enter_folder(const run::RunFolder& folder) { move_to(folder.new_ledger_path()); }

 private:
  void move_to(const std::filesystem::path& place);

  std::filesystem::path early_;
  std::optional<std::filesystem::path> path_;
};

/// Removes the ledgers beside a folder of processes that are no more.
void remove_old_early_ledgers(const std::filesystem::path& folder);

}  // namespace blindfl::app

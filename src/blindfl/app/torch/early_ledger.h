#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "blindfl/app/job/own.h"
#include "blindfl/run/run_folder.h"

namespace blindfl::app {

/// Where a training writes its ledgers, one for each link: in the run's folder; beside it, with this process's number,
/// as long as there is none; or nowhere.
class LedgerPlace {
 public:
  /// `opened` is the run that is in `folder`, if there is one.
  LedgerPlace(bool is_written, const std::filesystem::path& folder, const job::Link& link,
              const std::optional<run::RunFolder>& opened);
  LedgerPlace(const LedgerPlace&) = delete;
  LedgerPlace& operator=(const LedgerPlace&) = delete;
  /// Removes ledgers of a run that never got a folder.
  ~LedgerPlace();

  /// In the order of the links; empty: nowhere.
  [[nodiscard]] const std::vector<std::filesystem::path>& paths() const { return paths_; }
  /// Moves the ledgers out of a folder that will be removed.
  void leave_folder();
  void enter_folder(const run::RunFolder& folder);

 private:
  void move_to(std::size_t link, const std::filesystem::path& place);

  std::vector<std::string> names_;            ///< of the links; one without a name, if there is only one
  std::vector<std::filesystem::path> early_;  ///< of each
  std::vector<std::filesystem::path> paths_;
};

/// Removes the ledgers beside a folder of processes that are no more.
void remove_old_early_ledgers(const std::filesystem::path& folder);

}  // namespace blindfl::app

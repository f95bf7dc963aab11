#pragma once

#include <filesystem>

// Ledgers of runs whose folder is not there yet.

namespace blindfl::app {

/// Where this process keeps its ledger until the run's folder is made: beside it, with this process's number.
[[nodiscard]] std::filesystem::path early_ledger_path(const std::filesystem::path& folder);

/// Removes the early ledgers of processes that are no more.
void remove_old_early_ledgers(const std::filesystem::path& folder);

}  // namespace blindfl::app

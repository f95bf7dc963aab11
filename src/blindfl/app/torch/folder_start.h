#pragma once

#include <filesystem>

// What is on disk around the beginning of a run, when its folder is not there yet, or holds nothing of value.

namespace blindfl::app {

/// Whether all that is in a folder is what a process leaves that was killed while it made a run's folder.
[[nodiscard]] bool is_only_begun(const std::filesystem::path& folder);

/// Removes a run's folder, its summary after all else: whoever is killed meanwhile leaves a run without checkpoints,
/// and not a folder that nobody knows.
void remove_run(const std::filesystem::path& folder);

/// Where this process keeps its ledger until the run's folder is made: beside it, with this process's number.
[[nodiscard]] std::filesystem::path early_ledger_path(const std::filesystem::path& folder);

/// Removes the early ledgers of processes that are no more.
void remove_old_early_ledgers(const std::filesystem::path& folder);

}  // namespace blindfl::app

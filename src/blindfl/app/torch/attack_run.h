#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>

// `blindfl audit --attacks`: what a party's own view of its finished run gives away.

namespace blindfl::app {

struct AttackTask {
  std::filesystem::path folder;                               ///< of the party's own run
  std::optional<std::filesystem::path> truth = {};            ///< the peer's folder of the same run, in a rehearsal
  std::optional<std::filesystem::path> training_scores = {};  ///< at B: scores of rows that were trained with
};

/// Runs the attacks that apply, tells what came of them, and adds a page to the run's report: attacks.html, and a link
/// to it. Nothing is sent, and the peer is not needed.
/// Throws ConfigError if there is no finished run, or `truth` is not the peer's folder of it; DataError for damaged
/// files, and where a data file is no more what it was.
void attack_own_run(const AttackTask& task, std::ostream& out);

}  // namespace blindfl::app

#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/net/channel.h"
#include "blindfl/run/measure.h"

// `summary.json`: what a run was and how it ended, for programs. docs/run_folder.md has its members.

namespace blindfl::run {

enum class RunState { kRunning, kFinished, kInterrupted, kFailed };

/// "running", "finished", "interrupted" or "failed".
[[nodiscard]] std::string_view name_of(RunState state);

struct RunSummary {
  Party party{};
  std::string run = {};      ///< the name that both parties know it by: 1 to 64 printable ASCII characters
  std::string release = {};  ///< of the program
  std::string model = {};    ///< in a few words
  RunState state = RunState::kRunning;
  std::chrono::sys_seconds started{};
  std::optional<std::chrono::sys_seconds> ended = std::nullopt;
  std::uint64_t steps = 0;
  std::uint64_t epochs = 0;
  double seconds = 0;  ///< of work, without pauses between processes
  net::Traffic sent{};
  net::Traffic received{};
  std::vector<Measure> results = {};  ///< of the finished model; at A measures of the work alone
};

/// No summary is longer.
constexpr std::size_t kMaxSummaryBytes = std::size_t{1} << 20;

/// Throws InvalidArgument for a name that does not fit, a result that A may not keep or one that is there twice.
[[nodiscard]] std::string summary_text(const RunSummary& summary);

/// What `summary_text` wrote; what is not known here is passed over. `name` is what errors call it.
/// Throws DataError if it is something else, or of a newer version.
[[nodiscard]] RunSummary parse_summary(std::string_view text, const std::string& name);

}  // namespace blindfl::run

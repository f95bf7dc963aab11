#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/net/channel.h"
#include "blindfl/run/confusion.h"
#include "blindfl/run/measure.h"

// `summary.json`: what a run was and how it ended, for programs. docs/formats.md has its members.

namespace blindfl::run {

enum class RunState { kRunning, kFinished, kInterrupted, kFailed };

/// "running", "finished", "interrupted" or "failed".
[[nodiscard]] std::string_view name_of(RunState state);

/// How many rows a run used, and for what. B counts its own; A cannot tell which of them are placeholders, and counts
/// all.
struct RowCounts {
  std::uint64_t training = 0;
  std::uint64_t validation = 0;
  std::uint64_t test = 0;

  bool operator==(const RowCounts&) const = default;
};

/// The model that a run keeps because validation was best with it.
struct BestModel {
  std::uint64_t step = 0;
  std::uint64_t epoch = 0;

  bool operator==(const BestModel&) const = default;
};

/// Under a shared top: how often the parties looked whether values were inside the range of the functions.
struct RangeChecks {
  std::uint64_t inside = 0;   ///< all were, in training as it stands
  std::uint64_t outside = 0;  ///< some were not, which ended the run each time

  bool operator==(const RangeChecks&) const = default;
};

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
  RowCounts rows{};
  RangeChecks range_checks{};
  std::optional<BestModel> best = std::nullopt;      ///< with early stopping: what is kept, and what results are of
  bool stopped_early = false;                        ///< validation did not improve any more
  std::vector<Measure> results = {};                 ///< of the finished model; at A measures of the work alone
  ConfusionMatrix confusion = {};                    ///< of the test rows; at B only, of classifiers of few classes
  std::vector<Measure> baseline = {};                ///< at B only: the same measures of a model of B's features alone
  std::optional<bool> still_falling = std::nullopt;  ///< at B only: whether the loss was, when training ended
};

/// No summary is longer.
constexpr std::size_t kMaxSummaryBytes = std::size_t{1} << 20;

/// Throws InvalidArgument for a name that does not fit, a result that A may not keep or one that is there twice.
[[nodiscard]] std::string summary_text(const RunSummary& summary);

/// What `summary_text` wrote; what is not known here is passed over. `name` is what errors call it.
/// Throws DataError if it is something else, or of a newer version.
[[nodiscard]] RunSummary parse_summary(std::string_view text, const std::string& name);

}  // namespace blindfl::run

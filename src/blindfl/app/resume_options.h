#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "blindfl/app/job/job.h"
#include "blindfl/app/resume_handshake.h"

namespace blindfl::app {

/// What a resumed run is told besides its job.
struct ResumeOptions {
  std::optional<std::size_t> epochs{};  ///< how many in all; else those of the job
  bool go_back = false;                 ///< also behind several checkpoints, if the peer lacks them
  /// Asks somebody whether to; empty where nobody is there to ask.
  std::function<bool(const std::string& question)> confirm{};
};

/// Throws ConfigError, naming each option with what it was and what it is, if the run in `folder` began with others. A
/// folder of a release that kept no job is taken as it is.
void require_same_options(const std::filesystem::path& folder, const job::Job& job);

/// Throws ConfigError, saying what the peer has, if resuming at `step` would set more than one checkpoint of this
/// party's aside and nobody agrees to that.
void confirm_going_back(const ResumeOptions& options, const RunOffer& mine, const RunOffer& theirs, std::uint64_t step);

}  // namespace blindfl::app

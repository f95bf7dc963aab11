#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "blindfl/app/job/job.h"
#include "blindfl/train/resume_handshake.h"

namespace blindfl::app {

/// What a resumed run is told besides its job.
struct ResumeOptions {
  std::optional<std::size_t> epochs{};  ///< how many in all; else those of the job
  train::ResumeOptions start = program_words();

  /// What the program's users type.
  [[nodiscard]] static train::ResumeOptions program_words();
};

/// Throws ConfigError, naming each option with what it was and what it is, if the run in `folder` began with others. A
/// folder of a release that kept no job is taken as it is.
void require_same_options(const std::filesystem::path& folder, const job::Job& job);

}  // namespace blindfl::app

#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

/// Throws ConfigError, naming those who were there and those who are, unless the job is with these A's, in B's order;
/// none: with one A. What this is about is `was`, as in "the run began", and `wanted`, as in "all that began it resume
/// it".
void require_same_as(std::vector<std::string> names, const job::Job& job, std::string_view was,
                     std::string_view wanted);

/// Throws ConfigError, naming each option with what it was and what it is, if the run in `folder` began with others, or
/// with other A's. A folder of a release that kept no job is taken as it is.
void require_same_options(const std::filesystem::path& folder, const job::Job& job);

}  // namespace blindfl::app

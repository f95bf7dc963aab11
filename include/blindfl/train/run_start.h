#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "blindfl/protocol/session/sessions.h"
#include "blindfl/run/run_folder.h"
#include "blindfl/train/resume_handshake.h"

namespace blindfl::train {

/// The run that is in a folder, to be resumed. Nothing if there is none: no such folder, an empty one, or what a
/// process left that was killed while it made one, which is removed. Throws ConfigError if there is something else in
/// it, the run is the other party's or another process uses it; errors call the folder `option`.
[[nodiscard]] std::optional<run::RunFolder> open_run(const std::filesystem::path& path, Party party,
                                                     std::string_view option = "folder");

/// Removes a run's folder, its summary after all else: whoever is killed meanwhile leaves a run without checkpoints,
/// and not a folder that nobody knows.
void remove_run(const std::filesystem::path& folder);

/// The checkpoints that are there, the newest first.
[[nodiscard]] RunOffer offer_of(const run::RunFolder& folder);

/// A run's folder, and the step that all parties resume it after; nothing: it is new.
struct StartedRun {
  run::RunFolder folder;
  std::optional<std::uint64_t> resumed{};
};

/// Resumes the run in `path` at the newest step that all parties have a checkpoint of, or begins one. All call it at
/// the same time. A run that updates weights under encryption needs sessions with the keys that it saved: see
/// `load_keys`. Cost: 640 bytes each way and peer. Reveals: the run's name, and which checkpoints this party has.
/// Throws ConfigError as `open_run` does, if steps would be lost without a new beginning being asked for, or if
/// several checkpoints of this party's would be and `options` do not allow it.
[[nodiscard]] StartedRun start_run(const protocol::Sessions& sessions, const std::filesystem::path& path,
                                   const ResumeOptions& options = {});

}  // namespace blindfl::train

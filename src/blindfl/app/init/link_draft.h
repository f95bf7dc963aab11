#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "blindfl/app/cli/command.h"
#include "blindfl/app/init/link_files.h"
#include "blindfl/app/init/questions.h"
#include "blindfl/app/job/job.h"

namespace blindfl::app::init {

/// The ways to the peers, and the files that they need; none without TLS.
struct LinkDraft {
  job::Link link{};
  std::optional<LinkFiles> files{};
  std::vector<std::filesystem::path> certificates{};  ///< of the others: of the peer, or of all that are named
};

/// Whether the command line is about several A's: at B `--listen NAME=HOST:PORT` or `--dial NAME=HOST:PORT` of each, at
/// A `--other NAME=FILE` of each other one.
[[nodiscard]] bool names_several(const Arguments& arguments);

/// The way to the peer, for a job file in `folder`: --listen or --dial, and --certificate, --key and --peer, or what
/// `find_link_files` finds, or --plaintext. Of several A's those of each, by name. Throws UsageError, naming the flag,
/// for what is missing or contradicts itself.
[[nodiscard]] LinkDraft draft_link(Party party, const std::filesystem::path& folder, const Arguments& arguments,
                                   Questions& questions);
/// Both parties on this machine, without TLS.
[[nodiscard]] job::Link local_link(Party party);

}  // namespace blindfl::app::init

#pragma once

#include <filesystem>
#include <optional>

#include "blindfl/app/job/own.h"
#include "blindfl/app/link/identity_files.h"

namespace blindfl::app::init {

/// What somebody said about the files of a link; nothing where it is to be found.
struct LinkFlags {
  std::optional<std::filesystem::path> certificate{};
  std::optional<std::filesystem::path> key{};
  std::optional<std::filesystem::path> peer{};
};

/// This party's identity and its peer's certificate: where they are, or will be.
struct LinkFiles {
  IdentityFiles own{};
  std::filesystem::path peer{};
  bool is_new = false;         ///< the identity is still to be made
  bool peer_is_there = false;  ///< else `peer` is where it will be looked for
};

/// Looks into the folder of the certificate that was named, `keys` beside the job file, `keys` here, and here: the
/// first of them that has a certificate or a key. A certificate with its key is this party's; the one other certificate
/// is the peer's. Without an identity there will be one in `keys` beside the job file, called after the party.
/// Throws UsageError, which lists the candidates, if there are several, or a flag is missing; ConfigError or DataError
/// if a key is nobody's or open to others.
[[nodiscard]] LinkFiles find_link_files(Party party, const std::filesystem::path& job_folder, const LinkFlags& flags);

}  // namespace blindfl::app::init

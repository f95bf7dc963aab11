#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "blindfl/app/job/own.h"
#include "blindfl/app/job/shared.h"
#include "blindfl/protocol/session/settings.h"

namespace blindfl::app::job {

/// What one party's job file says. The options of each section, with their defaults, are the members of its struct.
struct Job {
  Shared shared{};
  Own own{};  ///< the section `private`

  bool operator==(const Job&) const = default;
};

[[nodiscard]] Entries entries_of(Job& job);

/// A job that passed every check. `overrides` are `KEY=VALUE`, as after `--set`: they win over the file, later ones
/// over earlier ones. Relative paths begin at the file's folder; those of overrides where the program runs.
/// Throws ConfigError, with file, line, column and the whole key, or `--set` and the key, and what to write instead.
/// What an option that is secret says is in no message.
[[nodiscard]] Job load_job(const std::filesystem::path& path, std::span<const std::string> overrides = {});

/// The same of a file's content. Errors begin with `origin.source`.
[[nodiscard]] Job parse_job(std::string_view text, const Origin& origin, std::span<const std::string> overrides = {});

/// The section `shared` of somebody's job file, which may have nothing else. What a section `private` says is read, and
/// not looked at. Throws ConfigError as `load_job` does.
[[nodiscard]] Shared load_shared(const std::filesystem::path& path);

/// What somebody set in the section `shared`, as YAML, without comments: for telling the peer.
[[nodiscard]] std::string shared_text(const Shared& shared);

/// All of the section `shared`, defaults too, for the parties to compare: `model.kind: mlp`. A long list is cut short,
/// with a digest of all of it, so that the words of a difference reach the peer.
[[nodiscard]] protocol::Settings shared_settings(const Shared& shared);

}  // namespace blindfl::app::job

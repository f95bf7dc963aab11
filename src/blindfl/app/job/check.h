#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "blindfl/app/job/job.h"
#include "blindfl/app/job/reader.h"
#include "blindfl/base/error.h"

namespace blindfl::app::job {

/// What options mean to each other. Throws ConfigError, with the place and the key to change.
void check_shared(const Shared& shared, const Given& given);
void check_own(const Job& job, const Given& given);
/// The section private.link, and what several A's ask of the rest.
void check_link(const Job& job, const Given& given);

/// Why a job cannot have a shared top, and what to do: nothing if it can, or has an open one.
struct TopRefusal {
  std::string key;
  std::string words;
};
/// The only list of what a shared top does not do. `own` is null where only the section shared is there.
[[nodiscard]] std::optional<TopRefusal> refused_by_shared_top(const Shared& shared, const Own* own);
/// Throws ConfigError with the first of these.
void check_shared_top(const Shared& shared, const Own* own, const Given& given);

/// Throws ConfigError unless it is an encoding: see FixedPoint.
void check_encoding(const FixedPointSpec& encoding, const std::string& key, const Given& given);

/// Throws ConfigError, with the place of `key`, unless `holds`.
template <class... Parts>
void check(bool holds, const Given& given, std::string_view key, const Parts&... parts) {
  if (!holds) fail<ConfigError>(given.place(key), ": ", key, ": ", parts...);
}

}  // namespace blindfl::app::job

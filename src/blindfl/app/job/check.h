#pragma once

#include "blindfl/app/job/job.h"
#include "blindfl/app/job/reader.h"
#include "blindfl/base/error.h"

namespace blindfl::app::job {

/// What options mean to each other. Throws ConfigError, with the place and the key to change.
void check_shared(const Shared& shared, const Given& given);
void check_own(const Job& job, const Given& given);

/// Throws ConfigError unless it is an encoding: see FixedPoint.
void check_encoding(const FixedPointSpec& encoding, const std::string& key, const Given& given);

/// Throws ConfigError, with the place of `key`, unless `holds`.
template <class... Parts>
void check(bool holds, const Given& given, std::string_view key, const Parts&... parts) {
  if (!holds) fail<ConfigError>(given.place(key), ": ", key, ": ", parts...);
}

}  // namespace blindfl::app::job

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/app/cli/command.h"
#include "blindfl/app/plan/party_shape.h"

namespace blindfl::app {

/// Options that say how many features a party has: `--features`, `--nonzeros`, `--fields`, `--scale`, `--largest`;
/// `--peer-features` and so on for those of the peer.
[[nodiscard]] std::vector<Option> shape_options(bool of_peer);

/// What they say; `encoding` unless they say another. Nothing if neither features nor fields are given.
/// Throws UsageError, with what to write, if one makes no sense.
[[nodiscard]] std::optional<PartyShape> read_shape(const Arguments& arguments, bool of_peer,
                                                   const FixedPointSpec& encoding);

/// The same of several peers, of whom it is said by name: `--peer-features shop=40`. Throws as `read_shape`, and
/// UsageError if one is said of nobody, or of nobody who is in `names`.
[[nodiscard]] std::vector<std::optional<PartyShape>> read_peer_shapes(const Arguments& arguments,
                                                                      const std::vector<std::string>& names,
                                                                      const FixedPointSpec& encoding);

/// `100,20:3,20:3:mean`: a field for each, of so many categories, of which a row has up to 3, added up or their mean.
/// Throws UsageError, naming `option`, if it is something else.
[[nodiscard]] std::vector<CategoryField> parse_fields(std::string_view text, std::string_view option);

}  // namespace blindfl::app

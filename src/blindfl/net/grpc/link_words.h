#pragma once

#include <string>
#include <string_view>

namespace blindfl::net {

/// What gRPC's account of a failed call means for people who set up a link: what happened, and what to look at. Never
/// gRPC's own words. `worked` says whether there was a link before.
[[nodiscard]] std::string link_words(std::string_view error, bool worked);

}  // namespace blindfl::net

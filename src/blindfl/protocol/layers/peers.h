#pragma once

#include <cstddef>
#include <string>

namespace blindfl::protocol {

class Session;

/// Throws InvalidArgument, beginning with `where`, if a layer cannot be with one of so many A's: there are none or too
/// many, others have features where there are no others, or there are several under a shared top.
void check_peers(std::size_t peers, std::size_t in_others, bool shared_top, const std::string& where);

/// Throws InvalidArgument, naming the layer, if it is for another number of A's than those that agreed on masks.
void check_place(const Session& session, std::size_t peers, const std::string& layer_name);

}  // namespace blindfl::protocol

#include "blindfl/protocol/layers/peers.h"

#include "blindfl/base/error.h"
#include "blindfl/protocol/session/session.h"

namespace blindfl::protocol {

void check_peers(std::size_t peers, std::size_t in_others, bool shared_top, const std::string& where) {
  require<InvalidArgument>(peers >= 1 && peers <= kMostPeers, where, ": there are 1 to ", kMostPeers, " A's, not ",
                           peers);
  require<InvalidArgument>(peers > 1 || in_others == 0, where,
                           ": other A's have features, and there are none; say how many A's there are");
  require<InvalidArgument>(peers == 1 || !shared_top, where, ": a top that is shared takes one A, and there are ",
                           peers, ". Take an open top, to which every A must consent, or train with one of the A's");
}

void check_place(const Session& session, std::size_t peers, const std::string& layer_name) {
  require<InvalidArgument>(session.place().of == peers, "layer '", layer_name, "' is for ", peers, " A's, and ",
                           session.place().of, " agreed on masks; call agree_on_masks before layers are made");
}

}  // namespace blindfl::protocol

#pragma once

#include <cstddef>
#include <string>

#include "blindfl/base/bytes.h"
#include "blindfl/protocol/session/session.h"
#include "blindfl/tensor/party_shape.h"

namespace blindfl::app {

/// "3 numeric features, 2 categorical fields".
[[nodiscard]] std::string words_of(const PartyShape& shape);

/// The most fields that a party may have.
constexpr std::size_t kMostFields = 4096;

void write_shape(const PartyShape& shape, ByteSink& out);
/// Throws ProtocolError if it is not what `write_shape` wrote, or out of all proportion.
[[nodiscard]] PartyShape read_shape(ByteSource& in);

/// Tells the peer this party's shape, and returns the peer's.
/// Cost: two messages each way. Reveals: the shape.
[[nodiscard]] PartyShape exchange_shapes(protocol::Session& session, const PartyShape& mine);

}  // namespace blindfl::app

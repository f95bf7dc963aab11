#pragma once

#include "blindfl/mpc/cost.h"
#include "blindfl/protocol/session/party_cost.h"

namespace blindfl::mpc {

using protocol::PartyCost;
using protocol::Session;

/// Where the parties do different things, A sends tables and B chooses.
[[nodiscard]] inline Role role_of(Party party) {
  return party == Party::kA ? Role::kSender : Role::kReceiver;
}
[[nodiscard]] inline PartyCost by_party(const Cost& cost) {
  return {cost.sender_bytes, cost.receiver_bytes, cost.flights, cost.sender_ots, cost.receiver_ots};
}

}  // namespace blindfl::mpc

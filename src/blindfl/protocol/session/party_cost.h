#pragma once

#include <cstdint>

#include "blindfl/protocol/session/ot_pools.h"

namespace blindfl::protocol {

/// What a step of two parties takes: bytes that each sends, flights (messages one after the other; two that cross count
/// once), and random OTs that each is the sender of. What `OtPools::reserve` and the first use of keys send is not in
/// it: that can be done ahead.
struct PartyCost {
  std::uint64_t a_bytes = 0;
  std::uint64_t b_bytes = 0;
  int flights = 0;
  std::uint64_t a_ots = 0;
  std::uint64_t b_ots = 0;

  bool operator==(const PartyCost&) const = default;
  /// One after the other.
  friend PartyCost operator+(const PartyCost& x, const PartyCost& y) {
    return {x.a_bytes + y.a_bytes, x.b_bytes + y.b_bytes, x.flights + y.flights, x.a_ots + y.a_ots, x.b_ots + y.b_ots};
  }
};

/// Seconds of each party for a random OT that is made and used, on one core with VAES: bench_ot, bench_compare.
constexpr double kOtSeconds = 11e-9;

/// Says what will be used, at both parties: so that it is there, or is made while they wait.
inline void reserve(Session& session, const PartyCost& cost) {
  if (cost.a_ots + cost.b_ots == 0) return;
  const bool at_a = session.party() == Party::kA;
  session.ots().reserve({at_a ? cost.a_ots : cost.b_ots, at_a ? cost.b_ots : cost.a_ots});
}

}  // namespace blindfl::protocol

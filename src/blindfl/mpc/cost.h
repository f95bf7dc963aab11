#pragma once

#include <cstdint>

namespace blindfl::mpc {

/// Who is who where the two parties do different things: one sends tables, or pads that it knows both of; the other
/// chooses. Nothing else depends on it; a party may be either.
enum class Role { kSender, kReceiver };

/// What one use of a protocol takes, while values wait for it. "Flights" are messages one after the other; two that
/// cross count once.
struct Cost {
  std::uint64_t sender_bytes = 0;
  std::uint64_t receiver_bytes = 0;
  int flights = 0;
  /// Random OTs whose sender is this protocol's sender, and whose sender is its receiver.
  std::uint64_t sender_ots = 0;
  std::uint64_t receiver_ots = 0;

  bool operator==(const Cost&) const = default;
};

}  // namespace blindfl::mpc

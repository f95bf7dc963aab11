#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "blindfl/base/bytes.h"
#include "blindfl/base/int128.h"
#include "blindfl/base/secret.h"
#include "blindfl/mpc/bit_shares.h"
#include "blindfl/mpc/cost.h"
#include "blindfl/ot/material_tag.h"
#include "blindfl/ot/pool.h"

// From bits shared by XOR to the same bits shared by addition modulo 2^64 or 2^128 ("B2A"): b XOR b' = b + b' - 2 b b',
// and the last by one correlated OT, as in multiplexer.h, in one direction only.
//
//   receiver: choose(bits)  ------->  sender: send(the receiver's choices, bits): a message, and its shares
//   finish(message): its shares  <-------
//
// Why it is safe. As there: the choice is masked by a random one, the correction by the pad that the receiver does not
// have. The pads are this conversion's own, used once.

namespace blindfl::mpc {

constexpr std::string_view kBitToRing = "bits to numbers";

/// Bytes and random OTs of `count` bits. `Ring` is std::uint64_t or UInt128.
template <class Ring>
[[nodiscard]] Cost bit_to_ring_cost(std::size_t count) {
  return {.sender_bytes = count * sizeof(Ring),
          .receiver_bytes = ot::MaterialTag::kBytes + bytes_for_bits(count),
          .flights = 2,
          .sender_ots = count,
          .receiver_ots = 0};
}

class BitToRingSender {
 public:
  /// Takes `count` random OTs. Throws InvalidArgument if the pool has too few.
  BitToRingSender(std::size_t count, ot::RandomOtSender& pool)
      : tag_(kBitToRing, {count}, pool.place()), pads_(pool.take(count)) {}

  template <class Ring>
  struct Sent {
    Bytes message;
    SecretVector<Ring> shares;
  };
  /// Works once. Throws InvalidArgument the second time, or for another number of bits; ProtocolError, and can be
  /// called again, if the receiver's message is not as long as it must be, has bits where none may be, or is of other
  /// random OTs.
  template <class Ring>
  [[nodiscard]] Sent<Ring> send(ByteView choices, const BitShares& bits);

 private:
  ot::MaterialTag tag_;
  std::optional<ot::SenderBatch> pads_;
};

class BitToRingReceiver {
 public:
  BitToRingReceiver(std::size_t count, ot::RandomOtReceiver& pool)
      : tag_(kBitToRing, {count}, pool.place()), pads_(pool.take(count)) {}

  // Each works once, in this order, with errors as the sender's.

  [[nodiscard]] Bytes choose(const BitShares& bits);
  template <class Ring>
  [[nodiscard]] SecretVector<Ring> finish(ByteView message);

 private:
  ot::MaterialTag tag_;
  std::optional<ot::ReceiverBatch> pads_;
  std::optional<BitShares> bits_;
};

}  // namespace blindfl::mpc

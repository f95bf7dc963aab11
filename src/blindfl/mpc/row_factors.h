#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "blindfl/base/bytes.h"
#include "blindfl/base/int128.h"
#include "blindfl/base/secret.h"
#include "blindfl/mpc/bit_shares.h"
#include "blindfl/mpc/cost.h"
#include "blindfl/ot/material_tag.h"
#include "blindfl/ot/pool.h"

// One party's numbers times the other's factors of few bits, modulo 2^128: a correlated OT for each bit of a factor
// (Gilboa, "Two Party RSA Key Generation", CRYPTO 1999).
//
// The factor is a sum of bits f_i 2^i. For each of them its owner, who receives, chooses by f_i between pads z_0 and
// z_1 of the other's, and gets z_0 - z_1 + 2^i x in the clear, which it adds to z_1: it has z_0 + f_i 2^i x, and the
// other -z_0.
//
//   receiver: choose(factors)  ------->  sender: send(the receiver's choices, values): a message, and its shares
//   finish(message): its shares  <-------
//
// Why it is safe. As in bit_to_ring.h: a choice is masked by a random one, a correction by the pad that the receiver
// does not have. Each pad is used once.

namespace blindfl::mpc {

constexpr std::string_view kRowFactors = "products with factors";

/// Bytes and random OTs of `count` products with factors of `bits` bits.
[[nodiscard]] Cost row_factor_cost(std::size_t count, int bits);

/// Whose numbers are multiplied.
class FactorSender {
 public:
  /// Takes `count * bits` random OTs. Throws InvalidArgument if the pool has too few, or for factors of no bits.
  FactorSender(std::size_t count, int bits, ot::RandomOtSender& pool);

  struct Sent {
    Bytes message;
    SecretVector<UInt128> shares;
  };
  /// Works once. Throws InvalidArgument the second time, or for another number of values; ProtocolError, and can be
  /// called again, if the receiver's message is not as long as it must be, has bits where none may be, or is of other
  /// random OTs.
  [[nodiscard]] Sent send(ByteView choices, std::span<const UInt128> values);

 private:
  std::size_t count_;
  int bits_;
  ot::MaterialTag tag_;
  std::optional<ot::SenderBatch> pads_;
};

/// Who has the factors.
class FactorReceiver {
 public:
  FactorReceiver(std::size_t count, int bits, ot::RandomOtReceiver& pool);

  // Each works once, in this order, with errors as the sender's.

  /// Throws InvalidArgument for a factor of more bits, too.
  [[nodiscard]] Bytes choose(std::span<const std::uint32_t> factors);
  [[nodiscard]] SecretVector<UInt128> finish(ByteView message);

 private:
  std::size_t count_;
  int bits_;
  ot::MaterialTag tag_;
  std::optional<ot::ReceiverBatch> pads_;
  std::optional<BitShares> chosen_;
};

}  // namespace blindfl::mpc

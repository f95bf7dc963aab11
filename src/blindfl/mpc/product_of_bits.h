#pragma once

#include <cstddef>
#include <optional>

#include "blindfl/base/bytes.h"
#include "blindfl/mpc/bit_products.h"
#include "blindfl/mpc/bit_shares.h"
#include "blindfl/mpc/party_cost.h"
#include "blindfl/ot/material_tag.h"

namespace blindfl::mpc {

/// Shares of the product of many shared bits, multiplied pairwise until one is left: local steps, alike at both
/// parties, whose messages cross.
///
///   while (!done()) finish(<the peer's message()>)
class ProductOfBits {
 public:
  /// `adds_public` at exactly one of the parties. The pools must outlive it, and have what the cost says.
  ProductOfBits(BitShares bits, ot::RandomOtSender& sender, ot::RandomOtReceiver& receiver, bool adds_public);

  [[nodiscard]] bool done() const { return bits_.size() <= 1; }
  /// Masked factors of the next level; the first begins with a tag. Throws InvalidArgument if nothing is left to
  /// multiply, or before the one before it is finished.
  [[nodiscard]] Bytes message();
  /// With the peer's message. Throws InvalidArgument before `message()`; ProtocolError, and can be called again, if it
  /// has another length, bits where none may be, or is of other random OTs.
  void finish(ByteView theirs);
  /// This party's share. Throws InvalidArgument unless it is done.
  [[nodiscard]] bool share() const;

 private:
  BitShares bits_;
  ot::RandomOtSender& sender_;
  ot::RandomOtReceiver& receiver_;
  bool adds_public_;
  ot::MaterialTag tag_;
  bool first_ = true;
  std::optional<BitProducts> level_;
};

/// Of `bits` bits.
[[nodiscard]] PartyCost product_of_bits_cost(std::size_t bits);

}  // namespace blindfl::mpc

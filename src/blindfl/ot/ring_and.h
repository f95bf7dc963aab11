#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "blindfl/base/bytes.h"
#include "blindfl/base/int128.h"
#include "blindfl/base/secret.h"
#include "blindfl/ot/material_tag.h"
#include "blindfl/ot/pool.h"

// The AND of two bits, one of which each party knows, as shares of a number modulo 2^width: a product, by one
// correlated OT.
//
//   receiver: choose(bits)  ------->  sender: send(the receiver's choices, bits): a message, and its shares
//   finish(message): its shares  <-------
//
// With z0 and z1 the sender's pads, in the order that the receiver asks for, a its bit and b the receiver's: the sender
// sends z0 - z1 + a and keeps -z0; the receiver adds b times that to z_b, which makes z0 + a b.
//
// Why it is safe. The receiver's bit is masked by a random choice, and the sender's word by the pad that the receiver
// does not have. Pads are this conversion's own, used once.

namespace blindfl::ot {

/// Bits as in ReceiverBatch: bit i is bit i % 64 of word i / 64; those beyond the last are zero.
using BitWords = SecretVector<std::uint64_t>;

/// So many, one after the other, modulo 2^width.
struct RingAndRun {
  std::size_t count = 0;
  int width = 0;
};

/// All products of one use, at both parties the same.
class RingAndSizes {
 public:
  /// Throws InvalidArgument for a width that is not from 1 to 128.
  explicit RingAndSizes(std::vector<RingAndRun> runs);

  [[nodiscard]] std::span<const RingAndRun> runs() const { return runs_; }
  /// Of products, and of random OTs.
  [[nodiscard]] std::size_t count() const { return count_; }
  /// Of the receiver's message, and of the sender's: words of as many whole bytes as they take.
  [[nodiscard]] std::size_t choice_bytes() const { return MaterialTag::kBytes + (count_ + 7) / 8; }
  [[nodiscard]] std::size_t word_bytes() const { return word_bytes_; }

 private:
  std::vector<RingAndRun> runs_;
  std::size_t count_ = 0;
  std::size_t word_bytes_ = 0;
};

class RingAndSender {
 public:
  /// Takes `sizes.count()` random OTs. Throws InvalidArgument if the pool has too few.
  RingAndSender(RingAndSizes sizes, RandomOtSender& pool);

  struct Sent {
    Bytes message;
    SecretVector<UInt128> shares;
  };
  /// Works once. Throws InvalidArgument the second time, or for another number of bits; ProtocolError, and can be
  /// called again, if the receiver's message is not as long as it must be, has bits where none may be, or is of other
  /// random OTs.
  [[nodiscard]] Sent send(ByteView choices, const BitWords& bits);

 private:
  RingAndSizes sizes_;
  MaterialTag tag_;
  std::optional<SenderBatch> pads_;
};

class RingAndReceiver {
 public:
  RingAndReceiver(RingAndSizes sizes, RandomOtReceiver& pool);

  // Each works once, in this order, with errors as the sender's.

  [[nodiscard]] Bytes choose(const BitWords& bits);
  [[nodiscard]] SecretVector<UInt128> finish(ByteView message);

 private:
  RingAndSizes sizes_;
  MaterialTag tag_;
  std::optional<ReceiverBatch> pads_;
  std::optional<BitWords> bits_;
};

}  // namespace blindfl::ot

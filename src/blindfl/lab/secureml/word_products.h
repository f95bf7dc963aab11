#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "blindfl/base/bytes.h"
#include "blindfl/lab/secureml/words.h"
#include "blindfl/ot/material_tag.h"
#include "blindfl/ot/pool.h"

// Shares of `transpose(Q) P` modulo 2^64, with Q at the receiver and P at the sender: Gilboa, "Two Party RSA Key
// Generation", CRYPTO 1999, with a whole row of P in each oblivious transfer, as SecureML packs them (section 4.2
// there).
//
//   receiver: choose(Q)  ------->  sender: send(the receiver's choices, P): a message, and its share
//   finish(message): its share  <-------
//
// For bit k of the word Q[j][c], b, the sender sends row j of P under two pads: with z0 and z1 their streams of words,
// in the order of the receiver's bit, z0 - z1 + P[j], and keeps -z0; the receiver adds b times that to its stream,
// which makes z0 + b P[j]. Both add 2^k times that to row c of the product. Of a word under bit k only the lowest 64 -
// k bits count, and as many whole bytes travel: 288 bytes for a word of Q and one of P.
//
// Why it is safe. The receiver's bits are masked by random choices, and the sender's words by a stream that the
// receiver does not have: AES in counter mode under a pad, which is used for this alone, once.

namespace blindfl::lab::secureml {

/// Sizes of the factors: Q is inner x chosen, P is inner x packed.
struct WordProductShape {
  std::size_t inner = 0;
  std::size_t chosen = 0;
  std::size_t packed = 0;

  /// For a word of Q and one of P.
  static constexpr std::size_t kBytesPerPair = std::size_t{8} * (8 + 7 + 6 + 5 + 4 + 3 + 2 + 1);

  [[nodiscard]] std::size_t words() const { return inner * chosen; }
  /// Random OTs.
  [[nodiscard]] std::size_t ots() const { return 64 * words(); }
  /// Of the receiver's message, and of the sender's.
  [[nodiscard]] std::uint64_t choice_bytes() const { return ot::MaterialTag::kBytes + 8 * words(); }
  [[nodiscard]] std::uint64_t word_bytes() const { return kBytesPerPair * words() * packed; }
};

class WordProductSender {
 public:
  /// Takes `shape.ots()` random OTs. Throws InvalidArgument if the pool has too few.
  WordProductSender(const WordProductShape& shape, ot::RandomOtSender& pool);

  struct Sent {
    Bytes message;
    Words share;  ///< chosen x packed
  };
  /// Works once, with rows `first` to `first + shape.inner` of `p`. Throws InvalidArgument the second time, or for
  /// another shape; ProtocolError, and can be called again, if the receiver's message is not as long as it must be or
  /// is of other random OTs.
  [[nodiscard]] Sent send(ByteView choices, const Words& p, std::size_t first = 0);

 private:
  WordProductShape shape_;
  ot::MaterialTag tag_;
  std::optional<ot::SenderBatch> pads_;
};

class WordProductReceiver {
 public:
  WordProductReceiver(const WordProductShape& shape, ot::RandomOtReceiver& pool);

  // Each works once, in this order, with errors as the sender's.

  /// Rows `first` to `first + shape.inner` of `q`.
  [[nodiscard]] Bytes choose(const Words& q, std::size_t first = 0);
  [[nodiscard]] Words finish(Bytes message);

 private:
  WordProductShape shape_;
  ot::MaterialTag tag_;
  std::optional<ot::ReceiverBatch> pads_;
  SecretVector<std::uint64_t> chosen_;
};

}  // namespace blindfl::lab::secureml

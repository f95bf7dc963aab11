#pragma once

#include "blindfl/base/bytes.h"
#include "blindfl/base/random.h"
#include "blindfl/base/secret.h"
#include "blindfl/ot/block.h"
#include "blindfl/ot/session.h"

// The first 128 oblivious transfers, by public keys: the endemic OT of Masny and Rindal ("Endemic Oblivious Transfer",
// CCS 2019) over ristretto255. Random ones: the sender ends with two random keys each, the receiver with one of them.
//
//   sender: a random, A = a G                      receiver, for OT i with choice c: b random, R_{1-c} a random point,
//                                                                                    R_c = b G - H(i, c, R_{1-c})
//                         ---- A (32 bytes) ---->
//                         <---- R_0, R_1 (64 bytes each OT) ----        (neither waits for the other)
//   P_j = R_j + H(i, j, R_{1-j}), key_j = KDF(i, j, A, P_j, a P_j)      key_c = KDF(i, c, A, b G, b A)
//
// Why it is safe. R_c is masked by a hash of the other point, so (R_0, R_1) are two uniform points whatever c is: the
// sender learns nothing at all. Of P_{1-c} the receiver knows no logarithm: it hashes a point that was drawn without
// one, so a P_{1-c} is a Diffie-Hellman value of two unknown logarithms (CDH), and the KDF, a random oracle, makes a
// uniform key of it. Both hashes begin with the session, the index and the role j: one A serves all 128, and nothing
// carries over. Points that are not canonical, and the identity, are refused. No branch or address depends on choices.

namespace blindfl::ot {

/// Two keys for each base OT.
struct BaseKeyPairs {
  SecretBlocks zero;
  SecretBlocks one;
};

constexpr std::size_t kPointBytes = 32;
constexpr std::size_t kBaseReceiverBytes = kBaseOts * 2 * kPointBytes;

class BaseOtSender {
 public:
  /// Draws a.
  BaseOtSender(const OtSession& session, Random& random);

  /// A. Cost: kPointBytes.
  [[nodiscard]] const Bytes& message() const { return point_; }
  /// Both keys of each OT. Cost: 256 products with points, about 20 ms. Throws ProtocolError if a point of the
  /// receiver's is none, or the identity, also after the hash was added.
  [[nodiscard]] BaseKeyPairs keys(ByteView receiver_message) const;

 private:
  OtSession session_;
  SecretVector<std::byte> number_;
  Bytes point_;
};

class BaseOtReceiver {
 public:
  /// Bit i of `choices` says which key of OT i this party gets. Cost: about 15 ms.
  BaseOtReceiver(const OtSession& session, const Block& choices, Random& random);
  BaseOtReceiver(BaseOtReceiver&&) = default;
  BaseOtReceiver& operator=(BaseOtReceiver&&) = default;
  BaseOtReceiver(const BaseOtReceiver&) = delete;
  BaseOtReceiver& operator=(const BaseOtReceiver&) = delete;
  ~BaseOtReceiver() { explicit_bzero(&choices_, sizeof choices_); }

  /// R_0 and R_1 of each OT. Cost: kBaseReceiverBytes.
  [[nodiscard]] const Bytes& message() const { return points_; }
  /// The chosen key of each OT. Cost: about 8 ms. Throws ProtocolError if the sender's message is not a point, or is
  /// the identity.
  [[nodiscard]] SecretBlocks keys(ByteView sender_message) const;

 private:
  OtSession session_;
  Block choices_;
  SecretVector<std::byte> numbers_;  // b of each OT
  SecretVector<std::byte> own_;      // b G of each: with R it would tell the choices
  Bytes points_;
};

}  // namespace blindfl::ot

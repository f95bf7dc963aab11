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

// Shared bit times shared number: the number where the bit is 1, zero where it is 0; with the bits of a comparison, a
// ReLU. Two correlated OTs (Rathee et al., "CrypTFlow2", CCS 2020; Gilboa, "Two Party RSA Key Generation", CRYPTO
// 1999).
//
// (b + b')(x + x'), bits added by XOR: this party's own x contributes b x, and (1 - 2b) x once more if the peer's bit
// b' is 1. For the latter the peer chooses, by b', between pads z_0 and z_1 of this party's, and gets z_0 - z_1 +
// (1-2b) x in the clear, which it adds to z_1: it has z_0 + b' (1 - 2b) x, and this party -z_0. And the other way
// round.
//
//   both:  choose(bits) ->  forward(the peer's, values) ->  finish(the peer's): shares of the products
//          later, with the same bits:  again(values) ->  finish_again(the peer's)         (the backward pass)
//
// Why it is safe. A choice is masked by a random one, a correction by the pad that the peer does not have: both are
// uniform. For the same bits once more the choices stay, and the pads are others (a second hash of the same OT): their
// difference tells nothing new. A third time would repeat pads and tell differences of values: it is an error.

namespace blindfl::mpc {

/// What one party prepares for a multiplexer. Used by one.
class MultiplexerMaterial {
 public:
  /// Takes `count` random OTs of each pool. Throws InvalidArgument if one has too few.
  MultiplexerMaterial(std::size_t count, bool with_again, ot::RandomOtSender& sender, ot::RandomOtReceiver& receiver);

  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] bool used() const { return !pads_.has_value(); }

 private:
  template <class Ring>
  friend class Multiplexer;
  struct Pads {
    ot::SenderBatch own;
    ot::ReceiverBatch peers;
  };
  /// What was there, once.
  [[nodiscard]] Pads take_pads();

  std::size_t count_;
  bool with_again_;
  ot::MaterialTag tag_;
  std::optional<Pads> pads_;
  std::optional<Pads> again_;
};

/// One party's side; both do the same. `Ring` is std::uint64_t or UInt128: numbers modulo 2^64 or 2^128.
template <class Ring>
class Multiplexer {
 public:
  /// Throws InvalidArgument if the material was used before.
  explicit Multiplexer(MultiplexerMaterial&& material);

  /// Of the first pass: both parties' bytes, two flights. Sender and receiver are alike.
  [[nodiscard]] static Cost cost(std::size_t count);
  /// Of the second: one flight, and no OTs.
  [[nodiscard]] static Cost cost_again(std::size_t count);

  // Each of these works once, in this order. They throw InvalidArgument otherwise, or for other sizes than the
  // material's; ProtocolError, and can be called again, for a message that is not as long as it must be, has bits
  // where none may be, or is of other random OTs.

  [[nodiscard]] Bytes choose(const BitShares& bits);
  [[nodiscard]] Bytes forward(ByteView peer_choices, std::span<const Ring> values);
  [[nodiscard]] SecretVector<Ring> finish(ByteView message);
  /// Other values, the same bits. Needs material with this in mind.
  [[nodiscard]] Bytes again(std::span<const Ring> values);
  [[nodiscard]] SecretVector<Ring> finish_again(ByteView message);

 private:
  enum class Stage { kNew, kChosen, kSent, kFinished, kSentAgain, kFinishedAgain };

  void require_stage(Stage stage, std::size_t size) const;
  [[nodiscard]] Bytes correct(std::span<const Ring> values, const MultiplexerMaterial::Pads& pads);
  [[nodiscard]] SecretVector<Ring> add_correction(ByteView message, const MultiplexerMaterial::Pads& pads);

  MultiplexerMaterial::Pads pads_;
  MultiplexerMaterial material_;
  Stage stage_ = Stage::kNew;
  BitShares bits_;
  BitShares peer_choices_;
  SecretVector<Ring> sum_;
};

}  // namespace blindfl::mpc

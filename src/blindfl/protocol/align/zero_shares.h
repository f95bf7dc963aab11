#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/base/secret.h"
#include "blindfl/protocol/align/prime_field.h"
#include "blindfl/protocol/align/psi_all.h"

// Numbers that the A's have for every id, each its own, and that add up to 0 over all of them. Each pair of A's draws
// one number from what they alone share; the one that comes first adds it, the other takes it away. Whoever lacks the
// secret of one pair, on both sides of which it wants to know a share, sees random numbers.

namespace blindfl::protocol {

/// What an A puts into an alignment so that its shares are fresh whatever the others do.
using Nonce = std::array<std::byte, 32>;
/// Of all A's, in their order.
using Nonces = std::vector<Nonce>;

/// What they are together, in hexadecimal: the same at all parties, and in no other alignment.
[[nodiscard]] std::string name_of(const Nonces& nonces);

class ZeroShares {
 public:
  /// The shares of the A at `peers.own`, which has put `own` into `nonces`. Two alignments whose nonces differ have
  /// nothing in common. Throws ProtocolError if `nonces` has not one for each A, has the own one elsewhere, or
  /// twice the same.
  ZeroShares(const AlignedPeers& peers, const Nonce& own, const Nonces& nonces);

  /// Its share for an id.
  [[nodiscard]] FieldElement of(std::string_view id) const;
  /// Its share for all of these together, in this order: adds up to 0 only over A's that end with the same order.
  [[nodiscard]] FieldElement of_order(std::span<const std::string> ids, std::span<const std::uint32_t> rows) const;
  /// What this A tells each other, in their order, to show that it ended with this order. Nobody else can make it.
  [[nodiscard]] std::vector<FieldElement> order_proofs(std::span<const std::string> ids,
                                                       std::span<const std::uint32_t> rows) const;
  /// What each other tells this one, if it ended with the same order.
  [[nodiscard]] std::vector<FieldElement> expected_proofs(std::span<const std::string> ids,
                                                          std::span<const std::uint32_t> rows) const;

 private:
  struct Pair {
    SecretVector<std::byte> key;
    bool adds = false;
  };
  /// `draw(key)` of each pair, added or taken away.
  template <class Draw>
  [[nodiscard]] FieldElement sum(const Draw& draw) const;
  /// Of each pair, of this order; `by_first` of what the one says that comes first.
  template <class ByFirst>
  [[nodiscard]] std::vector<FieldElement> proofs(std::span<const std::string> ids, std::span<const std::uint32_t> rows,
                                                 const ByFirst& by_first) const;

  std::vector<Pair> pairs_;
};

}  // namespace blindfl::protocol

#pragma once

#include <memory>
#include <vector>

#include "blindfl/he/lattice/slot_cipher.h"

namespace blindfl::he::lattice {

/// The multiplier's side of one product of slots.
class SlotMultiplier {
 public:
  /// Reads the operand's public key. Throws ProtocolError if it is none of this plan and coin.
  SlotMultiplier(const SlotCipher& cipher, const LatticeSlotPlan& plan, const Coin& coin, ByteSource& operand);

  /// Reads the rest, writes the reply, and returns this party's shares. Once.
  [[nodiscard]] std::vector<ShareMatrix> multiply(ByteSource& operand, std::span<const std::uint32_t> share,
                                                  Random& random, ThreadPool& pool, ByteSink& reply) const;

 private:
  /// The ciphertexts of a chunk, transformed: operand after operand, c0, then c1, modulus after modulus.
  using Ciphertexts = std::span<std::uint64_t>;
  void load_chunk(const SlotChunk& chunk, const std::uint64_t* packed, std::span<const Seed> seeds,
                  Ciphertexts out) const;
  /// The plaintexts of operands `first` to `last`, exclusive, transformed.
  void encode_factors(const SlotChunk& chunk, std::size_t first, std::size_t last, const SlotCipher::Phases& phases,
                      const ComplexNumber* factors, double scale, std::span<std::uint64_t> out) const;
  void write_digits(std::uint64_t* digits, std::uint64_t* packed) const;
  void reply_to_chunk(const SlotChunk& chunk, Ciphertexts ciphertexts, std::span<const std::uint32_t> share,
                      Random& random, std::uint64_t* packed, std::vector<ShareMatrix>& shares) const;

  const SlotCipher& cipher_;
  const LatticeSlotPlan& plan_;
  PublicKey key_;
};

}  // namespace blindfl::he::lattice

#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "blindfl/he/lattice/slot_cipher.h"

namespace blindfl::he::lattice {

/// The owner's side of one product of slots: a key for one operand and one reply.
class LatticeSlotKey final : public SlotKey {
 public:
  LatticeSlotKey(std::shared_ptr<const SlotCipher> cipher, std::shared_ptr<const SlotPlan> plan, const Coin& coin,
                 Random& random);

  /// Once, before `open`.
  void write_operand(std::span<const std::uint32_t> share, Random& random, ThreadPool& pool, ByteSink& out) const;

 private:
  [[nodiscard]] std::vector<ShareMatrix> do_open(ByteSource& reply, ThreadPool& pool) override;
  void forget() override { key_.reset(); }

  /// One chunk's ciphertexts, packed.
  void encrypt_chunk(const SlotChunk& chunk, std::span<const std::uint32_t> share, std::span<const Seed> seeds,
                     Random& random, std::uint64_t* packed) const;
  /// Reads a reply's digits. Throws ProtocolError if one is out of range.
  void read_digits(const std::uint64_t* packed, std::uint64_t* digits) const;
  void open_reply(const SlotChunk& chunk, std::size_t index, const std::uint64_t* packed,
                  std::vector<ShareMatrix>& shares) const;

  std::shared_ptr<const SlotCipher> cipher_;
  std::shared_ptr<const SlotPlan> shared_plan_;
  const LatticeSlotPlan& plan_;
  std::optional<SecretKey> key_;
};

}  // namespace blindfl::he::lattice

#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "blindfl/he/lattice/slot_cipher.h"
#include "blindfl/he/slots.h"

namespace blindfl::he::lattice {

// Messages. An operand is a public key (keys.h), a seed (32), and for each chunk and operand c0, packed modulus after
// modulus; c1 is expanded from the seed. A reply is the key's id (16), and for each chunk and reply the digits of c1,
// the lowest cut.

/// Complex slots of the lattice scheme: docs/protocols.md, "Slots".
class LatticeSlots final : public Slots {
 public:
  LatticeSlots(std::vector<std::shared_ptr<const Params>> sets, const Kernels& kernels);

  [[nodiscard]] std::size_t free_frequencies(std::size_t values, std::size_t frequencies,
                                             std::size_t functions) const override;

 private:
  friend struct SlotsProbe;  // tests define it

  [[nodiscard]] std::shared_ptr<const SlotPlan> do_plan(const SlotSpec& spec) const override;
  [[nodiscard]] std::unique_ptr<SlotKey> do_encrypt(const std::shared_ptr<const SlotPlan>& plan, const Coin& coin,
                                                    std::span<const std::uint32_t> share, Random& random,
                                                    ThreadPool& pool, ByteSink& out) const override;
  [[nodiscard]] std::vector<ShareMatrix> do_multiply(const SlotPlan& plan, const Coin& coin, ByteSource& operand,
                                                     std::span<const std::uint32_t> share, Random& random,
                                                     ThreadPool& pool, ByteSink& reply) const override;
  /// Made when a set is first used.
  [[nodiscard]] std::shared_ptr<const SlotCipher> cipher(const LatticeSlotPlan& plan) const;

  std::vector<std::shared_ptr<const Params>> sets_;
  const Kernels& kernels_;
  mutable std::mutex mutex_;  // of what follows
  mutable std::map<std::string, std::shared_ptr<const SlotCipher>> ciphers_;
};

}  // namespace blindfl::he::lattice

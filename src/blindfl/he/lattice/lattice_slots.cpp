#include "blindfl/he/lattice/lattice_slots.h"

#include "blindfl/he/lattice/slot_layout.h"
#include "blindfl/he/lattice/slot_multiplier.h"
#include "blindfl/he/lattice/slot_owner.h"

namespace blindfl::he::lattice {

LatticeSlots::LatticeSlots(std::vector<std::shared_ptr<const Params>> sets, const Kernels& kernels)
    : sets_(std::move(sets)), kernels_(kernels) {}

std::shared_ptr<const SlotPlan> LatticeSlots::do_plan(const SlotSpec& spec) const {
  return LatticeSlotPlan::choose(sets_, spec);
}

std::size_t LatticeSlots::free_frequencies(std::size_t values, std::size_t frequencies, std::size_t functions) const {
  const auto bytes = [&](std::size_t count) {
    return layout_bytes(LatticeSlotPlan::sizes(*sets_.front(), values, count, functions));
  };
  const std::uint64_t paid = bytes(frequencies);
  // Bytes grow with frequencies.
  std::size_t most = frequencies;
  while (most < kMostFrequencies && bytes(most + 1) <= paid) ++most;
  return most;
}

std::shared_ptr<const SlotCipher> LatticeSlots::cipher(const LatticeSlotPlan& plan) const {
  const std::lock_guard lock(mutex_);
  auto& cipher = ciphers_[plan.params().name()];
  if (cipher == nullptr) cipher = std::make_shared<const SlotCipher>(plan.shared_params(), kernels_);
  return cipher;
}

std::unique_ptr<SlotKey> LatticeSlots::do_encrypt(const std::shared_ptr<const SlotPlan>& plan, const Coin& coin,
                                                  std::span<const std::uint32_t> share, Random& random,
                                                  ThreadPool& pool, ByteSink& out) const {
  auto key = std::make_unique<LatticeSlotKey>(cipher(LatticeSlotPlan::of(*plan)), plan, coin, random);
  key->write_operand(share, random, pool, out);
  return key;
}

std::vector<ShareMatrix> LatticeSlots::do_multiply(const SlotPlan& plan, const Coin& coin, ByteSource& operand,
                                                   std::span<const std::uint32_t> share, Random& random,
                                                   ThreadPool& pool, ByteSink& reply) const {
  const LatticeSlotPlan& own = LatticeSlotPlan::of(plan);
  const auto polynomials = cipher(own);
  const SlotMultiplier multiplier(*polynomials, own, coin, operand);
  return multiplier.multiply(operand, share, random, pool, reply);
}

}  // namespace blindfl::he::lattice

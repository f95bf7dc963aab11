#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "blindfl/he/elements.h"
#include "blindfl/he/lattice/element_cipher.h"

namespace blindfl::he::lattice {

// Messages. An operand is a public key (keys.h), a seed (32), and for each chunk and prime c0 of y and of x, or one of
// both (LatticeElementPlan::terms), packed modulus after modulus; c1 is expanded from the seed. A reply is the key's id
// (16), and for each chunk and prime the digits of c1 that travel.

/// Exact element-wise products of the lattice scheme: element_plan.h.
class LatticeElements final : public Elements {
 public:
  LatticeElements(std::vector<std::shared_ptr<const Params>> sets, const Kernels& kernels)
      : sets_(std::move(sets)), kernels_(kernels) {}

 private:
  [[nodiscard]] std::shared_ptr<const ElementPlan> do_plan(const ElementSpec& spec) const override;
  [[nodiscard]] std::unique_ptr<ElementKey> do_encrypt(const std::shared_ptr<const ElementPlan>& plan, const Coin& coin,
                                                       const ShareMatrix& x, const ShareMatrix& y, Random& random,
                                                       ThreadPool& pool, ByteSink& out) const override;
  [[nodiscard]] ShareMatrix do_multiply(const ElementPlan& plan, const Coin& coin, ByteSource& operand,
                                        const ShareMatrix& x, const ShareMatrix& y, Random& random, ThreadPool& pool,
                                        ByteSink& reply) const override;
  /// Made when moduli are first used.
  [[nodiscard]] std::shared_ptr<const ElementCipher> cipher(const LatticeElementPlan& plan) const;

  std::vector<std::shared_ptr<const Params>> sets_;
  const Kernels& kernels_;
  mutable std::mutex mutex_;  // of what follows
  mutable std::map<std::string, std::shared_ptr<const ElementCipher>> ciphers_;
};

}  // namespace blindfl::he::lattice

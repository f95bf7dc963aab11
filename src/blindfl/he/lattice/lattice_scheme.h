#pragma once

#include <memory>
#include <vector>

#include "blindfl/he/keys.h"
#include "blindfl/he/lattice/kernels.h"
#include "blindfl/he/lattice/params.h"
#include "blindfl/he/scheme.h"

namespace blindfl::he {

/// The default scheme: additively homomorphic, BFV-like, plaintexts modulo 2^t, 128-bit security, a whole tile of a
/// matrix in each ciphertext. The multiplier keeps one half of each ciphertext of the product as its share and sends
/// the other. See docs/protocols.md.
class LatticeScheme final : public Scheme {
 public:
  struct Options {
    /// Kernels to use; none: the fastest that this processor can run.
    const lattice::Kernels* kernels = nullptr;
  };

  LatticeScheme() : LatticeScheme(Options{}) {}
  /// With the sets of `parameter_sets()`.
  explicit LatticeScheme(const Options& options);
  /// With other sets, the cheapest first.
  LatticeScheme(std::vector<lattice::Params> sets, const Options& options);

  [[nodiscard]] std::string_view name() const override { return "lattice"; }
  [[nodiscard]] std::string parameters() const override;
  [[nodiscard]] std::vector<std::string> key_sets() const override;
  [[nodiscard]] std::uint64_t public_key_bytes(const std::string& key_set) const override;
  [[nodiscard]] bool repeats_messages() const override { return true; }
  [[nodiscard]] int security_bits() const override;
  [[nodiscard]] int preference() const override { return 1; }
  [[nodiscard]] std::size_t columns_at_once() const override { return 64; }
  [[nodiscard]] std::shared_ptr<const Slots> slots() const override;
  [[nodiscard]] std::shared_ptr<const Elements> elements() const override;
  [[nodiscard]] std::unique_ptr<KeyOwner> generate_keys(const KeySetup& setup, Random& random) const override;
  [[nodiscard]] std::unique_ptr<Multiplier> multiplier(const KeySetup& setup, ByteView public_key) const override;

 private:
  [[nodiscard]] std::shared_ptr<const Plan> do_plan(const ProductSpec& spec) const override;
  /// Throws InvalidArgument if there is no set of that name.
  [[nodiscard]] const std::shared_ptr<const lattice::Params>& set(const std::string& name) const;

  std::vector<std::shared_ptr<const lattice::Params>> sets_;
  const lattice::Kernels* kernels_;
  std::shared_ptr<const Slots> slots_;
  std::shared_ptr<const Elements> elements_;
};

}  // namespace blindfl::he

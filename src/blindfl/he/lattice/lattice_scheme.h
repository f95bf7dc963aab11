#pragma once

#include <memory>

#include "blindfl/he/keys.h"
#include "blindfl/he/lattice/kernels.h"
#include "blindfl/he/lattice/params.h"
#include "blindfl/he/scheme.h"

namespace blindfl::he {

/// The default scheme: additively homomorphic, BFV-like, plaintexts modulo 2^128, 128-bit security, a whole tile of a
/// matrix in each ciphertext. See docs/protocols.md.
class LatticeScheme final : public Scheme {
 public:
  struct Options {
    /// Kernels to use; none: the fastest that this processor can run.
    const lattice::Kernels* kernels = nullptr;
  };

  LatticeScheme() : LatticeScheme(lattice::Params(lattice::ParamsSpec{}), Options{}) {}
  LatticeScheme(lattice::Params params, const Options& options);

  [[nodiscard]] std::string_view name() const override { return "lattice"; }
  [[nodiscard]] std::string parameters() const override { return params_->describe(); }
  [[nodiscard]] std::uint64_t public_key_bytes() const override;
  [[nodiscard]] int security_bits() const override { return params_->security_bits(); }
  [[nodiscard]] int preference() const override { return 1; }
  [[nodiscard]] std::size_t columns_at_once() const override { return 64; }
  [[nodiscard]] std::unique_ptr<KeyOwner> generate_keys(Random& random) const override;
  [[nodiscard]] std::unique_ptr<Multiplier> multiplier(ByteView public_key) const override;

 private:
  [[nodiscard]] std::shared_ptr<const Plan> do_plan(const ProductSpec& spec) const override;

  std::shared_ptr<const lattice::Params> params_;
  const lattice::Kernels* kernels_;
};

}  // namespace blindfl::he

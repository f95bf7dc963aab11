#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "blindfl/base/thread_pool.h"
#include "blindfl/he/paillier/fixed_base.h"
#include "blindfl/he/paillier/params.h"
#include "blindfl/he/paillier/ring.h"

// Paillier's scheme with the generator of Damgard, Jurik and Nielsen: [[m]] = (1 + m n) h^r modulo n^2, where
// h = (-x^2)^n for a random x. A ciphertext of the sum is the product of ciphertexts.

namespace blindfl::he::paillier {

/// What anybody needs to compute under a key: n and h.
class PublicKey {
 public:
  [[nodiscard]] static std::uint64_t bytes(const Params& params) { return 3 * params.key_bytes(); }

  /// Throws ProtocolError if the bytes are not a key of these parameters: as far as that can be told without its
  /// factors.
  PublicKey(const Params& params, std::string_view kernels, ByteView bytes);

  [[nodiscard]] const Params& params() const { return params_; }
  [[nodiscard]] const Ring& ring() const { return *ring_; }
  [[nodiscard]] const BigInt& n() const { return ring_->modulus(); }
  [[nodiscard]] const BigInt& h() const { return h_; }
  [[nodiscard]] const Bytes& encoded() const { return encoded_; }
  /// Tells keys apart.
  [[nodiscard]] const std::string& id() const { return id_; }

  /// Writes fresh encryptions of 0 whose randomness is long enough for the key's owner's eyes: what re-randomises
  /// anything that travels to it.
  void encrypt_zero(std::span<Limb* const> to, Random& random) const;

  /// to[i] = to[i] + plaintexts[i], for signed plaintexts.
  void add(std::span<Limb* const> to, std::span<const BigInt> plaintexts) const;

  /// Reads ciphertexts, one for each of `to`.
  /// Throws ProtocolError if one is not a ciphertext under this key: not below n^2, or not a unit.
  void read(std::span<Limb* const> to, ByteSource& in, ThreadPool& pool) const;
  /// Writes ciphertexts in their canonical form.
  void write(std::span<const Limb* const> from, ByteSink& out, ThreadPool& pool) const;

 private:
  void check() const;
  [[nodiscard]] const FixedBase& powers() const;
  [[nodiscard]] bool are_units(std::span<Limb* const> rows) const;

  Params params_;
  Bytes encoded_;
  std::string id_;
  std::shared_ptr<const Ring> ring_;
  BigInt h_;
  mutable std::once_flag powers_made_;
  mutable std::unique_ptr<const FixedBase> powers_;  // made when first needed: a key's owner has no use for it
};

}  // namespace blindfl::he::paillier

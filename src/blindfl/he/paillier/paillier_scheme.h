#pragma once

#include <functional>
#include <memory>
#include <string>

#include "blindfl/he/keys.h"
#include "blindfl/he/paillier/crypto_tensor.h"
#include "blindfl/he/paillier/paillier_updates.h"
#include "blindfl/he/paillier/params.h"
#include "blindfl/he/paillier/randomizers.h"
#include "blindfl/he/paillier/secret_key.h"
#include "blindfl/he/scheme.h"

namespace blindfl::he {

/// The paper's own scheme: additively homomorphic, plaintexts modulo n, a few values in each ciphertext. Ciphertexts
/// can be added to in place, which is what updates under encryption live on. See docs/protocols.md.
class PaillierScheme final : public Scheme {
 public:
  struct Options {
    /// Kernels to use; empty: the fastest that this processor can run.
    std::string kernels{};
  };

  PaillierScheme() : PaillierScheme(paillier::Params(paillier::ParamsSpec{}), Options{}) {}
  PaillierScheme(const paillier::Params& params, const Options& options);

  [[nodiscard]] const paillier::Params& params() const { return params_; }
  [[nodiscard]] std::string_view name() const override { return "paillier"; }
  [[nodiscard]] std::string parameters() const override { return params_.describe(); }
  [[nodiscard]] std::uint64_t public_key_bytes(const std::string& /*key_set*/) const override {
    return paillier::PublicKey::bytes(params_);
  }
  [[nodiscard]] int security_bits() const override { return params_.security_bits(); }
  [[nodiscard]] std::shared_ptr<const Updates> updates() const override {
    return std::make_shared<paillier::PaillierUpdates>(params_);
  }
  [[nodiscard]] std::unique_ptr<KeyOwner> generate_keys(const KeySetup& setup, Random& random) const override;
  [[nodiscard]] std::unique_ptr<Multiplier> multiplier(const KeySetup& setup, ByteView public_key) const override;
  [[nodiscard]] std::unique_ptr<KeyOwner> load_keys(ByteSource& in) const override;

 private:
  [[nodiscard]] std::shared_ptr<const Plan> do_plan(const ProductSpec& spec) const override;

  paillier::Params params_;
  std::string kernels_;
};

namespace paillier {

class PaillierKeyOwner final : public KeyOwner {
 public:
  explicit PaillierKeyOwner(SecretKey key) : key_(std::move(key)), updates_(key_) {}

  [[nodiscard]] Bytes public_key() const override { return key_.public_key().encoded(); }
  [[nodiscard]] const SecretKey& secret_key() const { return key_; }
  [[nodiscard]] bool can_be_saved() const override { return true; }
  void save(ByteSink& out) const override { out.write(key_.save()); }
  [[nodiscard]] const UpdateOwner* updates() const override { return &updates_; }

 private:
  void do_encrypt(const Plan& plan, const ShareMatrix& m, Random& random, ThreadPool& pool,
                  ByteSink& out) const override;
  [[nodiscard]] ShareMatrix do_open(const Plan& plan, ByteSource& reply, Random& random,
                                    ThreadPool& pool) const override;

  SecretKey key_;
  PaillierUpdateOwner updates_;
};

class PaillierMultiplier final : public Multiplier {
 public:
  explicit PaillierMultiplier(std::shared_ptr<const PublicKey> key)
      : key_(std::move(key)), randomizers_(*key_), updates_(key_, randomizers_) {}

  [[nodiscard]] const std::shared_ptr<const PublicKey>& key() const { return key_; }
  [[nodiscard]] Randomizers& randomizers() const { return randomizers_; }

  void expect(const Plan& plan) const override;
  bool prepare() const override { return randomizers_.prepare(); }
  [[nodiscard]] const UpdateHolder* updates() const override { return &updates_; }

 private:
  [[nodiscard]] std::unique_ptr<const Operand> do_load(const Plan& plan, ByteSource& in,
                                                       ThreadPool& pool) const override;
  [[nodiscard]] ShareMatrix do_multiply(const Plan& plan, const IntMatrix& x, const Operand& operand, Random& random,
                                        Random& masks, ThreadPool& pool, ByteSink& out) const override;

  std::shared_ptr<const PublicKey> key_;
  mutable Randomizers randomizers_;
  PaillierUpdateHolder updates_;
};

/// Encrypts a matrix of signed integers row by row, in pieces, so that memory does not grow with it, and writes it.
void write_encrypted(const SecretKey& key, const CryptoShape& shape,
                     const std::function<BigInt(std::size_t row, std::size_t col)>& value, Random& random,
                     ThreadPool& pool, ByteSink& out);

}  // namespace paillier
}  // namespace blindfl::he

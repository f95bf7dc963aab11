#pragma once

#include <memory>
#include <string>
#include <vector>

#include "blindfl/he/paillier/masked_reply.h"
#include "blindfl/he/updates.h"

// Updates under encryption with Paillier's ciphertexts, which can be added to in place. See he/updates.h.

namespace blindfl::he::paillier {

class PaillierUpdates final : public Updates {
 public:
  explicit PaillierUpdates(const Params& params) : params_(params) {}

  [[nodiscard]] int most_width() const override { return params_.plaintext_bits(); }
  [[nodiscard]] int masked_width(int bits, int hiding) const override { return ReplyLayout::slot_bits(bits, hiding); }
  [[nodiscard]] std::uint64_t matrix_bytes(const EncryptedShape& matrix) const override;
  [[nodiscard]] std::uint64_t reply_bytes(const UpdateReply& reply) const override;
  void write_layout(const UpdateReply& reply, ByteSink& out) const override;
  [[nodiscard]] UpdateCosts costs(const UpdateWork& work) const override;

  [[nodiscard]] CryptoShape shape(const EncryptedShape& shape) const;
  /// The products one below the other, so that they are packed together.
  [[nodiscard]] ReplyLayout layout(const UpdateReply& reply) const;

 private:
  Params params_;
};

class PaillierUpdateHolder final : public UpdateHolder {
 public:
  /// `randomizers` must outlive this.
  PaillierUpdateHolder(std::shared_ptr<const PublicKey> key, Randomizers& randomizers)
      : key_(std::move(key)), randomizers_(randomizers), updates_(key_->params()) {}

  [[nodiscard]] const std::string& key_id() const override { return key_->id(); }
  void expect(const UpdateReply& reply) const override { randomizers_.expect(updates_.layout(reply).ciphertexts()); }
  [[nodiscard]] std::unique_ptr<EncryptedMatrix> zeros(const EncryptedShape& shape) const override;
  [[nodiscard]] std::unique_ptr<EncryptedMatrix> read(const EncryptedShape& shape, ByteSource& in,
                                                      ThreadPool& pool) const override;
  void add(EncryptedMatrix& to, const ShareMatrix& share, double factor) const override;
  void add_transposed_product(EncryptedMatrix& to, const IntMatrix& x, const EncryptedMatrix& m,
                              ThreadPool& pool) const override;
  [[nodiscard]] std::unique_ptr<EncryptedMatrix> multiply(const UpdateReply& reply, const IntMatrix& x,
                                                          std::size_t most_terms,
                                                          const std::vector<const EncryptedMatrix*>& matrices,
                                                          ThreadPool& pool) const override;
  [[nodiscard]] ShareMatrix write_masked(const UpdateReply& reply, const EncryptedMatrix& products,
                                         const PublicSum& sum, Random& random, Random& masks, ThreadPool& pool,
                                         ByteSink& out) const override;
  void save(const EncryptedMatrix& m, ByteSink& out, ThreadPool& pool) const override;
  [[nodiscard]] std::unique_ptr<EncryptedMatrix> load(const EncryptedShape& shape, ByteSource& in,
                                                      ThreadPool& pool) const override;

 private:
  std::shared_ptr<const PublicKey> key_;
  Randomizers& randomizers_;
  PaillierUpdates updates_;
};

class PaillierUpdateOwner final : public UpdateOwner {
 public:
  /// `key` must outlive this.
  explicit PaillierUpdateOwner(const SecretKey& key) : key_(key), updates_(key.public_key().params()) {}

  [[nodiscard]] const std::string& key_id() const override { return key_.public_key().id(); }
  void write_encrypted(const EncryptedShape& shape, const IntMatrix& values, double factor, Random& random,
                       ThreadPool& pool, ByteSink& out) const override;
  void write_encrypted(const EncryptedShape& shape, const ShareMatrix& share, double factor, Random& random,
                       ThreadPool& pool, ByteSink& out) const override;
  [[nodiscard]] ShareMatrix open(const UpdateReply& reply, const PublicSum& sum, ByteSource& in,
                                 ThreadPool& pool) const override;

 private:
  const SecretKey& key_;
  PaillierUpdates updates_;
};

}  // namespace blindfl::he::paillier

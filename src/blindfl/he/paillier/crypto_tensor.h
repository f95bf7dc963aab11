#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "blindfl/base/thread_pool.h"
#include "blindfl/he/paillier/public_key.h"
#include "blindfl/he/paillier/slots.h"
#include "blindfl/he/updates.h"
#include "blindfl/tensor/int_matrix.h"

namespace blindfl::he::paillier {

/// The public facts of an encrypted matrix.
struct CryptoShape {
  std::size_t rows = 0;
  std::size_t cols = 0;
  Slots slots{};
  int scale = 0;  ///< a value v stands for the real v / 2^scale
  int bits = 0;   ///< no value exceeds 2^bits in magnitude

  /// Ciphertexts that a row takes: its columns lie side by side in their slots.
  [[nodiscard]] std::size_t groups() const { return (cols + slots.count() - 1) / slots.count(); }
  /// Columns in each of them, in the last one perhaps fewer.
  [[nodiscard]] std::size_t cols_per_group() const { return (cols + groups() - 1) / groups(); }
};

/// A matrix of integers encrypted under one key, several columns in each ciphertext.
///
/// Rows that nobody wrote are 0, and take no memory: a matrix may have millions of rows of which few are ever touched.
class CryptoTensor final : public EncryptedMatrix {
 public:
  /// All 0. Throws InvalidArgument if the values do not fit in their slots.
  CryptoTensor(std::shared_ptr<const PublicKey> key, const CryptoShape& shape);

  [[nodiscard]] const PublicKey& key() const { return *key_; }
  [[nodiscard]] const std::shared_ptr<const PublicKey>& shared_key() const { return key_; }
  [[nodiscard]] const CryptoShape& shape() const { return shape_; }

  /// The ciphertexts of a row, one group after the other, `key().ring().stride()` limbs each; null if it was never
  /// written.
  [[nodiscard]] const Limb* find(std::size_t row) const;
  /// The same, for writing: a row that was never written starts as 0. Not by two threads at once.
  [[nodiscard]] Limb* touch(std::size_t row);

  /// Rows that were written, in the order of their first writing.
  [[nodiscard]] const std::vector<std::uint32_t>& written() const { return written_; }
  /// Bytes of memory that the ciphertexts take.
  [[nodiscard]] std::size_t memory() const;

 private:
  static constexpr std::size_t kBlockRows = 256;
  [[nodiscard]] std::size_t row_limbs() const { return shape_.groups() * key_->ring().stride(); }
  [[nodiscard]] Limb* at(std::uint32_t position) const;

  std::shared_ptr<const PublicKey> key_;
  CryptoShape shape_;
  std::vector<std::uint32_t> position_;  ///< of each row, from 1; 0: never written
  std::vector<std::uint32_t> written_;
  mutable std::vector<AlignedVector<Limb>> blocks_;  ///< never move: pointers into them stay valid
};

/// `x * m` for a bounded integer matrix `x`, of whose rows none has more than `most_terms` entries.
/// Cost: see scalar_products.h; entries whose row of `m` was never written cost nothing.
/// Throws InvalidArgument if a result could outgrow its slot.
[[nodiscard]] CryptoTensor multiply(const IntMatrix& x, const CryptoTensor& m, std::size_t most_terms,
                                    ThreadPool& pool);

/// `to += transpose(x) * m`, on the rows of `to` that `x` has entries for and no others.
/// Throws InvalidArgument if shapes, slots or scales do not fit. That no sum outgrows its slot is the caller's to know.
void add_transposed_product(CryptoTensor& to, const IntMatrix& x, const CryptoTensor& m, ThreadPool& pool);

/// Reads all rows, one ciphertext after the other. Throws ProtocolError if something in it is not a ciphertext under
/// the key.
[[nodiscard]] CryptoTensor read_tensor(std::shared_ptr<const PublicKey> key, const CryptoShape& shape, ByteSource& in,
                                       ThreadPool& pool);

}  // namespace blindfl::he::paillier

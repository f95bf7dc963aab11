#pragma once

#include <cstddef>
#include <vector>

#include "blindfl/he/paillier/crypto_tensor.h"
#include "blindfl/he/paillier/randomizers.h"
#include "blindfl/he/paillier/secret_key.h"

// How results travel to the key's owner: several rows packed into one ciphertext, where that pays, each value behind a
// mask of its own, the whole re-randomised.

namespace blindfl::he::paillier {

/// The public facts of a reply: the same at both parties.
struct ReplyLayout {
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::size_t groups = 1;          ///< ciphertexts that a row takes
  std::size_t cols_per_group = 1;  ///< columns in each
  std::size_t rows_per_ciphertext = 1;
  Slots slots{};
  int value_bits = 0;  ///< no value exceeds 2^value_bits in magnitude
  int mask_bits = 0;   ///< masks are uniform below 2^mask_bits

  /// For values of `bits` bits. Chooses how many rows to pack from what operations cost.
  ReplyLayout(const Params& params, std::size_t row_count, std::size_t col_count, int bits, int hiding);
  ReplyLayout() = default;

  /// Bits of a slot for a value behind a mask that is `hiding` bits longer.
  [[nodiscard]] static int slot_bits(int bits, int hiding) { return bits + hiding + 2; }

  [[nodiscard]] std::size_t packed_rows() const { return (rows + rows_per_ciphertext - 1) / rows_per_ciphertext; }
  [[nodiscard]] std::size_t ciphertexts() const { return packed_rows() * groups; }
};

/// Values as integers, row by row. Cleared when freed: BigInt does that.
using Integers = std::vector<BigInt>;

/// Packs, masks and re-randomises `values`, whose slots are those of `layout`, and writes them.
/// Returns the masks, row by row: all of them, and nothing else, drawn from `masks`, in an order that only `layout`
/// decides. What re-randomises comes from `random`, or was made ahead, and is never used twice.
/// Reveals: to the key's owner, masked values.
[[nodiscard]] Integers write_masked(const ReplyLayout& layout, const CryptoTensor& values, Randomizers& randomizers,
                                    Random& random, Random& masks, ThreadPool& pool, ByteSink& out);

/// The key's owner: decrypts what `write_masked` wrote. Returns value + mask, row by row.
/// Throws ProtocolError if it cannot be that.
[[nodiscard]] Integers open_masked(const ReplyLayout& layout, const SecretKey& key, ByteSource& in, ThreadPool& pool);

}  // namespace blindfl::he::paillier

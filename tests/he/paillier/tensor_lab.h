#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/he/paillier/crypto_tensor.h"
#include "blindfl/he/paillier/masked_reply.h"
#include "blindfl/he/paillier/paillier_updates.h"
#include "blindfl/he/paillier/secret_key.h"
#include "testing/insecure_paillier.h"

namespace blindfl::he::paillier {

/// Switches off what hides a reply, to show what it would tell.
struct HidingProbe {
  static void switch_hiding(Randomizers& randomizers, bool fresh, bool masks) {
    randomizers.fresh_ = fresh;
    randomizers.masks_ = masks;
  }
};

namespace testing {

/// A small key for each set of kernels, made once.
inline const SecretKey& small_key(std::string_view kernels) {
  static std::map<std::string_view, std::unique_ptr<const SecretKey>> keys;
  auto& key = keys[kernels];
  if (!key) {
    Random random;
    key = std::make_unique<const SecretKey>(SecretKey::generate(InsecureParams::make(), kernels, random));
  }
  return *key;
}

inline std::string name_of_kernels(const ::testing::TestParamInfo<std::string_view>& info) {
  return std::string(info.param);
}

/// What a scheme with these parameters says of updates under encryption.
inline std::shared_ptr<const Updates> updates_with(const Params& params) {
  return std::make_shared<const PaillierUpdates>(params);
}
inline const PaillierUpdates& own(const Updates& updates) {
  return dynamic_cast<const PaillierUpdates&>(updates);
}
inline const CryptoTensor& own(const EncryptedMatrix& m) {
  return dynamic_cast<const CryptoTensor&>(m);
}

/// `x m`, for m of `cols` columns.
inline Integers plain_product(const IntMatrix& x, const Integers& m, std::size_t cols) {
  Integers result(x.rows() * cols);
  for (std::size_t r = 0; r < x.rows(); ++r) {
    x.for_each_in_row(r, [&](std::size_t k, std::int64_t v) {
      for (std::size_t c = 0; c < cols; ++c) result[r * cols + c] = result[r * cols + c] + BigInt(v) * m[k * cols + c];
    });
  }
  return result;
}

/// Encrypted matrices with the secret key in hand.
class TensorLab {
 public:
  explicit TensorLab(std::string_view kernels) : TensorLab(small_key(kernels)) {}
  /// `key` must outlive this.
  explicit TensorLab(const SecretKey& key) : key_(key) {}

  [[nodiscard]] const SecretKey& key() const { return key_; }
  [[nodiscard]] const Ring& ring() const { return key_.public_key().ring(); }
  [[nodiscard]] const BigInt& n() const { return key_.public_key().n(); }
  [[nodiscard]] BigInt n2() const { return n() * n(); }
  /// One of the factors.
  [[nodiscard]] BigInt p() const {
    const SecretVector<std::byte> saved = key_.save();
    return BigInt::from_bytes(ByteView(saved).first(saved.size() / 8));
  }
  [[nodiscard]] Random& random() { return random_; }
  [[nodiscard]] ThreadPool& pool() { return pool_; }

  /// Slots of 150 bits: six in a plaintext.
  [[nodiscard]] CryptoShape shape(std::size_t rows, std::size_t cols, int scale = 32, int bits = 60) const {
    return {rows, cols, Slots(key_.public_key().params().plaintext_bits(), 150), scale, bits};
  }

  /// A row of a tensor becomes an encryption of `values`.
  void write_row(CryptoTensor& m, std::size_t row, std::span<const BigInt> values) {
    const CryptoShape& shape = m.shape();
    Limb* limbs = m.touch(row);
    for (std::size_t g = 0; g < shape.groups(); ++g) {
      const std::size_t first = g * shape.cols_per_group();
      const auto group = values.subspan(first, std::min(shape.cols_per_group(), shape.cols - first));
      Limb* to = limbs + g * ring().stride();
      const BigInt plaintext = shape.slots.pack(group);
      key_.encrypt({&to, 1}, {&plaintext, 1}, random_);
    }
  }
  [[nodiscard]] CryptoTensor encrypt(const CryptoShape& shape, const Integers& values) {
    CryptoTensor m(key_.shared_public_key(), shape);
    for (std::size_t r = 0; r < shape.rows; ++r) write_row(m, r, std::span(values).subspan(r * shape.cols, shape.cols));
    return m;
  }

  /// As it travels.
  [[nodiscard]] Bytes wire(const BigInt& ciphertext) const {
    Bytes bytes(ring().row_bytes());
    (ciphertext % n()).to_bytes(std::span(bytes).first(ring().digit_bytes()));
    (ciphertext / n()).to_bytes(std::span(bytes).subspan(ring().digit_bytes()));
    return bytes;
  }
  [[nodiscard]] BigInt from_wire(ByteView bytes) const {
    return BigInt::from_bytes(bytes.first(ring().digit_bytes())) +
           BigInt::from_bytes(bytes.subspan(ring().digit_bytes(), ring().digit_bytes())) * n();
  }
  [[nodiscard]] BigInt decrypt(const BigInt& ciphertext) const {
    std::vector<BigInt> plaintext(1);
    key_.decrypt(wire(ciphertext), plaintext);
    return plaintext[0];
  }
  /// Of a ciphertext as it travels; never 0, which static analysis cannot know.
  [[nodiscard]] std::size_t row_bytes() const { return std::max<std::size_t>(1, ring().row_bytes()); }
  /// What is left of a ciphertext without its plaintext: h^r, an encryption of 0.
  [[nodiscard]] BigInt randomness(const BigInt& ciphertext) const { return randomness(wire(ciphertext))[0]; }
  /// The same for all ciphertexts of a message.
  [[nodiscard]] std::vector<BigInt> randomness(ByteView message) const {
    const std::size_t row = row_bytes();
    std::vector<BigInt> plaintexts(message.size() / row);
    key_.decrypt(message, plaintexts);
    std::vector<BigInt> result;
    for (std::size_t i = 0; i < plaintexts.size(); ++i) {
      const BigInt without = (BigInt(1) - plaintexts[i] * n()) % n2();
      result.push_back(from_wire(message.subspan(i * row, row)) * without % n2());
    }
    return result;
  }

  /// All values, row by row; 0 where nothing was written.
  [[nodiscard]] Integers decrypt(const CryptoTensor& m) const {
    const CryptoShape& shape = m.shape();
    std::vector<const Limb*> rows;
    for (const std::uint32_t row : m.written()) {
      for (std::size_t g = 0; g < shape.groups(); ++g) rows.push_back(m.find(row) + g * ring().stride());
    }
    ThreadPool pool;
    const Bytes bytes = write_to_bytes([&](ByteSink& out) { key_.public_key().write(rows, out, pool); });
    std::vector<BigInt> plaintexts(rows.size());
    key_.decrypt(bytes, plaintexts);
    Integers values(shape.rows * shape.cols);
    auto plaintext = plaintexts.begin();
    for (const std::uint32_t row : m.written()) {
      for (std::size_t g = 0; g < shape.groups(); ++g) {
        const std::size_t first = g * shape.cols_per_group();
        std::span<BigInt> group =
            std::span(values).subspan(row * shape.cols + first, std::min(shape.cols_per_group(), shape.cols - first));
        EXPECT_TRUE(shape.slots.unpack(*plaintext++, group));
      }
    }
    return values;
  }

 private:
  const SecretKey& key_;
  Random random_;
  ThreadPool pool_;
};

}  // namespace testing
}  // namespace blindfl::he::paillier

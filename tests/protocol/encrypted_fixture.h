#pragma once

#include <map>
#include <memory>
#include <vector>

#include "blindfl/he/paillier/paillier_scheme.h"
#include "protocol/matmul_fixture.h"

namespace blindfl::protocol {

/// What a test that has both parties in hand can see of A's encrypted weights: V_A, row by row.
inline std::vector<double> decrypt_weights(MatMul& at_a, MatMul& at_b) {
  using namespace he::paillier;
  const MatMulParams& params = at_a.params();
  const auto& keys = at_b.session().keys(params.scheme(Party::kA));
  const SecretKey& key = dynamic_cast<const PaillierKeyOwner&>(*keys.owner).secret_key();
  const EncryptedUpdateParams update(params, key.public_key().params());
  ThreadPool pool;
  std::vector<double> weights(params.in(Party::kA)*update.out());

  const auto add = [&](const CryptoTensor& m, double factor) {
    const CryptoShape& shape = m.shape();
    for (const std::uint32_t row : m.written()) {
      for (std::size_t g = 0; g < shape.groups(); ++g) {
        const Limb* ciphertext = m.find(row) + g * key.public_key().ring().stride();
        const Bytes bytes = write_to_bytes([&](ByteSink& out) { key.public_key().write({&ciphertext, 1}, out, pool); });
        std::vector<BigInt> plaintext(1);
        key.decrypt(bytes, plaintext);
        const std::size_t first = g * shape.cols_per_group();
        std::vector<BigInt> values(std::min(shape.cols_per_group(), shape.cols - first));
        EXPECT_TRUE(shape.slots.unpack(plaintext[0], values));
        for (std::size_t c = 0; c < values.size(); ++c) {
          weights[row * shape.cols + first + c] += factor * std::ldexp(mpz_get_d(values[c]), -shape.scale);
        }
      }
    }
  };
  const EncryptedUpdateHolder& holder = *at_a.holder();
  const MomentumSums& sums = update.sums();
  add(holder.sum(), 1.0);
  if (sums.has_momentum()) {
    const std::size_t window = sums.window_of(holder.steps());
    add(holder.window(false), -sums.fading(holder.steps(), window));
    if (window > 0) add(holder.window(true), -sums.fading(holder.steps(), window - 1));
  }
  return weights;
}

}  // namespace blindfl::protocol

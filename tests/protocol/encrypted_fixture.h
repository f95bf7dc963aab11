#pragma once

#include <cmath>
#include <vector>

#include "blindfl/he/paillier/paillier_scheme.h"
#include "he/paillier/tensor_lab.h"
#include "protocol/matmul_fixture.h"

namespace blindfl::protocol {

using he::paillier::testing::own;
using he::paillier::testing::updates_with;

inline he::paillier::ReplyLayout layout_of(const EncryptedUpdateParams& params, std::size_t rows) {
  return own(params.updates()).layout(params.reply(rows));
}

/// What a test that has both parties in hand can see of A's encrypted weights: V_A, row by row.
inline std::vector<double> decrypt_weights(MatMul& at_a, MatMul& at_b) {
  using namespace he::paillier;
  const MatMulParams& params = at_a.params();
  const auto& keys = at_b.session().keys(params.scheme(Party::kA));
  const SecretKey& key = dynamic_cast<const PaillierKeyOwner&>(*keys.owner).secret_key();
  const EncryptedUpdateParams update(params, updates_with(key.public_key().params()));
  const he::paillier::testing::TensorLab lab(key);
  std::vector<double> weights(params.in(Party::kA)*update.out());

  const auto add = [&](const he::EncryptedMatrix& matrix, double factor) {
    const CryptoTensor& m = own(matrix);
    const Integers values = lab.decrypt(m);
    for (std::size_t i = 0; i < values.size(); ++i) {
      weights[i] += factor * std::ldexp(mpz_get_d(values[i]), -m.shape().scale);
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

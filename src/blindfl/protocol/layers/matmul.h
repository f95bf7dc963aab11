#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "blindfl/protocol/layers/layer_state.h"
#include "blindfl/protocol/layers/matmul_params.h"
#include "blindfl/protocol/layers/row_update.h"
#include "blindfl/protocol/layers/weight_product.h"

// MatMul, the paper's Figure 5: Z = X_A W_A + X_B W_B with W_A = U_A + V_A (A holds U_A, B holds V_A) and
// W_B = U_B + V_B (B holds U_B, A holds V_B). Gradients are exchanged as shares (`update: exchanged`), or A updates
// [[V_A]]_B by itself (`update: encrypted`, see encrypted_update.h).

namespace blindfl::protocol {

/// This party's shares of the gradients, at the layer's gradient scale: those of the mean loss over the real rows,
/// times the layer's batch size. Nothing where it has no share.
struct MatMulGradients {
  std::optional<ShareMatrix> weight_a;
  std::optional<ShareMatrix> weight_b;
};

/// One party's half of a MatMul source layer. Both parties make the same calls at the same time.
class MatMul {
 public:
  /// Draws this party's initial shares. `session` must outlive the layer.
  /// Throws InvalidArgument as MatMulParams and Scheme::plan do, ConfigError if the session has no scheme of a name in
  /// `spec`, before anything is sent.
  MatMul(Session& session, const MatMulSpec& spec);

  [[nodiscard]] const MatMulParams& params() const { return params_; }
  [[nodiscard]] Session& session() { return session_; }
  /// The number both parties know this layer by.
  [[nodiscard]] std::uint32_t layer() const { return layer_; }

  /// This party's share of `X_A W_A + X_B W_B`, where `x` are its own features of the batch.
  /// Cost: one product each way; what is encrypted travels only if it has changed since the last time. The first pass
  /// under a scheme that the session has not used yet exchanges public keys.
  /// Reveals: the number of rows. Throws InvalidArgument if `x` is not what the layer was made for.
  [[nodiscard]] OutputShare forward(const IntMatrix& x);

  /// This party's shares of the gradients, for the same `x` as in `forward`.
  /// Cost: one product, X_A^T at A and dZ at B. Reveals: nothing; whole gradients travel, so no row tells its support.
  [[nodiscard]] MatMulGradients backward(const IntMatrix& x, const Derivative& derivative);

  /// With updates under encryption: what holds or opens A's encrypted weights, and what updates B's own rows. Null
  /// elsewhere.
  [[nodiscard]] EncryptedUpdateHolder* holder() { return product_a_ ? product_a_->holder() : nullptr; }
  [[nodiscard]] EncryptedUpdateOwner* owner() { return product_a_ ? product_a_->owner() : nullptr; }
  [[nodiscard]] RowUpdate* row_update() { return rows_.get(); }

  /// What saved state must fit: settings, party, and the key that weights are encrypted under.
  [[nodiscard]] Settings state_settings() const;
  /// Writes all of this party's state: shares, encrypted weights, momentum that the layer itself keeps.
  /// Throws InvalidArgument between a backward pass and its step if the layer updates its weights itself.
  void save(ByteSink& out) const;
  /// Reads what `save` wrote, and no further, in a session with the same keys if weights are encrypted
  /// (`SessionOptions::saved_keys`). Both parties call it at the same point. What was sent before is sent again.
  /// Cost: one message of 32 bytes; the next pass throws ConfigError if the peer loaded another moment's state.
  /// Throws DataError if it is not that, saying which settings differ: nothing has changed then. Or if it is damaged
  /// further on: then the layer may have changed in part, and must be loaded again or thrown away.
  void load(ByteSource& in);

  [[nodiscard]] Weight& weight(Party features_of) { return *shared_weight(features_of); }
  [[nodiscard]] const std::shared_ptr<Weight>& shared_weight(Party features_of) const {
    return features_of == Party::kA ? weight_a_ : weight_b_;
  }

 private:
  /// Of a party's features: null if it has none.
  [[nodiscard]] WeightProduct* product(Party features_of) const {
    return (features_of == Party::kA ? product_a_ : product_b_).get();
  }
  [[nodiscard]] std::unique_ptr<WeightProduct> make_product(Party features_of);
  void begin_pass();
  void check_features(const IntMatrix& x) const;
  [[nodiscard]] std::shared_ptr<Weight> draw_weight(Party features_of, SeededRandom& random) const;
  [[nodiscard]] StateOrigin::Clock clock() const;
  void check_drawn(const ShareMatrix& piece) const;

  Session& session_;
  MatMulParams params_;
  std::uint32_t layer_;
  std::shared_ptr<Weight> weight_a_;
  std::shared_ptr<Weight> weight_b_;
  std::unique_ptr<WeightProduct> product_a_;
  std::unique_ptr<WeightProduct> product_b_;
  std::shared_ptr<RowUpdate> rows_;  ///< with updates under encryption, at B
  StateOrigin origin_;
};

/// Local step: a party's share of Z from its own products. `multiplied` is what it kept as multiplier, `opened` what it
/// opened as key owner; either is missing where that product is empty.
[[nodiscard]] ShareMatrix output_share(const IntMatrix& x, const ShareMatrix& own_piece,
                                       const std::optional<ShareMatrix>& multiplied,
                                       const std::optional<ShareMatrix>& opened, int scale, ThreadPool& pool);

}  // namespace blindfl::protocol

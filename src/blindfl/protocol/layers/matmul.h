#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "blindfl/protocol/layers/kept_products.h"
#include "blindfl/protocol/layers/layer_state.h"
#include "blindfl/protocol/layers/matmul_params.h"
#include "blindfl/protocol/layers/row_update.h"
#include "blindfl/protocol/layers/weight_product.h"

// MatMul, the paper's Figure 5: Z = X_A W_A + X_B W_B with W_A = U_A + V_A (A holds U_A, B holds V_A) and
// W_B = U_B + V_B (B holds U_B, A holds V_B). Gradients are exchanged as shares (`update: exchanged`), which under
// plain SGD with a declared plan are those of the updates (scaled_update.h), or A updates [[V_A]]_B by itself
// (`update: encrypted`, see encrypted_update.h).
//
// With several A's, B has such a layer with each, and W_B = U_B + sum_i V_B(i): U_B is in the first of them, which adds
// X_B U_B, and the others have none. Their outputs are opened together (open_output).
//
// Under a shared top (`Top::kShared`) Z and dZ stay shared: dZ = e + f, e at A and f at B. Then both parties' weights
// learn by a product, both products at the same time, and nobody knows a gradient:
//
//   dW_A = X_A^T e (A alone) + product(X_A^T at A, f at B),   dW_B = X_B^T f (B alone) + product(X_B^T at B, e at A).

namespace blindfl::protocol {

/// This party's shares of the gradients, at the weights' gradient scale: those of the mean loss over the real rows,
/// times the layer's batch size. Nothing where it has no share, or where the layer keeps it for its next update.
struct MatMulGradients {
  std::optional<ShareMatrix> weight_a;
  std::optional<ShareMatrix> weight_b;
};

/// One party's half of a MatMul source layer. Both parties make the same calls at the same time.
class MatMul {
 public:
  /// Draws this party's initial shares. `session` must outlive the layer; its place among several A's must be that of
  /// the spec.
  /// Throws InvalidArgument as MatMulParams and Scheme::plan do, ConfigError if the session has no scheme of a name in
  /// `spec`, before anything is sent.
  MatMul(Session& session, const MatMulSpec& spec);

  [[nodiscard]] const MatMulParams& params() const { return params_; }
  [[nodiscard]] Session& session() { return session_; }
  /// The number both parties know this layer by.
  [[nodiscard]] std::uint32_t layer() const { return layer_; }

  /// This party's share of `X_A W_A + X_B W_B`, where `x` are its own features of the batch: at `product_scale()`
  /// modulo 2^output_ring(), off by less than a unit of `output_scale` fractional bits. It is made to be opened
  /// rounded, or for a shared top, which may round it, take it in a narrower ring, or lift it where the layer has room
  /// (`output_room`). Cost: one product each way; what is encrypted travels only if it has changed since the last time.
  /// The first pass under a scheme that the session has not used yet exchanges public keys. Reveals: the number of
  /// rows. Throws InvalidArgument if `x` is not what the layer was made for.
  [[nodiscard]] OutputShare forward(const IntMatrix& x) { return forward(x, {}); }

  /// The same for training rows with these numbers, which both parties give alike; what `x` has beyond them is padding.
  /// If `keep_products` made the products with B's features, and A's share of its weights has not changed since, they
  /// are picked and not made. Without numbers they are made. Reveals: the same.
  /// Throws InvalidArgument if a number does not exist; at B, if the features are not those of that row.
  [[nodiscard]] OutputShare forward(const IntMatrix& x, std::span<const std::uint32_t> numbers);

  /// B's features of some training rows, padded with zeros to so many rows.
  using FeaturesOfRows = std::function<IntMatrix(std::span<const std::uint32_t> numbers, std::size_t padded_rows)>;

  /// Makes the products of all `rows` training rows with B's features, for the passes to come; both parties keep their
  /// shares. `features` is asked at B only. What was kept before is forgotten; so it is when state is loaded.
  /// Without features at B nothing happens.
  /// Cost: A's share of B's weights, encrypted, and the products in chunks of some thousand rows: see RowChunks.
  /// Reveals: the number of rows. Throws InvalidArgument as `forward` does, while masks repeat, and under a shared top,
  /// where A's share changes at every step; ConfigError if the parties have different numbers of rows.
  void keep_products(std::size_t rows, const FeaturesOfRows& features, const KeepOptions& options = {});
  /// What is kept; null: nothing.
  [[nodiscard]] const KeptProducts* kept_products() const { return kept_.get(); }

  /// This party's shares of the gradients, for the same `x` as in `forward`.
  /// Cost: one product, X_A^T at A and dZ at B; under a shared top two, each way at the same time. Reveals: nothing;
  /// whole gradients travel, so no row tells its support.
  /// Throws InvalidArgument unless the derivative is of the layer's top: under a shared one a share at
  /// `derivative_scale(P)` modulo 2^derivative_ring(P) for both P, or in a wider ring at any scale that leaves these.
  [[nodiscard]] MatMulGradients backward(const IntMatrix& x, const Derivative& derivative);

  /// With updates under encryption: what holds or opens the encrypted weights of a party's features, and what updates
  /// B's own rows. Null elsewhere.
  [[nodiscard]] EncryptedUpdateHolder* holder(Party features_of = Party::kA) {
    return product(features_of) ? product(features_of)->holder() : nullptr;
  }
  [[nodiscard]] EncryptedUpdateOwner* owner(Party features_of = Party::kA) {
    return product(features_of) ? product(features_of)->owner() : nullptr;
  }
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
  /// Steps that weights under encryption have seen.
  [[nodiscard]] std::uint64_t encrypted_steps() const;
  [[nodiscard]] MatMulGradients backward_open(const IntMatrix& x, const Derivative& derivative);
  [[nodiscard]] MatMulGradients backward_shared(const IntMatrix& x, const Derivative& derivative);
  /// Lifted from the rings of their products.
  [[nodiscard]] MatMulGradients finished_shared(MatMulGradients raw, const Derivative& derivative);
  /// Local step under a shared top: this party's share of dZ as the product with a party's features takes it.
  [[nodiscard]] ShareMatrix share_for(Party features_of, const Derivative& derivative) const;
  void begin_pass(Pass pass, std::size_t rows);
  /// Local step: this party's share of Z as far as its own features and its share of their weights go.
  [[nodiscard]] ShareMatrix own_part(const IntMatrix& x);
  void check_features(const IntMatrix& x) const;
  void check_encoding(const IntMatrix& x) const;
  [[nodiscard]] std::shared_ptr<Weight> draw_weight(Party features_of, SeededRandom& random) const;
  [[nodiscard]] StateOrigin::Clock clock() const;
  void check_drawn(const ShareMatrix& piece) const;
  /// At B, the layer with an A that is not the first: its own weights are not here.
  [[nodiscard]] bool own_weights_elsewhere() const {
    return session_.party() == Party::kB && session_.place().index > 0;
  }

  Session& session_;
  MatMulParams params_;
  std::uint32_t layer_;
  std::shared_ptr<Weight> weight_a_;
  std::shared_ptr<Weight> weight_b_;
  std::unique_ptr<WeightProduct> product_a_;
  std::unique_ptr<WeightProduct> product_b_;
  std::shared_ptr<RowUpdate> rows_;  ///< with updates under encryption, at B
  std::unique_ptr<KeptProducts> kept_;
  StateOrigin origin_;
};

}  // namespace blindfl::protocol

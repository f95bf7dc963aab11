#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "blindfl/protocol/layers/embed_params.h"
#include "blindfl/protocol/layers/layer_state.h"
#include "blindfl/protocol/layers/weight_product.h"

// One field's embedding table Q = S + T, of which the party that has the field holds S and the other T. It is looked up
// in by a product with the categories X, shares of E = X Q, and it learns by another, shares of dQ = X^T dE, the whole
// table's: see weight_product.h; or both come by oblivious transfer, oblivious_product.h. With `update: encrypted`, T
// exists only as [[T]] at the party that has the field.

namespace blindfl::protocol {

/// One party's side of one table.
class EmbeddingTable {
 public:
  /// Draws this party's share. `session` must outlive the table.
  /// Throws InvalidArgument as Scheme::plan does, ConfigError if the session lacks the field's scheme or if it cannot
  /// update under encryption.
  EmbeddingTable(Session& session, std::shared_ptr<const EmbedMatMulParams> params, Party features_of,
                 std::size_t index, SeededRandom& random);

  /// Whether this party has the field.
  [[nodiscard]] bool mine() const { return product_->mine(); }
  [[nodiscard]] const EmbedField& field() const { return field_; }
  /// Column of E that its embedding begins at.
  [[nodiscard]] std::size_t first_column() const { return first_column_; }
  [[nodiscard]] const std::shared_ptr<Weight>& weight() const { return weight_; }
  /// The products with its field's categories.
  [[nodiscard]] WeightProduct& product() const { return *product_; }

  // This party's shares of E = X Q, as signed numbers at the embeddings' scale in the ring of 2^128: at the party that
  // has the field, which draws them, and at the other, which gets what is left of E. Cost: the product, and a
  // correction of 8 bytes per value, together `lookup_bytes` from the party that has the field. Reveals: to the other E
  // less a drawn piece: EmbedMatMulParams::divergence_of_piece. The other throws ProtocolError if a piece is too long
  // to be one.
  [[nodiscard]] std::uint64_t lookup_bytes(std::size_t rows) const;
  [[nodiscard]] ShareMatrix send_lookup(const IntMatrix& x);
  [[nodiscard]] ShareMatrix receive_lookup(std::size_t rows);

  /// This party's share of dE's columns of this field, as its product takes it: at the scale that it takes.
  [[nodiscard]] int derivative_scale() const { return params_->derivative_share_scale(field_); }

  /// Counts changes, at both parties alike.
  [[nodiscard]] std::uint64_t changes() const { return encrypted() ? product_->steps() : weight_->version; }
  /// Part of the layer's state: see `EmbedMatMul::save` and `EmbedMatMul::load`.
  void save(ByteSink& out) const;
  void load(ByteSource& in);

  /// With updates under encryption: at the party that has the field, and at the other. Null elsewhere.
  [[nodiscard]] EncryptedUpdateHolder* holder() { return product_->holder(); }
  [[nodiscard]] EncryptedUpdateOwner* owner() { return product_->owner(); }

 private:
  [[nodiscard]] std::unique_ptr<WeightProduct> make_oblivious() const;
  [[nodiscard]] bool encrypted() const { return field_.update == Update::kEncrypted; }
  [[nodiscard]] std::shared_ptr<Weight> draw_weight(Party features_of, std::size_t index, SeededRandom& random) const;
  [[nodiscard]] std::unique_ptr<WeightProduct> make_product() const;
  [[nodiscard]] net::Message correction_message(std::size_t rows) const;
  /// Rows of this party's share of the table, as a product with categories leaves them: what to add to `share` is
  /// X times these.
  [[nodiscard]] ShareMatrix as_looked_up(const ShareMatrix& own, const IntMatrix& x, const ShareMatrix& share) const;
  /// A share of a lookup, at the embeddings' scale modulo 2^kPieceRing.
  [[nodiscard]] ShareMatrix rounded(const ShareMatrix& lookup) const;
  [[nodiscard]] ShareMatrix draw_own_pieces(const IntMatrix& x, const ShareMatrix& share) const;

  Session& session_;
  std::shared_ptr<const EmbedMatMulParams> params_;
  EmbedField field_;
  std::size_t first_column_;
  std::uint32_t layer_;
  std::shared_ptr<Weight> weight_;
  std::unique_ptr<WeightProduct> product_;
};

}  // namespace blindfl::protocol

#include "blindfl/protocol/layers/embedding_table.h"

#include <numbers>
#include <utility>

#include "blindfl/protocol/layers/steps.h"
#include "blindfl/share/products.h"

namespace blindfl::protocol {

EmbeddingTable::EmbeddingTable(Session& session, std::shared_ptr<const EmbedMatMulParams> params, Party features_of,
                               std::size_t index, SeededRandom& random)
    : session_(session),
      params_(std::move(params)),
      field_(params_->fields(features_of)[index]),
      first_column_(params_->first_column(features_of, index)),
      weight_(draw_weight(features_of, index, random)),
      product_(make_product()) {
  if (field_.scheme == session_.scheme().name()) product_->take_keys();
}

std::shared_ptr<Weight> EmbeddingTable::draw_weight(Party features_of, std::size_t index, SeededRandom& random) const {
  const EmbedMatMulSpec& spec = params_->spec();
  auto weight = std::make_shared<Weight>();
  weight->features_of = features_of;
  weight->name = spec.name + (features_of == Party::kA ? ".table_a." : ".table_b.") + std::to_string(index);
  // With updates under encryption S is drawn alone, and T, which starts at 0, is in no party's hands.
  if (!encrypted() || features_of == session_.party()) {
    const double deviation = spec.table_deviation / (encrypted() ? 1.0 : std::numbers::sqrt2);
    weight->piece = draw_piece(field_.field.categories, spec.dimension, deviation,
                               EmbedMatMulParams::table_scale(field_), spec.largest_embedding, random);
  }
  weight->shared_gradient = !encrypted();
  weight->gradient_scale = spec.gradient_scale;
  weight->gradient_bits = params_->table_gradient_bits(field_);
  weight->largest = spec.largest_embedding;
  weight->batch = spec.batch;
  return weight;
}

std::unique_ptr<WeightProduct> EmbeddingTable::make_product() const {
  WeightProductSpec spec{
      .layer_name = params_->spec().name,
      .of = "the field's table",
      .scheme = session_.scheme(field_.scheme),
      .batch = params_->spec().batch,
      .layer = session_.new_layer(),
      .operand = steps::kTableOperand,
      .product = steps::kLookupProduct,
      .derivative = steps::kDerivativeShare,
      .gradient = steps::kTableGradient,
      .forward = [params = params_, field = field_](std::size_t rows) { return params->lookup(field, rows); },
      .backward = [params = params_, field = field_](std::size_t rows) { return params->table_gradient(field, rows); }};
  if (encrypted()) spec.update = params_->encrypted_update(field_);
  return WeightProduct::make(session_, weight_, spec);
}

ShareMatrix EmbeddingTable::send_lookup(const IntMatrix& x) {
  ShareMatrix share = product_->send(x);
  return std::move(share += multiply(x, weight_->piece, session_.pool()));
}

std::optional<ShareMatrix> EmbeddingTable::send_gradient(const IntMatrix& x, const ShareMatrix& derivative) {
  const auto share = product_->send_gradient(x, &derivative);
  if (!share) return std::nullopt;
  return rescale(*share, params_->spec().gradient_scale);
}

std::optional<ShareMatrix> EmbeddingTable::receive_gradient(std::size_t rows) {
  const auto share = product_->receive_gradient(rows);
  if (!share) return std::nullopt;
  return rescale(*share, params_->spec().gradient_scale);
}

void EmbeddingTable::save(ByteSink& out) const {
  write_weight(out, *weight_);
  product_->save(out);
}

void EmbeddingTable::load(ByteSource& in) {
  SavedWeight saved = read_weight(in, *weight_);
  product_->load(in);
  weight_->version = saved.version;
  weight_->piece = std::move(saved.piece);
}

}  // namespace blindfl::protocol

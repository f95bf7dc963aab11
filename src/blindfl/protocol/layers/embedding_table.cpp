#include "blindfl/protocol/layers/embedding_table.h"

#include <algorithm>
#include <numbers>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/net/channel.h"
#include "blindfl/protocol/layers/lookup_plan.h"
#include "blindfl/protocol/layers/oblivious_product.h"
#include "blindfl/protocol/layers/steps.h"
#include "blindfl/protocol/session/hashed_fields.h"
#include "blindfl/share/integer_pieces.h"
#include "blindfl/share/products.h"
#include "blindfl/tensor/int_matrix_builder.h"

namespace blindfl::protocol {

namespace {

/// Before a table is drawn that could not be looked up in.
const EmbedField& checked_field(const EmbedMatMulParams& params, Party party, std::size_t index) {
  const EmbedField& field = params.fields(party)[index];
  if (!field.by_ot()) return field;
  const EmbedMatMulSpec& spec = params.spec();
  try {
    (void)lookup_plan(spec.batch, field.field.most, field.field.categories, spec.dimension, field.calls);
  } catch (const InvalidArgument& error) {
    fail<InvalidArgument>("layer '", spec.name, "': field '", field.field.name, "': ", error.what());
  }
  return field;
}

/// A lookup without the rows that nobody asks for: the product of `x` and `rows` is that of the matrices it was made
/// of.
struct AskedRows {
  IntMatrix x;
  ShareMatrix rows;
};

AskedRows asked_rows(const IntMatrix& x, const ShareMatrix& table) {
  AskedRows asked{IntMatrix(), ShareMatrix(x.stored(), table.cols(), table.scale(), table.ring_bits())};
  IntMatrixBuilder builder({IntMatrix::Kind::kCsr, x.stored(), x.scale(), x.bound()}, x.rows(), x.stored());
  std::size_t next = 0;
  for (std::size_t r = 0; r < x.rows(); ++r) {
    x.for_each_in_row(r, [&](std::size_t category, std::int64_t value) {
      std::ranges::copy(table.row(category), asked.rows.row(next).begin());
      builder.add(next++, value);
    });
    builder.end_row();
  }
  asked.x = builder.finish();
  return asked;
}

}  // namespace

EmbeddingTable::EmbeddingTable(Session& session, std::shared_ptr<const EmbedMatMulParams> params, Party features_of,
                               std::size_t index, SeededRandom& random)
    : session_(session),
      params_(std::move(params)),
      field_(checked_field(*params_, features_of, index)),
      first_column_(params_->first_column(features_of, index)),
      layer_(session.new_layer()),
      weight_(draw_weight(features_of, index, random)),
      product_(make_product()) {}

std::shared_ptr<Weight> EmbeddingTable::draw_weight(Party features_of, std::size_t index, SeededRandom& random) const {
  const EmbedMatMulSpec& spec = params_->spec();
  auto weight = std::make_shared<Weight>();
  weight->features_of = features_of;
  weight->name = spec.name + (features_of == Party::kA ? ".table_a." : ".table_b.") + std::to_string(index);
  // With updates under encryption S is drawn alone, and T, which starts at 0, is in no party's hands.
  if (!encrypted() || features_of == session_.party()) {
    const double deviation = spec.table_deviation / (encrypted() ? 1.0 : std::numbers::sqrt2);
    weight->piece = draw_piece(field_.field.categories, spec.dimension, deviation, params_->table_scale(field_),
                               spec.largest_embedding, random);
  }
  weight->shared_gradient = !encrypted();
  weight->gradient_scale = spec.gradient_scale;
  if (!encrypted()) {
    const LiftedGradient lift = params_->table_lift(field_);
    weight->gradient_scale = lift.kept_scale(spec.gradient_scale);
    weight->gradient_bits = lift.kept_bits(spec.gradient_scale);
  }
  weight->largest = spec.largest_embedding;
  weight->batch = spec.batch;
  return weight;
}

std::unique_ptr<WeightProduct> EmbeddingTable::make_oblivious() const {
  return std::make_unique<ObliviousProduct>(
      session_, weight_,
      ObliviousProductSpec{.layer_name = params_->spec().name,
                           .layer = layer_,
                           .dimension = params_->spec().dimension,
                           .most = field_.field.most,
                           .calls = field_.calls,
                           .lookup_scale = params_->embedding_scale(),
                           .gradient_ring = params_->table_lift(field_).ring_bits});
}

std::unique_ptr<WeightProduct> EmbeddingTable::make_product() const {
  if (field_.by_ot()) return make_oblivious();
  WeightProductSpec spec{
      .layer_name = params_->spec().name,
      .of = "the field's table",
      .scheme = session_.scheme(field_.scheme),
      .batch = params_->spec().batch,
      .layer = layer_,
      .operand = steps::kTableOperand,
      .product = steps::kLookupProduct,
      .derivative = steps::kDerivativeShare,
      .gradient = steps::kTableGradient,
      .forward = [params = params_, field = field_](std::size_t rows) { return params->lookup(field, rows); },
      .backward = [params = params_, field = field_](std::size_t rows) { return params->table_gradient(field, rows); }};
  if (encrypted()) spec.update = params_->encrypted_update(field_);
  return WeightProduct::make(session_, weight_, spec);
}

// By oblivious transfer T is looked up in rounded, and so is S: E is then a function of both, whatever the keys.
ShareMatrix EmbeddingTable::as_looked_up(const ShareMatrix& own, const IntMatrix& x, const ShareMatrix& share) const {
  const int scale = share.scale() - x.scale();
  return rescale(narrowed(own, share.ring_bits() + own.scale() - scale), scale);
}

// Modulo a power of 2, rounding never fails.
ShareMatrix EmbeddingTable::rounded(const ShareMatrix& lookup) const {
  const int scale = params_->embedding_scale();
  return rescale(narrowed(lookup, kPieceRing + lookup.scale() - scale), scale);
}

net::Message EmbeddingTable::correction_message(std::size_t rows) const {
  const std::size_t cols = params_->spec().dimension;
  return {steps::kPieceCorrection, layer_, std::uint64_t{rows} * cols * sizeof(std::uint64_t), rows, cols};
}

std::uint64_t EmbeddingTable::lookup_bytes(std::size_t rows) const {
  return product_->product_bytes(rows) + correction_message(rows).size;
}

ShareMatrix EmbeddingTable::send_lookup(const IntMatrix& x) {
  ShareMatrix share = product_->send(x);
  const AskedRows own = asked_rows(x, weight_->piece);
  share += multiply(own.x, as_looked_up(own.rows, x, share), session_.pool());
  const ShareMatrix looked_up = rounded(share);
  ShareMatrix pieces = draw_own_pieces(x, looked_up);
  const SecretVector<std::uint64_t> words = piece_corrections(looked_up, pieces);
  session_.channel().send(correction_message(x.rows()), std::as_bytes(std::span(words)));
  return pieces;
}

ShareMatrix EmbeddingTable::receive_lookup(std::size_t rows) {
  const ShareMatrix share = rounded(product_->receive(rows));
  SecretVector<std::uint64_t> words(share.values().size());
  session_.channel().receive(correction_message(rows),
                             [&](ByteSource& in) { in.read(std::as_writable_bytes(std::span(words))); });
  try {
    return corrected_pieces(share, words, "layer '" + params_->spec().name + "', embeddings");
  } catch (const ProtocolError&) {
    session_.channel().close();
    throw;
  }
}

// While masks repeat, so do these: other pieces of the same embeddings would tell of them what they have in common.
ShareMatrix EmbeddingTable::draw_own_pieces(const IntMatrix& x, const ShareMatrix& share) const {
  const MaskedProduct product{
      session_.party(), steps::kPieceCorrection, layer_, write_to_bytes([&](ByteSink& out) {
        for (const std::size_t number : {x.rows(), x.cols(), share.cols()}) {
          out.write_u64(number);
        }
        out.write_u64(static_cast<std::uint64_t>(share.scale()));
        if (!session_.repeats_masks()) return;
        // Where pieces repeat, what they are taken from does: from others they would show the
        // difference of two embeddings. By oblivious transfer shares are others each time, and
        // add up to what follows from X, S and T.
        const Bytes peer = product_->peer_digest();
        out.write(digest_of_matrix(peer.empty() ? share : as_looked_up(weight_->piece, x, share)));
        out.write(peer);
      })};
  Random random = session_.masks(product, x);
  return draw_pieces(share.rows(), share.cols(), share.scale(), random);
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

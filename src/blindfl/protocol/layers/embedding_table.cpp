#include "blindfl/protocol/layers/embedding_table.h"

#include <numbers>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/share/products.h"

namespace blindfl::protocol {

namespace {

const he::Plan& cached_plan(std::map<std::size_t, std::shared_ptr<const he::Plan>>& plans, const he::Scheme& scheme,
                            std::size_t rows, const he::ProductSpec& spec) {
  auto& plan = plans[rows];
  if (!plan) plan = scheme.plan(spec);
  return *plan;
}

}  // namespace

EmbeddingTable::EmbeddingTable(Session& session, std::shared_ptr<const EmbedMatMulParams> params, Party features_of,
                               std::size_t index, SeededRandom& random)
    : session_(session),
      params_(std::move(params)),
      field_(params_->fields(features_of)[index]),
      first_column_(params_->first_column(features_of, index)),
      layer_(session.new_layer()),
      scheme_(session.scheme(field_.scheme)),
      weight_(std::make_shared<Weight>()) {
  weight_->features_of = features_of;
  weight_->name = params_->spec().name + (features_of == Party::kA ? ".table_a." : ".table_b.") + std::to_string(index);
  draw_weight(random);
  // Made now, so that what the scheme cannot do is refused before anything is sent.
  if (encrypted()) {
    (void)EncryptedUpdateParams(params_->encrypted_update(field_),
                                he::updates_of<ConfigError>(scheme_, params_->spec().name, "the field's table"));
  } else {
    (void)lookup_plan(params_->spec().batch);
    (void)gradient_plan(params_->spec().batch);
  }
  if (&scheme_ == &session_.scheme()) take_keys();
}

void EmbeddingTable::draw_weight(SeededRandom& random) {
  const EmbedMatMulSpec& spec = params_->spec();
  // With updates under encryption S is drawn alone, and T, which starts at 0, is in no party's hands.
  if (!encrypted() || mine()) {
    const double deviation = spec.table_deviation / (encrypted() ? 1.0 : std::numbers::sqrt2);
    weight_->piece = draw_piece(field_.field.categories, spec.dimension, deviation,
                                EmbedMatMulParams::table_scale(field_), spec.largest_embedding, random);
  }
  weight_->shared_gradient = !encrypted();
  weight_->gradient_scale = spec.gradient_scale;
  weight_->gradient_bits = params_->table_gradient_bits(field_);
  weight_->largest = spec.largest_embedding;
  weight_->batch = spec.batch;
}

void EmbeddingTable::take_keys() {
  if (keys_ != nullptr) return;
  keys_ = &session_.keys(scheme_.name());
  if (encrypted()) return make_encrypted();
  if (!mine()) return;
  keys_->peer->expect(lookup_plan(params_->spec().batch));
  keys_->peer->expect(gradient_plan(params_->spec().batch));
}

void EmbeddingTable::make_encrypted() {
  auto update = std::make_shared<const EncryptedUpdateParams>(params_->encrypted_update(field_), scheme_.updates());
  if (mine()) {
    holder_ = std::make_shared<EncryptedUpdateHolder>(std::move(update), *keys_->peer->updates());
    weight_->update = holder_;
  } else {
    owner_ = std::make_shared<EncryptedUpdateOwner>(std::move(update), *keys_->owner->updates());
    weight_->update = owner_;
  }
}

const he::Plan& EmbeddingTable::lookup_plan(std::size_t rows) {
  return cached_plan(lookup_plans_, scheme_, rows, params_->lookup(field_, rows));
}

const he::Plan& EmbeddingTable::gradient_plan(std::size_t rows) {
  return cached_plan(gradient_plans_, scheme_, rows, params_->table_gradient(field_, rows));
}

ProductSteps EmbeddingTable::lookup_steps() const {
  return {net::Step::kTableOperand, net::Step::kLookupProduct, layer_};
}

ProductSteps EmbeddingTable::gradient_steps() const {
  return {net::Step::kDerivativeShare, net::Step::kTableGradient, layer_};
}

std::uint64_t EmbeddingTable::version() const {
  return weight_->version + (holder_ ? holder_->steps() : owner_ ? owner_->steps() : 0);
}

std::uint64_t EmbeddingTable::operand_bytes(std::size_t rows) {
  if (encrypted() || !sent_.stale(lookup_plan(rows), weight_->version)) return 0;
  return lookup_plan(rows).operand_bytes();
}

void EmbeddingTable::send_operand(std::size_t rows) {
  if (operand_bytes(rows) == 0) return;
  sent_.send(session_, *keys_, lookup_plan(rows), lookup_steps(), weight_->version, weight_->piece);
}

void EmbeddingTable::receive_operand(std::size_t rows) {
  if (encrypted() || !received_.stale(lookup_plan(rows), weight_->version)) return;
  received_.receive(session_, *keys_, lookup_plan(rows), lookup_steps(), weight_->version);
}

std::uint64_t EmbeddingTable::lookup_bytes(std::size_t rows) {
  return encrypted() ? holder_->reply_bytes(rows) : lookup_plan(rows).reply_bytes();
}

ShareMatrix EmbeddingTable::send_lookup(const IntMatrix& x) {
  const he::Plan* plan = encrypted() ? nullptr : &lookup_plan(x.rows());
  ShareMatrix share = encrypted() ? holder_->send_product(session_, layer_, x)
                                  : send_product(session_, *keys_, *plan, lookup_steps(), x, received_.get(*plan));
  return std::move(share += multiply(x, weight_->piece, session_.pool()));
}

ShareMatrix EmbeddingTable::receive_lookup(std::size_t rows) {
  if (encrypted()) return owner_->receive_product(session_, layer_, rows);
  return receive_product(session_, *keys_, lookup_plan(rows), lookup_steps());
}

std::uint64_t EmbeddingTable::derivative_bytes(std::size_t rows) {
  return encrypted() ? owner_->derivative_bytes(rows) : gradient_plan(rows).operand_bytes();
}

void EmbeddingTable::send_derivative(const ShareMatrix& derivative) {
  if (encrypted()) return owner_->send_derivative(session_, layer_, derivative);
  protocol::send_operand(session_, *keys_, gradient_plan(derivative.rows()), gradient_steps(), derivative);
}

void EmbeddingTable::receive_derivative(const IntMatrix& x, const ShareMatrix& derivative) {
  if (encrypted()) return holder_->receive_derivative(session_, layer_, x, derivative);
  derivative_ = protocol::receive_operand(session_, *keys_, gradient_plan(x.rows()), gradient_steps());
}

std::uint64_t EmbeddingTable::gradient_bytes(std::size_t rows) {
  return encrypted() ? 0 : gradient_plan(rows).reply_bytes();
}

std::optional<ShareMatrix> EmbeddingTable::send_gradient(const IntMatrix& x, const ShareMatrix& derivative) {
  if (encrypted()) return std::nullopt;
  const auto operand = std::move(derivative_);
  ShareMatrix share =
      send_product(session_, *keys_, gradient_plan(x.rows()), gradient_steps(), x.transpose(), *operand);
  share += multiply_transposed(x, derivative, session_.pool());
  return rescale(share, params_->spec().gradient_scale);
}

std::optional<ShareMatrix> EmbeddingTable::receive_gradient(std::size_t rows) {
  if (encrypted()) return std::nullopt;
  return rescale(receive_product(session_, *keys_, gradient_plan(rows), gradient_steps()),
                 params_->spec().gradient_scale);
}

void EmbeddingTable::add_state_settings(const std::string& prefix, Settings& settings) const {
  if (holder_) settings.add(prefix + ".key", holder_->key_id());
  if (owner_) settings.add(prefix + ".key", owner_->key_id());
}

std::uint64_t EmbeddingTable::changes() const {
  if (holder_) return holder_->steps();
  return owner_ ? owner_->steps() : weight_->version;
}

void EmbeddingTable::save(ByteSink& out) const {
  write_weight(out, *weight_);
  if (holder_) holder_->save(out, session_.pool());
  if (owner_) owner_->save(out);
}

void EmbeddingTable::load(ByteSource& in) {
  SavedWeight saved = read_weight(in, *weight_);
  if (holder_) holder_->load(in, session_.pool());
  if (owner_) owner_->load(in);
  weight_->version = saved.version;
  weight_->piece = std::move(saved.piece);
  sent_ = {};
  received_ = {};
  derivative_.reset();
}

}  // namespace blindfl::protocol

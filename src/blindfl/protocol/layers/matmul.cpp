#include "blindfl/protocol/layers/matmul.h"

#include <numbers>

#include "blindfl/base/error.h"
#include "blindfl/base/saved_state.h"
#include "blindfl/share/products.h"

namespace blindfl::protocol {

namespace {

const he::Plan& cached_plan(std::map<std::pair<Party, std::size_t>, std::shared_ptr<const he::Plan>>& plans,
                            Party party, std::size_t rows, const auto& make) {
  auto& plan = plans[{party, rows}];
  if (!plan) plan = make();
  return *plan;
}

// Both parties then compare the names of the schemes in use, whoever left the choice to the session.
MatMulSpec with_scheme_names(const Session& session, MatMulSpec spec) {
  for (std::string* name : {&spec.scheme_a, &spec.scheme_b}) *name = session.scheme(*name).name();
  return spec;
}

}  // namespace

ShareMatrix output_share(const IntMatrix& x, const ShareMatrix& own_piece, const std::optional<ShareMatrix>& multiplied,
                         const std::optional<ShareMatrix>& opened, int scale, ThreadPool& pool) {
  ShareMatrix sum(x.rows(), own_piece.cols(), scale);
  if (x.cols() > 0) sum += rescale(multiply(x, own_piece, pool), scale);
  if (multiplied) sum += rescale(*multiplied, scale);
  if (opened) sum += rescale(*opened, scale);
  return sum;
}

MatMul::MatMul(Session& session, const MatMulSpec& spec)
    : session_(session), params_(with_scheme_names(session, spec)), layer_(session.new_layer()) {
  // Made now, so that what the scheme cannot do is refused before anything is sent.
  for (const Party party : {Party::kA, Party::kB}) {
    if (exchanged(party)) (void)forward_plan(party, spec.batch);
  }
  if (exchanged(Party::kA)) (void)backward_plan(Party::kA, spec.batch);
  std::shared_ptr<const EncryptedUpdateParams> encrypted;
  if (params_.encrypted()) {
    encrypted = std::make_shared<const EncryptedUpdateParams>(
        params_, he::updates_of<ConfigError>(session_.scheme(params_.scheme(Party::kA)), spec.name, "A's features"));
  }
  // The default scheme's keys are there already; those of others come with the first pass.
  for (const Party party : {Party::kA, Party::kB}) {
    if (&session_.scheme(params_.scheme(party)) == &session_.scheme()) take_keys(party);
  }

  SeededRandom random = session.weight_random(layer_);
  weight_a_ = draw_weight(Party::kA, random);
  weight_b_ = draw_weight(Party::kB, random);
  session.agree("layer '" + spec.name + "'", params_.agreement());
  if (encrypted) make_encrypted(std::move(encrypted));
}

// Here and not with the first pass: an optimizer wants to know how the weights learn.
void MatMul::make_encrypted(std::shared_ptr<const EncryptedUpdateParams> params) {
  take_keys(Party::kA);
  if (session_.party() == Party::kA) {
    holder_ = std::make_shared<EncryptedUpdateHolder>(std::move(params), *keys(Party::kA)->peer->updates());
    weight_a_->update = holder_;
    return;
  }
  owner_ = std::make_shared<EncryptedUpdateOwner>(params, *keys(Party::kA)->owner->updates());
  weight_a_->update = owner_;
  if (params_.in(Party::kB) == 0) return;
  rows_ = std::make_shared<RowUpdate>(*weight_b_, params->plan());
  weight_b_->update = rows_;
}

// What this party will multiply again and again can be prepared from here on.
void MatMul::take_keys(Party party) {
  if (params_.in(party) == 0 || keys(party) != nullptr) return;
  keys(party) = &session_.keys(params_.scheme(party));
  if (party != session_.party() || !exchanged(party)) return;
  keys(party)->peer->expect(forward_plan(party, params_.spec().batch));
  if (party == Party::kA) keys(party)->peer->expect(backward_plan(party, params_.spec().batch));
}

// A scheme's keys are exchanged at its first use. Not earlier: parties whose layers differ in it must learn that, and
// not wait for a key that never comes.
void MatMul::begin_pass() {
  session_.settle();
  for (const Party party : {Party::kA, Party::kB}) take_keys(party);
}

std::uint64_t MatMul::version() const {
  const std::uint64_t steps = holder_ ? holder_->steps() : owner_ ? owner_->steps() : 0;
  return weight_a_->version + weight_b_->version + steps;
}

std::shared_ptr<Weight> MatMul::draw_weight(Party features_of, SeededRandom& random) const {
  const MatMulSpec& spec = params_.spec();
  // With updates under encryption, A draws U_A alone, and V_A, which starts at 0, is in no party's hands.
  const bool alone = features_of == Party::kA && params_.encrypted();
  auto weight = std::make_shared<Weight>();
  weight->name = spec.name + (features_of == Party::kA ? ".weight_a" : ".weight_b");
  weight->features_of = features_of;
  if (!alone || session_.party() == Party::kA) {
    // Two shares from N(0, sigma^2 / 2) make weights from N(0, sigma^2).
    const double deviation = params_.initial_deviation() / (alone ? 1.0 : std::numbers::sqrt2);
    weight->piece =
        draw_piece(params_.in(features_of), spec.out, deviation, spec.weight_scale, spec.largest_weight, random);
  }
  // Under an open top B knows dW_B, so its gradient is not shared and V_B stays as it was drawn.
  weight->shared_gradient = features_of == Party::kA && !alone;
  weight->gradient_scale = spec.gradient_scale;
  weight->gradient_bits = params_.gradient_bits();
  weight->largest = spec.largest_weight;
  weight->batch = spec.batch;
  return weight;
}

const he::Plan& MatMul::forward_plan(Party party, std::size_t rows) {
  return cached_plan(forward_plans_, party, rows,
                     [&] { return session_.scheme(params_.scheme(party)).plan(params_.forward(party, rows)); });
}

const he::Plan& MatMul::backward_plan(Party party, std::size_t rows) {
  return cached_plan(backward_plans_, party, rows,
                     [&] { return session_.scheme(params_.scheme(party)).plan(params_.backward(party, rows)); });
}

void MatMul::check_features(const IntMatrix& x) const {
  const Party me = session_.party();
  require<InvalidArgument>(x.cols() == params_.in(me), "layer '", params_.spec().name, "' takes ", params_.in(me),
                           " features of this party, the batch has ", x.cols());
  require<InvalidArgument>(
      x.cols() == 0 || (x.scale() == params_.features(me).scale() && x.bound() <= params_.features(me).bound()),
      "layer '", params_.spec().name, "' takes features at scale ", params_.features(me).scale(), " and below 2^",
      bit_length(params_.features(me).bound()), ", the batch is encoded otherwise");
  if (params_.most_nonzeros(me) == params_.in(me)) return;
  for (std::size_t r = 0; r < x.rows(); ++r) {
    std::size_t nonzeros = 0;
    x.for_each_in_row(r, [&](std::size_t, std::int64_t value) { nonzeros += value != 0 ? 1 : 0; });
    require<InvalidArgument>(nonzeros <= params_.most_nonzeros(me), "layer '", params_.spec().name, "': row ", r,
                             " of the batch has ", nonzeros, " features that are not 0, and ",
                             params_.most_nonzeros(me), " were declared as the most");
  }
}

// Step 0 of the forward pass: `[[V]]` travels once per change, not once per use. Both parties see the same versions.
void MatMul::refresh_operands(std::size_t rows) {
  const Party me = session_.party();
  const Party peer = peer_of(me);
  const ProductSteps steps{net::Step::kForwardOperand, net::Step::kForwardProduct, layer_};

  std::uint64_t bytes = 0;
  std::function<void()> send = [] {};
  if (exchanged(peer) && sent_.stale(forward_plan(peer, rows), weight(peer).version)) {
    const he::Plan& plan = forward_plan(peer, rows);
    bytes = plan.operand_bytes();
    send = [&plan, steps, peer, this] {
      sent_.send(session_, *keys(peer), plan, steps, weight(peer).version, weight(peer).piece);
    };
  }
  std::function<void()> receive = [] {};
  if (exchanged(me) && received_.stale(forward_plan(me, rows), weight(me).version)) {
    const he::Plan& plan = forward_plan(me, rows);
    receive = [&plan, steps, me, this] { received_.receive(session_, *keys(me), plan, steps, weight(me).version); };
  }
  session_.exchange(bytes, send, receive);
}

std::optional<ShareMatrix> MatMul::send_half(const IntMatrix& x) {
  const Party me = session_.party();
  if (params_.in(me) == 0) return std::nullopt;
  if (!exchanged(me)) return holder_->send_product(session_, layer_, x);
  const he::Plan& plan = forward_plan(me, x.rows());
  const ProductSteps steps{net::Step::kForwardOperand, net::Step::kForwardProduct, layer_};
  return send_product(session_, *keys(me), plan, steps, x, received_.get(plan));
}

std::optional<ShareMatrix> MatMul::receive_half(std::size_t rows) {
  const Party peer = peer_of(session_.party());
  if (params_.in(peer) == 0) return std::nullopt;
  if (!exchanged(peer)) return owner_->receive_product(session_, layer_, rows);
  const ProductSteps steps{net::Step::kForwardOperand, net::Step::kForwardProduct, layer_};
  return receive_product(session_, *keys(peer), forward_plan(peer, rows), steps);
}

std::uint64_t MatMul::reply_bytes(std::size_t rows) {
  const Party me = session_.party();
  if (params_.in(me) == 0) return 0;
  return exchanged(me) ? forward_plan(me, rows).reply_bytes() : holder_->reply_bytes(rows);
}

OutputShare MatMul::forward(const IntMatrix& x) {
  const Stopwatch::Lap lap(session_.protocol_time());
  check_features(x);
  session_.check_scoring(layer_, params_.spec().name, version());
  begin_pass();
  if (rows_) rows_->refresh(x);
  refresh_operands(x.rows());

  std::optional<ShareMatrix> multiplied;
  std::optional<ShareMatrix> opened;
  session_.exchange(
      reply_bytes(x.rows()), [&] { multiplied = send_half(x); }, [&] { opened = receive_half(x.rows()); });
  return {output_share(x, weight(session_.party()).piece, multiplied, opened, params_.product_scale(), session_.pool()),
          params_.output_bits()};
}

// Local step: to the gradients' scale; and what a short batch summed over fewer rows, as if it had all of them.
ShareMatrix MatMul::finished_gradient(const ShareMatrix& raw, const Derivative& derivative) const {
  const MatMulSpec& spec = params_.spec();
  ShareMatrix gradient = rescale(raw, spec.gradient_scale);
  if (derivative.real_rows == spec.batch) return gradient;
  const double missing = static_cast<double>(spec.batch) / static_cast<double>(derivative.real_rows);
  return multiply_public(gradient, PublicFactor(missing), spec.gradient_scale);
}

MatMulGradients MatMul::backward(const IntMatrix& x, const Derivative& derivative) {
  const Stopwatch::Lap lap(session_.protocol_time());
  session_.check_training(params_.spec().name);
  check_features(x);
  require<InvalidArgument>(derivative.rows == x.rows() && derivative.real_rows > 0 && derivative.real_rows <= x.rows(),
                           "layer '", params_.spec().name, "': a derivative of ", derivative.real_rows, " of ",
                           derivative.rows, " rows does not fit a batch of ", x.rows());
  begin_pass();
  if (params_.encrypted()) return backward_encrypted(x, derivative);
  const ProductSteps steps{net::Step::kDerivativeOperand, net::Step::kGradientProduct, layer_};
  const bool a_learns = params_.in(Party::kA) > 0;
  MatMulGradients gradients;

  if (session_.party() == Party::kA) {
    if (!a_learns) return gradients;
    const he::Plan& plan = backward_plan(Party::kA, x.rows());
    gradients.weight_a =
        finished_gradient(product_multiplier(session_, *keys(Party::kA), plan, steps, x.transpose()), derivative);
    return gradients;
  }

  require<InvalidArgument>(derivative.values.has_value(), "layer '", params_.spec().name, "': B has no derivative");
  const ShareMatrix dz = to_ring(*derivative.values);
  if (a_learns) send_operand(session_, *keys(Party::kA), backward_plan(Party::kA, x.rows()), steps, dz);
  // While A multiplies, B works on its own half.
  if (x.cols() > 0) gradients.weight_b = finished_gradient(multiply_transposed(x, dz, session_.pool()), derivative);
  if (a_learns) {
    gradients.weight_a = finished_gradient(
        receive_product(session_, *keys(Party::kA), backward_plan(Party::kA, x.rows()), steps), derivative);
  }
  return gradients;
}

// Gradients stay with the updates, which apply them at the optimizer's word.
MatMulGradients MatMul::backward_encrypted(const IntMatrix& x, const Derivative& derivative) {
  if (session_.party() == Party::kA) {
    holder_->receive_derivative(session_, layer_, x);
    return {};
  }
  require<InvalidArgument>(derivative.values.has_value(), "layer '", params_.spec().name, "': B has no derivative");
  owner_->send_derivative(session_, layer_, derivative);
  if (rows_) rows_->add_gradient(x, derivative);
  return {};
}

Settings MatMul::state_settings() const {
  Settings settings;
  settings.add("state", "MatMul").add("party", name_of(session_.party())).add(params_.settings());
  if (holder_) settings.add("key", holder_->key_id());
  if (owner_) settings.add("key", owner_->key_id());
  return settings;
}

// What both parties can count alike.
StateOrigin::Clock MatMul::clock() const {
  StateOrigin::Clock clock{weight_a_->version, weight_b_->version};
  if (holder_) clock.push_back(holder_->steps());
  if (owner_) clock.push_back(owner_->steps());
  return clock;
}

void MatMul::save(ByteSink& out) const {
  write_state_header(out, state_settings());
  origin_.save(out, session_, clock());
  write_weight(out, *weight_a_);
  if (rows_) {
    out.write_u64(weight_b_->version);
    rows_->save(out);  // with the share
  } else {
    write_weight(out, *weight_b_);
  }
  if (holder_) holder_->save(out, session_.pool());
  if (owner_) owner_->save(out);
}

// With updates under encryption V_B never changes, and its product was planned for what is drawn.
void MatMul::check_drawn(const ShareMatrix& piece) {
  if (!params_.encrypted() || session_.party() != Party::kA || params_.in(Party::kB) == 0) return;
  try {
    he::check_right(forward_plan(Party::kB, params_.spec().batch), piece);
  } catch (const InvalidArgument&) {
    fail<DataError>("the saved state of layer '", params_.spec().name, "' is damaged: a share has too many bits");
  }
}

void MatMul::load(ByteSource& in) {
  const std::string what = "layer '" + params_.spec().name + "'";
  reading_state([&] {
    read_state_header(in, what, state_settings());
    const Bytes origin = StateOrigin::read(in);
    SavedWeight a = read_weight(in, *weight_a_);
    SavedWeight b;
    if (rows_) {
      b.version = read_version(in);
      rows_->load(in);
    } else {
      b = read_weight(in, *weight_b_);
      check_drawn(b.piece);
    }
    if (holder_) holder_->load(in, session_.pool());
    if (owner_) owner_->load(in);
    weight_a_->version = a.version;
    weight_a_->piece = std::move(a.piece);
    weight_b_->version = b.version;
    if (!rows_) weight_b_->piece = std::move(b.piece);
    sent_ = {};
    received_ = {};
    origin_.loaded(session_, what, origin, clock());
  });
}

}  // namespace blindfl::protocol

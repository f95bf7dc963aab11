#include "blindfl/protocol/layers/matmul.h"

#include <numbers>

#include "blindfl/base/error.h"
#include "blindfl/base/saved_state.h"
#include "blindfl/protocol/layers/steps.h"
#include "blindfl/share/products.h"

namespace blindfl::protocol {

namespace {

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
  SeededRandom random = session.weight_random(layer_);
  weight_a_ = draw_weight(Party::kA, random);
  weight_b_ = draw_weight(Party::kB, random);
  product_a_ = make_product(Party::kA);
  product_b_ = make_product(Party::kB);
  session.agree("layer '" + spec.name + "'", params_.agreement());
  // The default scheme's keys are there already; those of others come with the first pass. But an optimizer wants to
  // know how the weights learn.
  for (const Party party : {Party::kA, Party::kB}) {
    const bool is_default = &session_.scheme(params_.scheme(party)) == &session_.scheme();
    if (product(party) && (is_default || (party == Party::kA && params_.encrypted()))) product(party)->take_keys();
  }
  if (!owner() || params_.in(Party::kB) == 0) return;
  rows_ = std::make_shared<RowUpdate>(*weight_b_, owner()->plan());
  weight_b_->update = rows_;
}

std::unique_ptr<WeightProduct> MatMul::make_product(Party features_of) {
  if (params_.in(features_of) == 0) return nullptr;
  const bool of_a = features_of == Party::kA;
  WeightProductSpec spec{
      .layer_name = params_.spec().name,
      .of = of_a ? "A's features" : "B's features",
      .scheme = session_.scheme(params_.scheme(features_of)),
      .batch = params_.spec().batch,
      .layer = layer_,
      .forward = [params = params_, features_of](std::size_t rows) { return params.forward(features_of, rows); },
      .backward = nullptr};
  // Under an open top B has all of dZ, so that what its features learn from it takes no product.
  if (of_a) spec.backward = [params = params_](std::size_t rows) { return params.backward(Party::kA, rows); };
  if (of_a && params_.encrypted()) spec.update = encrypted_update_of(params_);
  return WeightProduct::make(session_, of_a ? weight_a_ : weight_b_, spec);
}

// A scheme's keys are exchanged at its first use. Not earlier: parties whose layers differ in it must learn that, and
// not wait for a key that never comes.
void MatMul::begin_pass() {
  session_.settle();
  for (const Party party : {Party::kA, Party::kB}) {
    if (product(party)) product(party)->take_keys();
  }
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

OutputShare MatMul::forward(const IntMatrix& x) {
  const Stopwatch::Lap lap(session_.protocol_time());
  const std::size_t rows = x.rows();
  check_features(x);
  const std::uint64_t steps = product_a_ ? product_a_->steps() : 0;
  session_.check_scoring(layer_, params_.spec().name, weight_a_->version + weight_b_->version + steps);
  begin_pass();
  if (rows_) rows_->refresh(x);

  WeightProduct* mine = product(session_.party());
  WeightProduct* peers = product(peer_of(session_.party()));
  const auto send_operand = [&] {
    if (peers) peers->send_operand(rows);
  };
  const auto receive_operand = [&] {
    if (mine) mine->receive_operand(rows);
  };
  session_.exchange(peers ? peers->operand_bytes(rows) : 0, send_operand, receive_operand);

  std::optional<ShareMatrix> multiplied;
  std::optional<ShareMatrix> opened;
  const auto send = [&] {
    if (mine) multiplied = mine->send(x);
  };
  const auto receive = [&] {
    if (peers) opened = peers->receive(rows);
  };
  session_.exchange(mine ? mine->product_bytes(rows) : 0, send, receive);
  return {output_share(x, weight(session_.party()).piece, multiplied, opened, params_.product_scale(), session_.pool()),
          params_.output_bits()};
}

MatMulGradients MatMul::backward(const IntMatrix& x, const Derivative& derivative) {
  const Stopwatch::Lap lap(session_.protocol_time());
  const MatMulSpec& spec = params_.spec();
  session_.check_training(spec.name);
  check_features(x);
  check_derivative(derivative, session_.party(), x.rows(), spec.name);
  begin_pass();
  const auto finished = [&](const std::optional<ShareMatrix>& raw) -> std::optional<ShareMatrix> {
    if (!raw) return std::nullopt;
    return finished_gradient(*raw, derivative, spec.batch, spec.gradient_scale);
  };
  MatMulGradients gradients;
  if (session_.party() == Party::kA) {
    if (!product_a_) return gradients;
    product_a_->receive_derivative(x, nullptr);
    gradients.weight_a = finished(product_a_->send_gradient(x, nullptr));
    return gradients;
  }
  if (product_a_) product_a_->send_derivative(derivative);
  // While A multiplies, B works on its own half.
  if (rows_) {
    rows_->add_gradient(x, derivative);
  } else if (x.cols() > 0) {
    gradients.weight_b = finished(multiply_transposed(x, to_ring(*derivative.share), session_.pool()));
  }
  if (product_a_) gradients.weight_a = finished(product_a_->receive_gradient(x.rows()));
  return gradients;
}

Settings MatMul::state_settings() const {
  Settings settings;
  settings.add("state", "MatMul").add("party", name_of(session_.party())).add(params_.settings());
  if (product_a_) product_a_->add_state_settings("key", settings);
  return settings;
}

// What both parties can count alike.
StateOrigin::Clock MatMul::clock() const {
  StateOrigin::Clock clock{weight_a_->version, weight_b_->version};
  if (params_.encrypted()) clock.push_back(product_a_->steps());
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
  if (product_a_) product_a_->save(out);
}

// With updates under encryption V_B never changes, and its product was planned for what is drawn.
void MatMul::check_drawn(const ShareMatrix& piece) const {
  if (!params_.encrypted() || session_.party() != Party::kA || params_.in(Party::kB) == 0) return;
  try {
    const he::Scheme& scheme = session_.scheme(params_.scheme(Party::kB));
    he::check_right(*scheme.plan(params_.forward(Party::kB, params_.spec().batch)), piece);
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
    for (const Party party : {Party::kA, Party::kB}) {
      if (product(party)) product(party)->load(in);
    }
    weight_a_->version = a.version;
    weight_a_->piece = std::move(a.piece);
    weight_b_->version = b.version;
    if (!rows_) weight_b_->piece = std::move(b.piece);
    origin_.loaded(session_, what, origin, clock());
  });
}

}  // namespace blindfl::protocol

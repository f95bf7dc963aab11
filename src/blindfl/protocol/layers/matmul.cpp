#include "blindfl/protocol/layers/matmul.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/base/saved_state.h"
#include "blindfl/protocol/layers/peers.h"
#include "blindfl/protocol/layers/steps.h"
#include "blindfl/protocol/session/room_lift.h"
#include "blindfl/share/products.h"

namespace blindfl::protocol {

namespace {

// Both parties then compare the names of the schemes in use, whoever left the choice to the session.
MatMulSpec with_scheme_names(const Session& session, MatMulSpec spec) {
  for (std::string* name : {&spec.scheme_a, &spec.scheme_b}) *name = session.scheme(*name).name();
  return spec;
}

void add_part(ShareMatrix& output, const ShareMatrix& part) {
  output += narrowed(rescale(part, output.scale()), output.ring_bits());
}

}  // namespace

ShareMatrix MatMul::own_part(const IntMatrix& x) {
  const ShareMatrix& piece = weight(session_.party()).piece;
  ShareMatrix output(x.rows(), params_.spec().out, params_.product_scale(), params_.output_ring());
  if (x.cols() == 0 || own_weights_elsewhere()) return output;
  const int needed = output.ring_bits() - (output.scale() - x.scale() - piece.scale());
  // Of millions of features a batch names a few: a copy of all their weights would take most of the step.
  const bool names_few = x.stored() < piece.rows();
  add_part(output, names_few ? narrowed(multiply(x, piece, session_.pool()), needed)
                             : multiply(x, narrowed(piece, needed), session_.pool()));
  return output;
}

MatMul::MatMul(Session& session, const MatMulSpec& spec)
    : session_(session), params_(with_scheme_names(session, spec)), layer_(session.new_layer()) {
  check_place(session, spec.peers, spec.name);
  SeededRandom random = session.weight_random(layer_);
  weight_a_ = draw_weight(Party::kA, random);
  weight_b_ = draw_weight(Party::kB, random);
  product_a_ = make_product(Party::kA);
  product_b_ = make_product(Party::kB);
  session.agree("layer '" + spec.name + "'", params_.agreement());
  // Keys come with the first pass. But an optimizer wants to know how the weights learn.
  for (const Party party : {Party::kA, Party::kB}) {
    if (params_.encrypted(party)) product(party)->take_keys(Pass::kForward, spec.batch);
  }
  if (!owner() || params_.in(Party::kB) == 0 || params_.shared() || own_weights_elsewhere()) return;
  rows_ = std::make_shared<RowUpdate>(*weight_b_, owner()->plan());
  weight_b_->update = rows_;
}

std::unique_ptr<WeightProduct> MatMul::make_product(Party features_of) {
  if (params_.in(features_of) == 0) return nullptr;
  const bool of_a = features_of == Party::kA;
  WeightProductSpec spec{.layer_name = params_.spec().name,
                         .of = of_a ? "A's features" : "B's features",
                         .scheme = session_.scheme(params_.scheme(features_of)),
                         .batch = params_.spec().batch,
                         .layer = layer_,
                         .forward =
                             [params = params_, features_of](std::size_t rows) {
                               return features_of == Party::kA ? params.forward(features_of, rows)
                                                               : product_of_rows(params, rows);
                             },
                         .backward = nullptr};
  // Under an open top B has all of dZ, so that what its features learn from it takes no product.
  if (params_.shares_gradient(features_of)) {
    spec.backward = [params = params_, features_of](std::size_t rows) { return params.backward(features_of, rows); };
  }
  if (params_.encrypted(features_of)) spec.update = encrypted_update_of(params_, features_of);
  if (params_.shared()) {
    spec.derivative = steps::kSharedDerivative;
    spec.gradient = steps::kSharedGradient;
  } else if (of_a && params_.scaled()) {
    spec.scaled_update.emplace(params_.spec().sgd);
  } else if (params_.shares_gradient(features_of)) {
    spec.most_derivatives = params_.most_derivatives();
  }
  return WeightProduct::make(session_, of_a ? weight_a_ : weight_b_, spec);
}

std::uint64_t MatMul::encrypted_steps() const {
  return (product_a_ ? product_a_->steps() : 0) + (product_b_ ? product_b_->steps() : 0);
}

// A scheme's keys are exchanged at its first use. Not earlier: parties whose layers differ in it must learn that, and
// not wait for a key that never comes.
void MatMul::begin_pass(Pass pass, std::size_t rows) {
  session_.settle();
  for (const Party party : {Party::kA, Party::kB}) {
    if (product(party)) product(party)->take_keys(pass, rows);
  }
}

std::shared_ptr<Weight> MatMul::draw_weight(Party features_of, SeededRandom& random) const {
  const MatMulSpec& spec = params_.spec();
  // With updates under encryption, a party draws U alone, and V, which starts at 0, is in no party's hands.
  const bool alone = params_.encrypted(features_of);
  auto weight = std::make_shared<Weight>();
  weight->name = spec.name + (features_of == Party::kA ? ".weight_a" : ".weight_b");
  weight->features_of = features_of;
  weight->elsewhere = features_of == Party::kB && own_weights_elsewhere();
  if (weight->elsewhere) {
    weight->piece = ShareMatrix(0, spec.out, spec.weight_scale);
  } else if (!alone || session_.party() == features_of) {
    const double deviation = params_.piece_deviation(features_of, session_.party());
    weight->piece =
        draw_piece(params_.in(features_of), spec.out, deviation, spec.weight_scale, spec.largest_weight, random);
    if (features_of == Party::kA && params_.scaled()) {
      weight->piece = narrowed(weight->piece, params_.weight_ring(features_of));
    }
  }
  // Under an open top B knows dW_B, so its gradient is not shared and V_B stays as it was drawn.
  weight->shared_gradient = params_.shares_gradient(features_of);
  weight->gradient_scale = params_.gradient_scale(features_of);
  weight->gradient_bits = params_.gradient_bits(features_of);
  weight->largest = spec.largest_weight;
  weight->batch = spec.batch;
  return weight;
}

void MatMul::check_features(const IntMatrix& x) const {
  params_.check_rows(x.rows());
  check_encoding(x);
}

void MatMul::check_encoding(const IntMatrix& x) const {
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

OutputShare MatMul::forward(const IntMatrix& x, std::span<const std::uint32_t> numbers) {
  const Stopwatch::Lap lap(session_.protocol_time());
  const std::size_t rows = x.rows();
  check_features(x);
  const bool at_b = session_.party() == Party::kB;
  // Both parties count versions alike, and so agree on it.
  const bool picks = kept_ && !numbers.empty() && kept_->version() == weight_b_->version;
  if (picks && at_b) kept_->check_features(x, numbers);
  std::optional<ShareMatrix> picked;
  if (picks) picked = kept_->pick(numbers, rows);
  session_.check_scoring(layer_, params_.spec().name, weight_a_->version + weight_b_->version + encrypted_steps());
  begin_pass(Pass::kForward, rows);
  if (rows_) rows_->refresh(x);

  WeightProduct* mine = picks && at_b ? nullptr : product(session_.party());
  WeightProduct* peers = picks && !at_b ? nullptr : product(peer_of(session_.party()));
  std::optional<ShareMatrix> multiplied;
  std::optional<ShareMatrix> opened;
  const auto send_operand = [&] {
    if (peers) peers->send_operand(rows);
  };
  const auto receive_operand = [&] {
    if (mine) mine->receive_operand(rows);
  };
  // What takes no message is computed while the peer is busy: A's part while B encrypts, B's while A multiplies.
  std::optional<ShareMatrix> output;
  if (!at_b) output = own_part(x);
  if (mine && !at_b) mine->prepare(x);
  session_.exchange(peers ? peers->operand_bytes(rows) : 0, send_operand, receive_operand);
  if (at_b) output = own_part(x);
  if (picked) add_part(*output, *picked);

  const auto send = [&] {
    if (mine) multiplied = mine->send(x);
  };
  const auto receive = [&] {
    if (peers) opened = peers->receive(rows);
  };
  session_.exchange(mine ? mine->product_bytes(rows) : 0, send, receive);
  for (const auto* part : {&multiplied, &opened}) {
    if (*part) add_part(*output, **part);
  }
  return {std::move(*output), params_.output_bits()};
}

void MatMul::keep_products(std::size_t rows, const FeaturesOfRows& features, const KeepOptions& options) {
  const Stopwatch::Lap lap(session_.protocol_time());
  session_.check_training(params_.spec().name);
  require<InvalidArgument>(!params_.shared(), "layer '", params_.spec().name,
                           "' learns under a shared top, where A's share of B's weights changes at every step: there "
                           "are no products to keep");
  kept_.reset();
  if (!product_b_) return;
  const bool at_b = session_.party() == Party::kB;
  // Before anything is sent, as far as one row can tell.
  if (at_b && rows > 0) check_encoding(features(std::vector<std::uint32_t>{0}, 1));
  session_.settle();  // parties that differ in whether they keep products must learn that, and not meet in this
  const RowChunks chunks = chunks_of(params_, session_.scheme(params_.scheme(Party::kB)), rows);
  session_.agree("the rows that layer '" + params_.spec().name + "' keeps products of",
                 Settings().add("rows", rows).add("rows of a product", chunks.chunk));
  session_.settle();
  auto kept = std::make_unique<KeptProducts>(rows, params_.spec().out, weight_b_->version, options);
  RepeatedProduct& product = *product_b_->forward_product();
  product.take_keys(chunks.chunk);
  if (at_b) {
    product.receive_operand(chunks.chunk, weight_b_->version);
  } else {
    const int ring = product.plan(chunks.chunk).spec().ring_bits;
    product.send_operand(chunks.chunk, weight_b_->version, narrowed(weight_b_->piece, ring));
  }
  std::vector<std::uint32_t> numbers;
  for (std::size_t first = 0; first < rows; first += chunks.chunk) {
    numbers.resize(std::min(chunks.chunk, rows - first));
    std::iota(numbers.begin(), numbers.end(), static_cast<std::uint32_t>(first));
    if (at_b) {
      const IntMatrix x = features(numbers, chunks.chunk);
      check_encoding(x);
      kept->append_features(x);
      kept->append(product.send(chunks.chunk, x, steps::kKeptProduct));
    } else {
      kept->append(product.receive(chunks.chunk, steps::kKeptProduct));
    }
    if (options.observer) options.observer(first + numbers.size(), rows);
  }
  // What is laid out as for a batch serves validation too; anything else is not needed any more.
  if (product.plan(chunks.chunk).operand_layout() != product.plan(params_.spec().batch).operand_layout()) {
    product.forget(chunks.chunk);
  }
  kept_ = std::move(kept);
}

MatMulGradients MatMul::backward(const IntMatrix& x, const Derivative& derivative) {
  const Stopwatch::Lap lap(session_.protocol_time());
  session_.check_training(params_.spec().name);
  check_features(x);
  check_derivative(derivative, session_.party(), x.rows(), params_.spec().name, params_.spec().top);
  return params_.shared() ? backward_shared(x, derivative) : backward_open(x, derivative);
}

MatMulGradients MatMul::backward_open(const IntMatrix& x, const Derivative& derivative) {
  const MatMulSpec& spec = params_.spec();
  begin_pass(Pass::kBackward, x.rows());
  // From here on each share is a number by itself, which a failed lift would tell of: see `he::ring_for_lifts`.
  const auto finished = [&](const std::optional<ShareMatrix>& raw) -> std::optional<ShareMatrix> {
    if (!raw) return std::nullopt;
    return rescale(lifted(*raw), params_.gradient_scale(Party::kA));
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
  } else if (x.cols() > 0 && !own_weights_elsewhere()) {
    gradients.weight_b = finished_gradient(multiply_transposed(x, to_ring(*derivative.share), session_.pool()),
                                           derivative, spec.batch, params_.gradient_scale(Party::kB));
  }
  if (product_a_) gradients.weight_a = finished(product_a_->receive_gradient(x.rows()));
  return gradients;
}

// A product takes a share as an element of its ring. Updates under encryption add both as integers, as of a full batch.
ShareMatrix MatMul::share_for(Party features_of, const Derivative& derivative) const {
  if (params_.in(features_of) == 0) return {};
  ShareMatrix share = derivative_share(derivative, params_.derivative_scale(features_of),
                                       params_.derivative_ring(features_of), params_.spec().name);
  if (!params_.encrypted(features_of)) return share;
  return finished_gradient(lifted(share), derivative, params_.spec().batch, share.scale());
}

MatMulGradients MatMul::backward_shared(const IntMatrix& x, const Derivative& derivative) {
  const Party me = session_.party();
  const Party other = peer_of(me);
  require<InvalidArgument>(derivative.shared->cols() == params_.spec().out, "layer '", params_.spec().name, "' has ",
                           params_.spec().out, " outputs, and the share of their derivative ",
                           derivative.shared->cols(), " columns");
  const ShareMatrix own = share_for(me, derivative);
  const ShareMatrix sent = share_for(other, derivative);
  begin_pass(Pass::kBackward, x.rows());
  // Before values wait for it.
  reserve(session_, room_lift_cost(params_.lifts()));
  WeightProduct* mine = product(me);
  WeightProduct* peers = product(other);
  const auto send_derivative = [&] {
    if (peers) peers->send_derivative(sent);
  };
  const auto receive_derivative = [&] {
    if (mine) mine->receive_derivative(x, &own);
  };
  session_.exchange(peers ? peers->derivative_bytes(x.rows()) : 0, send_derivative, receive_derivative);
  std::optional<ShareMatrix> of_mine;
  std::optional<ShareMatrix> of_peers;
  const auto send_gradient = [&] {
    if (mine) of_mine = mine->send_gradient(x, &own);
  };
  const auto receive_gradient = [&] {
    if (peers) of_peers = peers->receive_gradient(x.rows());
  };
  session_.exchange(mine ? mine->gradient_bytes(x.rows()) : 0, send_gradient, receive_gradient);
  if (me == Party::kB) std::swap(of_mine, of_peers);
  return finished_shared({std::move(of_mine), std::move(of_peers)}, derivative);
}

// Rounded where that never fails; from here on each share is a number by itself, in the ring of 2^128.
MatMulGradients MatMul::finished_shared(MatMulGradients raw, const Derivative& derivative) {
  std::vector<LiftedShare> shares;
  const auto round = [&](std::optional<ShareMatrix>& gradient, Party features_of) {
    if (!gradient) return;
    gradient = rescale(*gradient, params_.gradient_scale(features_of));
    shares.push_back({*gradient});
  };
  round(raw.weight_a, Party::kA);
  round(raw.weight_b, Party::kB);
  const std::vector<ShareMatrix> lifted = lift_with_room(session_, layer_, shares);
  auto next = lifted.begin();
  const auto finish = [&](std::optional<ShareMatrix>& gradient, Party features_of) {
    if (!gradient) return;
    gradient = finished_gradient(*next++, derivative, params_.spec().batch, params_.gradient_scale(features_of));
  };
  finish(raw.weight_a, Party::kA);
  finish(raw.weight_b, Party::kB);
  return raw;
}

Settings MatMul::state_settings() const {
  Settings settings;
  settings.add("state", "MatMul").add("party", name_of(session_.party())).add(params_.settings());
  if (session_.place().several()) settings.add("place", session_.place().index);
  if (product_a_) product_a_->add_state_settings("key", settings);
  if (product_b_) product_b_->add_state_settings("key_b", settings);
  return settings;
}

// What both parties can count alike.
StateOrigin::Clock MatMul::clock() const {
  StateOrigin::Clock clock{weight_a_->version, weight_b_->version};
  for (const Party party : {Party::kA, Party::kB}) {
    if (params_.encrypted(party)) clock.push_back(product(party)->steps());
  }
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
  for (const Party party : {Party::kA, Party::kB}) {
    if (product(party)) product(party)->save(out);
  }
}

// With updates under encryption V_B never changes under an open top, and its product was planned for what is drawn.
void MatMul::check_drawn(const ShareMatrix& piece) const {
  if (params_.shared() || !params_.encrypted() || session_.party() != Party::kA || params_.in(Party::kB) == 0) return;
  bool fits = true;
  try {
    const he::Scheme& scheme = session_.scheme(params_.scheme(Party::kB));
    const ShareMatrix needed = narrowed(piece, params_.weight_ring(Party::kB));
    he::check_right(*scheme.plan(params_.forward(Party::kB, params_.spec().batch)), needed);
    fits = lifted(needed) == piece;
  } catch (const InvalidArgument&) {
    fits = false;
  }
  require<DataError>(fits, "the saved state of layer '", params_.spec().name,
                     "' is damaged: a share has too many bits");
}

void MatMul::load(ByteSource& in) {
  const std::string what = "layer '" + params_.spec().name + "'";
  kept_.reset();
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

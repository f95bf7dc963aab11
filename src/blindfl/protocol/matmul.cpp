#include "blindfl/protocol/matmul.h"

#include <cmath>
#include <numbers>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/base/secret.h"
#include "blindfl/share/products.h"

namespace blindfl::protocol {

namespace {

// Each party draws its piece from N(0, sigma^2 / 2), so that the weights start at N(0, sigma^2).
ShareMatrix draw_piece(const MatMulParams& params, Party features_of, SeededRandom& random) {
  const MatMulSpec& spec = params.spec();
  const double deviation = params.initial_deviation() / std::numbers::sqrt2;
  SecretVector<double> reals(params.in(features_of)*spec.out);
  for (double& x : reals) {
    x = std::clamp(deviation * random.normal(), -spec.largest_weight, spec.largest_weight);
  }
  return encode_ring(params.in(features_of), spec.out, reals, spec.weight_scale, spec.largest_weight);
}

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
    if (params_.in(party) > 0) (void)forward_plan(party, spec.batch);
  }
  if (spec.in_a > 0) (void)backward_plan(Party::kA, spec.batch);
  // The default scheme's keys are there already; those of others come with the first pass.
  for (const Party party : {Party::kA, Party::kB}) {
    if (&session_.scheme(params_.scheme(party)) == &session_.scheme()) take_keys(party);
  }

  SeededRandom random = session.weight_random(layer_);
  weight_a_ = draw_weight(Party::kA, /*shared_gradient=*/true, random);
  // Under an open top B knows dW_B, so its gradient is not shared and V_B stays as it was drawn.
  weight_b_ = draw_weight(Party::kB, /*shared_gradient=*/false, random);
  session.agree("layer '" + spec.name + "'", params_.settings());
}

// What this party will multiply again and again can be prepared from here on.
void MatMul::take_keys(Party party) {
  if (params_.in(party) == 0 || keys(party) != nullptr) return;
  keys(party) = &session_.keys(params_.scheme(party));
  if (party != session_.party()) return;
  keys(party)->peer->expect(forward_plan(party, params_.spec().batch));
  if (party == Party::kA) keys(party)->peer->expect(backward_plan(party, params_.spec().batch));
}

// A scheme's keys are exchanged at its first use. Not earlier: parties whose layers differ in it must learn that, and
// not wait for a key that never comes.
void MatMul::begin_pass() {
  session_.settle();
  for (const Party party : {Party::kA, Party::kB}) take_keys(party);
}

std::shared_ptr<Weight> MatMul::draw_weight(Party features_of, bool shared_gradient, SeededRandom& random) const {
  const MatMulSpec& spec = params_.spec();
  auto weight = std::make_shared<Weight>();
  weight->name = spec.name + (features_of == Party::kA ? ".weight_a" : ".weight_b");
  weight->features_of = features_of;
  weight->piece = draw_piece(params_, features_of, random);
  weight->shared_gradient = shared_gradient;
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
}

// Step 0 of the forward pass: `[[V]]` travels once per change, not once per use. Both parties see the same versions.
void MatMul::refresh_operands(std::size_t rows) {
  const Party me = session_.party();
  const Party peer = peer_of(me);
  const ProductSteps steps{net::Step::kForwardOperand, net::Step::kForwardProduct, layer_};

  std::uint64_t bytes = 0;
  std::function<void()> send = [] {};
  if (params_.in(peer) > 0) {
    const he::Plan& plan = forward_plan(peer, rows);
    std::uint64_t& sent = sent_[plan.operand_layout()];
    if (sent != weight(peer).version) {
      bytes = plan.operand_bytes();
      send = [&plan, &sent, steps, peer, this] {
        send_operand(session_, *keys(peer), plan, steps, weight(peer).piece);
        sent = weight(peer).version;
      };
    }
  }
  std::function<void()> receive = [] {};
  if (params_.in(me) > 0) {
    const he::Plan& plan = forward_plan(me, rows);
    CachedOperand& cached = received_[plan.operand_layout()];
    if (cached.version != weight(me).version) {
      receive = [&plan, &cached, steps, me, this] {
        cached.operand = receive_operand(session_, *keys(me), plan, steps);
        cached.version = weight(me).version;
      };
    }
  }
  session_.exchange(bytes, send, receive);
}

OutputShare MatMul::forward(const IntMatrix& x) {
  check_features(x);
  begin_pass();
  const Party me = session_.party();
  const Party peer = peer_of(me);
  const ProductSteps steps{net::Step::kForwardOperand, net::Step::kForwardProduct, layer_};
  refresh_operands(x.rows());

  std::optional<ShareMatrix> multiplied;
  std::optional<ShareMatrix> opened;
  const he::Plan* mine = params_.in(me) > 0 ? &forward_plan(me, x.rows()) : nullptr;
  const he::Plan* theirs = params_.in(peer) > 0 ? &forward_plan(peer, x.rows()) : nullptr;
  session_.exchange(
      mine != nullptr ? mine->reply_bytes() : 0,
      [&] {
        if (mine != nullptr) {
          multiplied =
              send_product(session_, *keys(me), *mine, steps, x, *received_.at(mine->operand_layout()).operand);
        }
      },
      [&] {
        if (theirs != nullptr) opened = receive_product(session_, *keys(peer), *theirs, steps);
      });
  return {output_share(x, weight(me).piece, multiplied, opened, params_.product_scale(), session_.pool()),
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
  check_features(x);
  require<InvalidArgument>(derivative.rows == x.rows() && derivative.real_rows > 0 && derivative.real_rows <= x.rows(),
                           "layer '", params_.spec().name, "': a derivative of ", derivative.real_rows, " of ",
                           derivative.rows, " rows does not fit a batch of ", x.rows());
  begin_pass();
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

}  // namespace blindfl::protocol

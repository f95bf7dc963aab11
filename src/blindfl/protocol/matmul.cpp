#include "blindfl/protocol/matmul.h"

#include <cmath>
#include <numbers>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/share/products.h"

namespace blindfl::protocol {

namespace {

// Each party draws its piece from N(0, sigma^2 / 2), so that the weights start at N(0, sigma^2).
ShareMatrix draw_piece(const MatMulParams& params, Party features_of, SeededRandom& random) {
  const MatMulSpec& spec = params.spec();
  const double deviation = params.initial_deviation() / std::numbers::sqrt2;
  std::vector<double> reals(params.in(features_of)*spec.out);
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

}  // namespace

ShareMatrix output_share(const IntMatrix& x, const ShareMatrix& own_piece, const std::optional<ShareMatrix>& multiplied,
                         const std::optional<ShareMatrix>& opened, int scale, ThreadPool& pool) {
  ShareMatrix sum(x.rows(), own_piece.cols(), scale);
  if (x.cols() > 0) sum += rescale(multiply(x, own_piece, pool), scale);
  if (multiplied) sum += rescale(*multiplied, scale);
  if (opened) sum += rescale(*opened, scale);
  return sum;
}

MatMul::MatMul(Session& session, const MatMulSpec& spec, std::uint64_t seed)
    : session_(session), params_(spec), layer_(session.new_layer()) {
  SeededRandom random(seed, layer_);
  // Under an open top B knows dW_B, so its gradient is not shared and V_B stays as it was drawn.
  weight_a_ = {spec.name + ".weight_a", Party::kA, draw_piece(params_, Party::kA, random), true, 1};
  weight_b_ = {spec.name + ".weight_b", Party::kB, draw_piece(params_, Party::kB, random), false, 1};
  // Made now, so that what the scheme cannot do is refused before anything is sent.
  for (const Party party : {Party::kA, Party::kB}) {
    if (params_.in(party) > 0) (void)forward_plan(party, spec.batch);
  }
  if (spec.in_a > 0) (void)backward_plan(Party::kA, spec.batch);
}

const he::Plan& MatMul::forward_plan(Party party, std::size_t rows) {
  return cached_plan(forward_plans_, party, rows, [&] { return session_.scheme().plan(params_.forward(party, rows)); });
}

const he::Plan& MatMul::backward_plan(Party party, std::size_t rows) {
  return cached_plan(backward_plans_, party, rows,
                     [&] { return session_.scheme().plan(params_.backward(party, rows)); });
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
        send_operand(session_, plan, steps, weight(peer).piece);
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
        cached.operand = receive_operand(session_, plan, steps);
        cached.version = weight(me).version;
      };
    }
  }
  session_.exchange(bytes, send, receive);
}

OutputShare MatMul::forward(const IntMatrix& x) {
  check_features(x);
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
          multiplied = send_product(session_, *mine, steps, x, *received_.at(mine->operand_layout()).operand);
        }
      },
      [&] {
        if (theirs != nullptr) opened = receive_product(session_, *theirs, steps);
      });
  return {output_share(x, weight(me).piece, multiplied, opened, params_.product_scale(), session_.pool()),
          params_.output_bits()};
}

MatMulGradients MatMul::backward(const IntMatrix& x, const Derivative& derivative) {
  check_features(x);
  require<InvalidArgument>(derivative.rows == x.rows(), "layer '", params_.spec().name, "': a derivative of ",
                           derivative.rows, " rows does not fit a batch of ", x.rows());
  const ProductSteps steps{net::Step::kDerivativeOperand, net::Step::kGradientProduct, layer_};
  const bool a_learns = params_.in(Party::kA) > 0;
  const int scale = params_.spec().gradient_scale;
  MatMulGradients gradients;

  if (session_.party() == Party::kA) {
    if (!a_learns) return gradients;
    const he::Plan& plan = backward_plan(Party::kA, x.rows());
    gradients.weight_a = rescale(product_multiplier(session_, plan, steps, x.transpose()), scale);
    return gradients;
  }

  require<InvalidArgument>(derivative.values.has_value(), "layer '", params_.spec().name, "': B has no derivative");
  const ShareMatrix dz = to_ring(*derivative.values);
  if (a_learns) send_operand(session_, backward_plan(Party::kA, x.rows()), steps, dz);
  // While A multiplies, B works on its own half.
  if (x.cols() > 0) gradients.weight_b = rescale(multiply_transposed(x, dz, session_.pool()), scale);
  if (a_learns) {
    gradients.weight_a = rescale(receive_product(session_, backward_plan(Party::kA, x.rows()), steps), scale);
  }
  return gradients;
}

}  // namespace blindfl::protocol

#include "blindfl/protocol/layers/weight_product.h"

#include <cmath>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/share/products.h"

namespace blindfl::protocol {

namespace {

double sum_of_magnitudes(const IntMatrix& d) {
  double sum = 0;
  for (std::size_t r = 0; r < d.rows(); ++r) {
    d.for_each_in_row(r, [&](std::size_t, std::int64_t v) { sum += std::abs(static_cast<double>(v)); });
  }
  return std::ldexp(sum, -d.scale());
}

/// V and shares of D travel encrypted, X V and X^T D come back masked.
class ExchangedProduct final : public WeightProduct {
 public:
  ExchangedProduct(Session& session, std::shared_ptr<Weight> weight, const WeightProductSpec& spec)
      : WeightProduct(session, std::move(weight)),
        batch_(spec.batch),
        forward_(session, spec.scheme, {spec.operand, spec.product, spec.layer}, spec.forward) {
    // Made now, so that what the scheme cannot do is refused before anything is sent.
    (void)forward_.plan(batch_);
    if (!spec.backward) return;
    const ProductSteps steps{spec.derivative, spec.gradient, spec.layer};
    (void)backward_.emplace(session, spec.scheme, steps, spec.backward).plan(batch_);
    if (spec.most_derivatives && !mine()) lifts_.emplace(spec.layer_name, *spec.most_derivatives);
    if (!spec.scaled_update) return;
    weight_->update = scaled_ = std::make_shared<ScaledUpdate>(*weight_, *spec.scaled_update);
  }

  void take_keys(Pass pass, std::size_t rows) override {
    if (pass == Pass::kBackward && !backward_) return;
    RepeatedProduct& product = pass == Pass::kForward ? forward_ : *backward_;
    product.take_keys(rows);
    if (rows != batch_) return;
    if (mine()) {
      product.expect_to_multiply(rows);
    } else {
      product.expect_to_encrypt(rows);
    }
  }

  std::uint64_t operand_bytes(std::size_t rows) override { return forward_.operand_bytes(rows, weight_->version); }
  void send_operand(std::size_t rows) override {
    if (operand_bytes(rows) == 0) return;
    const int ring = forward_.plan(rows).spec().ring_bits;
    forward_.send_operand(rows, weight_->version, narrowed(weight_->piece, ring));
  }
  ShareMatrix receive(std::size_t rows) override { return forward_.receive(rows); }
  std::uint64_t derivative_bytes(std::size_t rows) override {
    return backward().operand_bytes(rows, RepeatedProduct::kOnce);
  }
  void send_derivative(const Derivative& derivative) override {
    const he::ProductSpec& spec = backward().plan(derivative.rows).spec();
    const double times =
        (scaled_ ? scaled_->learning_rate() : static_cast<double>(batch_)) / static_cast<double>(derivative.real_rows);
    if (lifts_) lifts_->spend(times * sum_of_magnitudes(*derivative.share));
    send_derivative(scaled_derivative(*derivative.share, times, spec.right_scale, spec.ring_bits));
  }
  void send_derivative(const ShareMatrix& share) override {
    const int ring = backward().plan(share.rows()).spec().ring_bits;
    backward().send_operand(share.rows(), RepeatedProduct::kOnce, narrowed(share, ring));
  }
  std::optional<ShareMatrix> receive_gradient(std::size_t rows) override { return kept(backward().receive(rows)); }

  void prepare(const IntMatrix& x) override { forward_.prepare_left(x.rows(), x); }
  void receive_operand(std::size_t rows) override { forward_.receive_operand(rows, weight_->version); }
  std::uint64_t product_bytes(std::size_t rows) override { return forward_.reply_bytes(rows); }
  ShareMatrix send(const IntMatrix& x) override { return forward_.send(x.rows(), x); }
  void receive_derivative(const IntMatrix& x, const ShareMatrix* /*own*/) override {
    // While the peer still encrypts.
    transposed_ = x.transpose();
    backward().prepare_left(x.rows(), transposed_);
    backward().receive_operand(x.rows(), RepeatedProduct::kOnce);
  }
  std::uint64_t gradient_bytes(std::size_t rows) override { return backward().reply_bytes(rows); }
  std::optional<ShareMatrix> send_gradient(const IntMatrix& x, const ShareMatrix* own) override {
    ShareMatrix share = backward().send(x.rows(), std::exchange(transposed_, {}));
    if (own != nullptr) share += multiply_transposed(x, narrowed(*own, share.ring_bits()), session_.pool());
    return kept(std::move(share));
  }

  RepeatedProduct* forward_product() override { return &forward_; }

  void save(ByteSink& out) const override {
    if (scaled_) scaled_->save(out);
    if (lifts_) lifts_->save(out);
  }

  void load(ByteSource& in) override {
    if (scaled_) scaled_->load(in);
    if (lifts_) lifts_->load(in);
    forward_.forget();
    if (backward_) backward_->forget();
  }

 private:
  RepeatedProduct& backward() {
    require<InvalidArgument>(backward_.has_value(), "weight '", weight_->name, "' has no share of a gradient");
    return *backward_;
  }
  /// A gradient that is an update waits for its step, and is nobody else's.
  std::optional<ShareMatrix> kept(ShareMatrix share) {
    if (!scaled_) return share;
    scaled_->add(share);
    return std::nullopt;
  }

  std::size_t batch_;
  RepeatedProduct forward_;
  std::optional<RepeatedProduct> backward_;
  std::shared_ptr<ScaledUpdate> scaled_;  ///< null where an optimizer updates the weight
  std::optional<LiftBudget> lifts_;       ///< where one updates it, and this party has all of D
  IntMatrix transposed_;                  ///< X^T, between `receive_derivative` and `send_gradient`
};

/// The party with X holds [[V]] and updates it.
class EncryptedProduct final : public WeightProduct {
 public:
  EncryptedProduct(Session& session, std::shared_ptr<Weight> weight, const WeightProductSpec& spec)
      : WeightProduct(session, std::move(weight)),
        scheme_(spec.scheme),
        layer_(spec.layer),
        params_(std::make_shared<const EncryptedUpdateParams>(
            *spec.update, he::updates_of<ConfigError>(spec.scheme, spec.layer_name, spec.of))) {}

  void take_keys(Pass /*pass*/, std::size_t /*rows*/) override {
    if (weight_->update) return;
    const SchemeKeys& keys = session_.keys(scheme_.name());
    if (mine()) {
      weight_->update = holder_ = std::make_shared<EncryptedUpdateHolder>(params_, *keys.peer->updates());
    } else {
      weight_->update = owner_ = std::make_shared<EncryptedUpdateOwner>(params_, *keys.owner->updates());
    }
  }

  std::uint64_t operand_bytes(std::size_t /*rows*/) override { return 0; }
  void send_operand(std::size_t /*rows*/) override {}
  ShareMatrix receive(std::size_t rows) override { return owner_->receive_product(session_, layer_, rows); }
  std::uint64_t derivative_bytes(std::size_t rows) override { return params_->derivative_bytes(rows); }
  void send_derivative(const Derivative& derivative) override { owner_->send_derivative(session_, layer_, derivative); }
  void send_derivative(const ShareMatrix& share) override { owner_->send_derivative(session_, layer_, share); }
  std::optional<ShareMatrix> receive_gradient(std::size_t /*rows*/) override { return std::nullopt; }

  void receive_operand(std::size_t /*rows*/) override {}
  std::uint64_t product_bytes(std::size_t rows) override { return params_->reply_bytes(rows); }
  ShareMatrix send(const IntMatrix& x) override { return holder_->send_product(session_, layer_, x); }
  void receive_derivative(const IntMatrix& x, const ShareMatrix* own) override {
    holder_->receive_derivative(session_, layer_, x, own);
  }
  std::uint64_t gradient_bytes(std::size_t /*rows*/) override { return 0; }
  std::optional<ShareMatrix> send_gradient(const IntMatrix& /*x*/, const ShareMatrix* /*own*/) override {
    return std::nullopt;
  }

  EncryptedUpdateHolder* holder() const override { return holder_.get(); }
  EncryptedUpdateOwner* owner() const override { return owner_.get(); }
  std::uint64_t steps() const override { return holder_ ? holder_->steps() : owner_ ? owner_->steps() : 0; }

  void add_state_settings(const std::string& name, Settings& settings) const override {
    if (holder_) settings.add(name, holder_->key_id());
    if (owner_) settings.add(name, owner_->key_id());
  }
  void save(ByteSink& out) const override {
    if (holder_) holder_->save(out, session_.pool());
    if (owner_) owner_->save(out);
  }
  void load(ByteSource& in) override {
    if (holder_) holder_->load(in, session_.pool());
    if (owner_) owner_->load(in);
  }

 private:
  const he::Scheme& scheme_;
  std::uint32_t layer_;
  std::shared_ptr<const EncryptedUpdateParams> params_;
  std::shared_ptr<EncryptedUpdateHolder> holder_;  ///< one of the two, once there are keys
  std::shared_ptr<EncryptedUpdateOwner> owner_;
};

}  // namespace

std::unique_ptr<WeightProduct> WeightProduct::make(Session& session, std::shared_ptr<Weight> weight,
                                                   const WeightProductSpec& spec) {
  if (spec.update) return std::make_unique<EncryptedProduct>(session, std::move(weight), spec);
  return std::make_unique<ExchangedProduct>(session, std::move(weight), spec);
}

}  // namespace blindfl::protocol

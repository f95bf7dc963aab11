#include "blindfl/protocol/layers/encrypted_update_params.h"

#include <algorithm>
#include <cmath>

#include "blindfl/base/error.h"

namespace blindfl::protocol {

namespace {

/// Fractional bits of a derivative of 1, beyond what division by the batch and the learning rate take away.
constexpr int kPrecision = 32;

int ceil_log2(double x) {
  return static_cast<int>(std::ceil(std::log2(x)));
}

SgdPlan checked_plan(const EncryptedUpdateSpec& spec) {
  SgdPlan plan(spec.sgd);
  require<InvalidArgument>(spec.sgd.steps > 0, "layer '", spec.name,
                           "': updates under encryption need the most steps that will be taken (sgd.steps), because "
                           "encrypted sums must have room for all of them");
  require<InvalidArgument>(
      spec.sgd.weight_decay == 0, "layer '", spec.name,
      "': updates under encryption only ever add to a ciphertext, and weight decay would scale it. "
      "Use update: exchanged, or no weight decay");
  return plan;
}

}  // namespace

EncryptedUpdateSpec encrypted_update_of(const MatMulParams& layer, Party features_of) {
  const MatMulSpec& spec = layer.spec();
  EncryptedUpdateSpec update{.name = spec.name,
                             .in = layer.in(features_of),
                             .out = spec.out,
                             .batch = spec.batch,
                             .features = layer.features(features_of),
                             .most_terms = layer.most_nonzeros(features_of),
                             .product_scale = layer.product_scale(),
                             .largest_derivative = spec.derivative.largest,
                             .sgd = spec.sgd,
                             .passes = layer.passes(),
                             .products = layer.products(),
                             .run = spec.run};
  if (!layer.shared()) return update;
  update.share_bits = layer.derivative_share_bits(features_of);
  update.share_scale = layer.derivative_scale(features_of);
  update.derivative_step = steps::kSharedDerivative;
  return update;
}

EncryptedUpdateParams::EncryptedUpdateParams(const EncryptedUpdateSpec& spec,
                                             std::shared_ptr<const he::Updates> updates)
    : spec_(spec), updates_(std::move(updates)), plan_(checked_plan(spec)), sums_(plan_) {
  const auto batch = static_cast<double>(spec.batch);
  // A learning rate of 0 throughout moves nothing: any scale will do.
  const double coefficient = std::max(sums_.largest_coefficient(), 0x1p-40);
  derivative_scale_ = kPrecision + ceil_log2(batch / coefficient);
  history_scale_ = kPrecision + ceil_log2(batch);

  // Of all rows of a batch together; a short batch's few rows count for as much, so one alone may be as large.
  const double unit = spec.largest_derivative * batch * std::exp2(kPrecision + 1);
  const double growth = sums_.has_momentum() ? sums_.largest_growth() : 1.0;
  derivative_bits_ = ceil_log2(unit * growth) + 1;
  const auto largest = static_cast<double>(spec.features.bound());
  const auto per_step = static_cast<double>(plan_.options().passes_per_step);
  const double in_step = unit * largest * per_step;
  const double sum = in_step * static_cast<double>(plan_.options().steps);
  const double history = sums_.has_momentum() ? in_step * growth / (1.0 - plan_.options().momentum) : 0.0;
  weight_bits_ = std::max(derivative_bits_, ceil_log2(std::max(sum, history)) + 1);
  result_bits_ = weight_bits_ + bit_length(spec.features.bound()) + bit_length(spec.most_terms);

  const double opened = batch * static_cast<double>(spec.out * parts());
  const std::uint64_t passes = spec.passes > 0 ? spec.passes : counted_passes(spec.run, spec.sgd);
  hiding_ = he::kHidingOfRun + bit_length(run_values(spec.run, passes, opened, spec.products));
  // A share of a derivative is longer than the derivative, and as long as it has not met the other, it needs the room.
  const int share = spec.share_bits == 0 ? 0 : spec.share_bits + lifted_share_bits() + 2;
  width_ = std::max(updates_->masked_width(result_bits_, hiding_), share);
  require<InvalidArgument>(width_ <= updates_->most_width(), "layer '", spec.name, "': sums of ", most_passes(),
                           " passes take ", width_, " bits with their mask, and a plaintext has ",
                           updates_->most_width(),
                           ". Declare fewer steps, or lower the range of features or derivative");
  hiding_ += width_ - updates_->masked_width(result_bits_, hiding_);
}

he::Exposure EncryptedUpdateParams::exposure_of_reply() const {
  return {.distance =
              std::ldexp(static_cast<double>(spec_.batch) * static_cast<double>(spec_.out * parts()), -hiding_)};
}

// By what a share grows at most on its way to the scales and factors that it is added up at.
int EncryptedUpdateParams::lifted_share_bits() const {
  const double growth = sums_.has_momentum() ? sums_.largest_growth() : 1.0;
  const auto batch = static_cast<double>(spec_.batch);
  const double sum = std::ldexp(sums_.largest_coefficient() / batch, derivative_scale_ - spec_.share_scale);
  const double history = std::ldexp(growth / batch, history_scale_ - spec_.share_scale);
  return std::max(0, ceil_log2(std::max(sum, history)));
}

he::EncryptedShape EncryptedUpdateParams::derivative(std::size_t rows, bool history) const {
  return {rows, spec_.out, width_, history ? history_scale_ : derivative_scale_, derivative_bits_};
}

he::EncryptedShape EncryptedUpdateParams::weights(bool history) const {
  // Without momentum there are no windows, and no memory for an index of their rows.
  const std::size_t rows = history && !sums_.has_momentum() ? 0 : spec_.in;
  return {rows, spec_.out, width_, (history ? history_scale_ : derivative_scale_) + spec_.features.scale(),
          weight_bits_};
}

he::UpdateReply EncryptedUpdateParams::reply(std::size_t rows) const {
  return {rows, spec_.out, parts(), result_bits_, hiding_};
}

// The sum, less what is left of the windows of momentum, which stand at another scale.
he::PublicSum EncryptedUpdateParams::product(std::size_t steps) const {
  he::PublicSum sum{{1.0}, derivative_scale_ + 2 * spec_.features.scale() - product_scale(), product_scale()};
  if (!sums_.has_momentum()) return sum;
  const std::size_t window = sums_.window_of(steps);
  const auto left_of = [&](std::size_t w) {
    return -std::ldexp(sums_.fading(steps, w), derivative_scale_ - history_scale_);
  };
  sum.factors.push_back(left_of(window));
  sum.factors.push_back(window > 0 ? left_of(window - 1) : 0.0);
  return sum;
}

Bytes EncryptedUpdateParams::digest(const std::string& key_id) const {
  Settings settings = plan_.options().settings();
  settings.add("in", spec_.in).add("out", spec_.out).add("batch", spec_.batch).add("slot", width_).add("key", key_id);
  settings.add("derivative_scale", derivative_scale_).add("feature_scale", spec_.features.scale());
  return settings.digest();
}

std::uint64_t EncryptedUpdateParams::derivative_bytes(std::size_t rows) const {
  return copies() * updates_->matrix_bytes(derivative(rows, false));
}

}  // namespace blindfl::protocol

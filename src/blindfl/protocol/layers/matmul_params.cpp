#include "blindfl/protocol/layers/matmul_params.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "blindfl/base/error.h"
#include "blindfl/protocol/session/output.h"
#include "blindfl/share/products.h"

namespace blindfl::protocol {

namespace {

constexpr int kBothParties = 1;  // bits that the sum of two equally large parts may add

}  // namespace

MatMulParams::MatMulParams(const MatMulSpec& spec)
    : spec_(spec),
      features_a_(spec.features_a),
      features_b_(spec.features_b),
      derivative_(spec.derivative),
      initial_deviation_(spec.initial_deviation),
      product_scale_(std::max(spec.features_a.scale, spec.features_b.scale) + spec.weight_scale) {
  check_run_length(spec.run, spec.name.c_str());
  require<InvalidArgument>(spec.out > 0 && spec.batch > 0 && spec.in_a + spec.in_b > 0, where(),
                           ": a layer needs inputs, outputs and rows");
  require<InvalidArgument>(spec.weight_scale >= 0 && spec.weight_scale <= FixedPoint::kMaxScale &&
                               spec.gradient_scale >= 0 && spec.gradient_scale <= FixedPoint::kMaxScale,
                           where(), ": weights and gradients take between 0 and ", FixedPoint::kMaxScale,
                           " fractional bits");
  check_output_scale(spec.output_scale, product_scale_, spec.fine_outputs_reveal_features, where());
  require<InvalidArgument>(
      std::isfinite(spec.largest_weight) && spec.largest_weight > 0 && spec.largest_weight <= 0x1p40, where(),
      ": the largest weight must be positive and at most 2^40");
  require<InvalidArgument>(std::isfinite(spec.initial_deviation) && spec.initial_deviation >= 0 &&
                               spec.initial_deviation <= spec.largest_weight,
                           where(), ": the initial deviation must be between 0 and the largest weight");
  if (initial_deviation_ == 0) initial_deviation_ = 1.0 / std::sqrt(3.0 * static_cast<double>(spec.in_a + spec.in_b));

  const auto weight_bound = static_cast<UInt128>(std::ceil(std::ldexp(spec.largest_weight, spec.weight_scale)));
  for (const Party party : {Party::kA, Party::kB}) {
    if (in(party) == 0) continue;
    const FixedPoint& x = features(party);
    const int lifted = product_scale_ - spec.weight_scale - x.scale();
    output_bits_ =
        std::max(output_bits_, product_bits(most_nonzeros(party), x.bound(), weight_bound) + lifted + kBothParties);

    const int raw = product_bits(spec.batch, x.bound(), derivative_.bound());
    require<InvalidArgument>(raw <= kMaxRescaleBits, where(), ": gradients of ", raw, " bits at scale ",
                             x.scale() + derivative_.scale(), " could overflow; at most ", kMaxRescaleBits,
                             " bits are safe. Lower the scale or range of features or derivative");
    gradient_bits_ = std::max(gradient_bits_, raw + spec.gradient_scale - x.scale() - derivative_.scale());
    // A short batch's gradient is multiplied by a public factor.
    require<InvalidArgument>(gradient_bits_ + PublicFactor::kBits <= kMaxRescaleBits, where(), ": gradients of ",
                             gradient_bits_, " bits at scale ", spec.gradient_scale, " could overflow; at most ",
                             kMaxRescaleBits - PublicFactor::kBits, " bits are safe. Lower the gradient scale");
  }
  require<InvalidArgument>(output_bits_ <= kMaxRescaleBits, where(), ": outputs of ", output_bits_, " bits at scale ",
                           product_scale_, " could overflow; at most ", kMaxRescaleBits,
                           " bits are safe. Lower the scale or range of features or weights");
  const int opened = output_bits_ + spec.output_scale - product_scale_;
  require<InvalidArgument>(opened <= kMaxOpenedBits, where(), ": outputs of ", opened, " bits at scale ",
                           spec.output_scale, " could overflow when they are opened; at most ", kMaxOpenedBits,
                           " are safe. Lower the output scale");
}

std::size_t MatMulParams::most_nonzeros(Party party) const {
  const std::size_t declared = party == Party::kA ? spec_.nonzeros_a : spec_.nonzeros_b;
  return declared == 0 ? in(party) : std::min(declared, in(party));
}

Settings MatMulParams::settings() const {
  Settings settings;
  settings.add("in_a", spec_.in_a).add("in_b", spec_.in_b).add("out", spec_.out).add("batch", spec_.batch);
  settings.add("weight_scale", spec_.weight_scale).add("largest_weight", spec_.largest_weight);
  settings.add("gradient_scale", spec_.gradient_scale).add("output_scale", spec_.output_scale);
  settings.add("initial_deviation", initial_deviation_);
  const auto fixed_point = [&](const std::string& name, const FixedPointSpec& f) {
    settings.add(name + ".scale", f.scale).add(name + ".largest", f.largest).add(name + ".clip", f.clip);
  };
  fixed_point("features_a", spec_.features_a);
  fixed_point("features_b", spec_.features_b);
  fixed_point("derivative", spec_.derivative);
  settings.add("nonzeros_a", most_nonzeros(Party::kA)).add("nonzeros_b", most_nonzeros(Party::kB));
  settings.add("update", encrypted() ? "encrypted" : "exchanged");
  if (encrypted()) settings.add(spec_.sgd.settings());
  settings.add("scheme_a", spec_.scheme_a).add("scheme_b", spec_.scheme_b);
  return settings;
}

Settings MatMulParams::agreement() const {
  return settings().add("run.passes", passes()).add("run.layers", spec_.run.layers);
}

std::uint64_t MatMulParams::run_values(std::size_t rows, std::size_t cols) const {
  return protocol::run_values(spec_.run, passes(), static_cast<double>(rows) * static_cast<double>(cols), kProducts);
}

std::string MatMulParams::where() const {
  std::ostringstream text;
  text << "layer '" << spec_.name << "' (in_a " << spec_.in_a << ", in_b " << spec_.in_b << ", out " << spec_.out
       << ", batch " << spec_.batch << ")";
  return text.str();
}

void MatMulParams::check_rows(std::size_t rows) const {
  require<InvalidArgument>(rows > 0 && rows <= spec_.batch, where(), ": a batch of ", rows, " rows");
}

he::ProductSpec MatMulParams::forward(Party party, std::size_t rows) const {
  check_rows(rows);
  // A piece that changes hides behind masks and fills the ring; with updates under encryption B's stays as it was
  // drawn.
  const bool drawn = encrypted() && party == Party::kB;
  const int right_bits = drawn ? spec_.weight_scale + bit_length(static_cast<UInt128>(spec_.largest_weight)) + 1 : 128;
  return {.rows = rows,
          .inner = in(party),
          .cols = spec_.out,
          .left_bound = features(party).bound(),
          .left_scale = features(party).scale(),
          .right_scale = spec_.weight_scale,
          .right_bits = right_bits,
          .run_values = run_values(spec_.batch, spec_.out)};
}

he::ProductSpec MatMulParams::backward(Party party, std::size_t rows) const {
  check_rows(rows);
  return {.rows = in(party),
          .inner = rows,
          .cols = spec_.out,
          .left_bound = features(party).bound(),
          .left_scale = features(party).scale(),
          .right_scale = derivative_.scale(),
          .right_bits = bit_length(derivative_.bound()) + 1,
          .run_values = run_values(in(party), spec_.out)};
}

}  // namespace blindfl::protocol

#include "blindfl/protocol/layers/matmul_params.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "blindfl/base/error.h"
#include "blindfl/protocol/layers/peers.h"
#include "blindfl/protocol/session/output.h"
#include "blindfl/share/products.h"

namespace blindfl::protocol {

namespace {

constexpr int kBothParties = 1;  // bits that the sum of two equally large parts may add

// dZ is encrypted at this scale where gradients have room for it, and never below the other.
constexpr int kDerivativeScale = 24;
constexpr int kCoarsestDerivative = 16;
constexpr int kLeastNoise = 6;
// No gradient is expected to be larger than so many times the largest feature times the largest derivative: sums of
// them have room for it.
constexpr std::size_t kExpectedGrowth = 16;
// The largest derivative over what they may be on average, unless that is less than 1.
constexpr double kLargestOverMean = 256;
// What is left of dZ times the smallest learning rate, over the batch: so many fractional bits of a derivative of 1, or
// as many as there is room for, but not fewer than the other.
constexpr int kScaledPrecision = 26;
// Bits of an update below the last of the weights: what is rounded off with them is noise.
constexpr int kScaledNoise = 10;
constexpr int kCoarsestScaled = 16;

}  // namespace

MatMulParams::MatMulParams(const MatMulSpec& spec)
    : spec_(spec),
      features_a_(spec.features_a),
      features_b_(spec.features_b),
      derivative_(spec.derivative),
      initial_deviation_(spec.initial_deviation),
      product_scale_(std::max(spec.features_a.scale, spec.features_b.scale) + spec.weight_scale) {
  check_run_length(spec.run, spec.name.c_str());
  require<InvalidArgument>(spec.out > 0 && spec.batch > 0 && inputs() > 0, where(),
                           ": a layer needs inputs, outputs and rows");
  check_peers(spec.peers, spec.in_others, shared(), where());
  require<InvalidArgument>(spec.weight_scale >= 0 && spec.weight_scale <= FixedPoint::kMaxScale &&
                               spec.gradient_scale >= 0 && spec.gradient_scale <= FixedPoint::kMaxScale,
                           where(), ": weights and gradients take between 0 and ", FixedPoint::kMaxScale,
                           " fractional bits");
  check_top();
  // What is not opened gives nothing away.
  check_output_scale(spec.output_scale, product_scale_, spec.fine_outputs_reveal_features || shared(), where());
  require<InvalidArgument>(
      std::isfinite(spec.largest_weight) && spec.largest_weight > 0 && spec.largest_weight <= 0x1p40, where(),
      ": the largest weight must be positive and at most 2^40");
  require<InvalidArgument>(std::isfinite(spec.initial_deviation) && spec.initial_deviation >= 0 &&
                               spec.initial_deviation <= spec.largest_weight,
                           where(), ": the initial deviation must be between 0 and the largest weight");
  if (initial_deviation_ == 0) initial_deviation_ = 1.0 / std::sqrt(3.0 * static_cast<double>(inputs()));

  const auto weight_bound = static_cast<UInt128>(std::ceil(std::ldexp(spec.largest_weight, spec.weight_scale)));
  for (const Party party : {Party::kA, Party::kB}) {
    if (in(party) == 0) continue;
    const FixedPoint& x = features(party);
    const int lifted = product_scale_ - spec.weight_scale - x.scale();
    output_bits_ =
        std::max(output_bits_, product_bits(most_nonzeros(party), x.bound(), weight_bound) + lifted + kBothParties);
  }
  check_largest_output(spec.largest_output, spec.output_scale, product_scale_, where());
  output_ring_ = protocol::output_ring(spec.largest_output, product_scale_);
  output_bits_ = std::min(output_bits_, output_ring_ - kOutputHeadroom);
  output_ring_ += spec.output_room;
  require<InvalidArgument>(output_ring_ < ShareMatrix::kMostRingBits, where(), ": outputs in a ring of ", output_ring_,
                           " bits, ", spec.output_room, " of them for lifts; at most ", ShareMatrix::kMostRingBits - 1,
                           " are possible. Lower the output room, or the scale of features or weights");
  choose_gradients();
}

void MatMulParams::check_top() const {
  require<InvalidArgument>(spec_.output_room >= 0 && spec_.output_room <= ShareMatrix::kMostRingBits, where(),
                           ": the output room must be between 0 and ", ShareMatrix::kMostRingBits, " bits");
  if (shared()) return;
  require<InvalidArgument>(spec_.output_room == 0, where(),
                           ": shares of Z are lifted under a shared top only; leave the output room at 0");
  require<InvalidArgument>(spec_.update_b == Update::kExchanged, where(),
                           ": under an open top B updates its own weights by itself. Updates of B's weights under "
                           "encryption are for a shared top");
}

// Two parties have shares of A's weights, each of half the variance. B's are one more than there are A's: B's own has
// half of it, and those of the A's the other half together.
double MatMulParams::piece_deviation(Party features_of, Party owner) const {
  if (encrypted(features_of)) return initial_deviation_;
  const bool one_of_several = features_of == Party::kB && owner == Party::kA;
  return initial_deviation_ / std::sqrt(one_of_several ? 2.0 * static_cast<double>(spec_.peers) : 2.0);
}

UInt128 MatMulParams::derivative_bound(int scale, double times) const {
  return static_cast<UInt128>(std::ceil(std::ldexp(times * spec_.derivative.largest, scale))) + 1;
}

void MatMulParams::check_gradient(int bits, int scale) const {
  require<InvalidArgument>(bits + PublicFactor::kBits <= kMaxRescaleBits, where(), ": gradients of ", bits,
                           " bits at scale ", scale, " could overflow; at most ", kMaxRescaleBits - PublicFactor::kBits,
                           " bits are safe. Lower the gradient scale");
}

void MatMulParams::choose_gradients() {
  for (const Party party : {Party::kA, Party::kB}) {
    // Never so coarse that a gradient has no bits for noise.
    const int coarsest =
        std::max(kCoarsestDerivative, gradient_precision(spec_.batch) + kLeastNoise - features(party).scale());
    GradientProduct& chosen = party == Party::kA ? gradient_a_ : gradient_b_;
    chosen.derivative_scale = std::max(std::min(derivative_.scale(), kDerivativeScale), coarsest);
    if (party == Party::kA && shares_gradient(party) && !shared()) choose_scaled();
    if (shares_gradient(party) && shared()) choose_lifted_with_room(party, coarsest);
    if (shares_gradient(party) && !shared() && !scaled_) choose_lifted(party, coarsest);
    if (shared() && encrypted(party)) choose_encrypted(party);
  }
  if (spec_.in_b == 0 || shared()) return;
  // What B knows of its own is not shared.
  const int raw = product_bits(spec_.batch, features_b_.bound(), derivative_.bound());
  gradient_bits_b_ = raw + spec_.gradient_scale - features_b_.scale() - derivative_.scale();
  check_gradient(gradient_bits_b_, spec_.gradient_scale);
}

void MatMulParams::choose_lifted(Party party, int coarsest) {
  GradientProduct& chosen = party == Party::kA ? gradient_a_ : gradient_b_;
  LiftedGradient& lifted = chosen.lifted;
  const std::uint64_t bound = features(party).bound();
  const auto lift_at = [&](int scale) {
    lifted.bits = product_bits(std::min(spec_.batch, kExpectedGrowth), bound, derivative_bound(scale));
    lifted.scale = features(party).scale() + scale;
    const auto mean = static_cast<UInt128>(std::ceil(std::ldexp(mean_derivative(), scale)));
    // All that LiftBudget lets pass, however large a gradient is expected to be.
    lifted.mean_bits = product_bits(spec_.batch, bound, mean);
    lifted.bits = std::max(lifted.bits, lifted.mean_bits);
    lifted.ring_bits = he::ring_for_lifts(lifted.mean_bits, run_values(in(party), spec_.out));
    return lifted.ring_bits <= ShareMatrix::kMostRingBits;
  };
  while (!lift_at(chosen.derivative_scale) && chosen.derivative_scale > coarsest) --chosen.derivative_scale;
  require<InvalidArgument>(lifted.ring_bits <= ShareMatrix::kMostRingBits, where(), ": gradients of ", lifted.bits,
                           " bits at scale ", lifted.scale,
                           " could overflow: shares that are read as numbers need a ring of ", lifted.ring_bits,
                           " bits, and there are ", ShareMatrix::kMostRingBits,
                           ". Lower the scale or range of features or derivative, or the length of the run");
  chosen.ring_bits = lifted.ring_bits;
  check_gradient(gradient_bits(party), gradient_scale(party));
}

// Nobody knows dZ, so nothing can hold a run to a mean, and a lift must not fail for any gradient: all rows of a batch
// have the largest feature and the largest derivative.
void MatMulParams::choose_lifted_with_room(Party party, int coarsest) {
  GradientProduct& chosen = party == Party::kA ? gradient_a_ : gradient_b_;
  LiftedGradient& lifted = chosen.lifted;
  const auto lift_at = [&](int scale) {
    const int largest = product_bits(spec_.batch, features(party).bound(), derivative_bound(scale));
    lifted.bits = std::max(largest, noise_bits(party)) + 1;
    lifted.scale = features(party).scale() + scale;
    chosen.ring_bits = lifted.bits + kRoomOfLifts;
    return chosen.ring_bits < ShareMatrix::kMostRingBits;
  };
  while (!lift_at(chosen.derivative_scale) && chosen.derivative_scale > coarsest) --chosen.derivative_scale;
  require<InvalidArgument>(chosen.ring_bits < ShareMatrix::kMostRingBits, where(), ": gradients of ", lifted.bits,
                           " bits at scale ", lifted.scale,
                           " could overflow. Lower the scale or range of features or derivative");
  lifted.ring_bits = chosen.ring_bits;
  lifted.with_room = true;
  check_gradient(gradient_bits(party), gradient_scale(party));
}

std::vector<RoomLift> MatMulParams::lifts() const {
  std::vector<RoomLift> lifts;
  for (const Party party : {Party::kA, Party::kB}) {
    if (!shared() || !shares_gradient(party)) continue;
    lifts.push_back({.values = in(party)*spec_.out, .from = gradient(party).lifted.kept_ring(spec_.gradient_scale)});
  }
  return lifts;
}

// Shares of dZ itself are lifted, and meet as integers under encryption.
void MatMulParams::choose_encrypted(Party party) {
  GradientProduct& chosen = party == Party::kA ? gradient_a_ : gradient_b_;
  chosen.ring_bits =
      he::ring_for_lifts(bit_length(derivative_bound(chosen.derivative_scale)), run_values(spec_.batch, spec_.out));
  require<InvalidArgument>(derivative_share_bits(party) < ShareMatrix::kMostRingBits - 1, where(),
                           ": shares of derivatives of ", derivative_share_bits(party), " bits at scale ",
                           chosen.derivative_scale,
                           " could overflow. Lower the range of the derivative, the batch, or the length of the run");
}

void MatMulParams::choose_scaled() {
  const SgdOptions& sgd = spec_.sgd;
  if (sgd.steps == 0 || sgd.momentum != 0 || sgd.weight_decay != 0) return;
  const double smallest = SgdPlan(sgd).smallest_learning_rate();
  // A learning rate of 0 throughout moves nothing: any scale will do.
  const double halves = smallest > 0 ? std::ceil(std::log2(static_cast<double>(spec_.batch) / smallest)) : 0;
  const int coarsest = std::max(spec_.weight_scale + kScaledNoise - features_a_.scale(), 0);
  const auto ring_at = [&](int scale) {
    return weight_ring(Party::kA) + scale + features_a_.scale() - spec_.weight_scale;
  };
  for (int precision = kScaledPrecision; precision >= kCoarsestScaled; --precision) {
    const int scale = std::max(coarsest, static_cast<int>(halves) + precision);
    if (scale > FixedPoint::kMaxScale || ring_at(scale) > ShareMatrix::kMostRingBits) continue;
    scaled_ = true;
    gradient_a_.derivative_scale = scale;
    gradient_a_.ring_bits = ring_at(scale);
    return;
  }
}

int MatMulParams::weight_ring(Party party) const {
  return output_ring_ - missing_scale(party);
}

double MatMulParams::mean_derivative() const {
  const double largest = spec_.derivative.largest;
  return std::min(largest, std::max(1.0, largest / kLargestOverMean));
}

double MatMulParams::most_derivatives() const {
  return mean_derivative() * static_cast<double>(spec_.batch) * static_cast<double>(spec_.out) *
         static_cast<double>(passes());
}

double MatMulParams::failure_of_derivative_lift(Party party) const {
  if (!shared() || !encrypted(party)) return 0;
  return std::ldexp(1.0, bit_length(derivative_bound(derivative_scale(party))) - derivative_ring(party));
}

double MatMulParams::failure_of_factors(Party party) const {
  if (!shares_gradient(party) || scaled_) return 0;
  const double values = static_cast<double>(passes()) * static_cast<double>(in(party)) * static_cast<double>(spec_.out);
  double failure = gradient(party).lifted.failure_of_factors(spec_.gradient_scale);
  // Shares of weights fill the ring in the end.
  if (spec_.sgd.weight_decay != 0) {
    failure += std::ldexp(spec_.largest_weight, spec_.weight_scale - 127);
  }
  return values * failure;
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
  settings.add("largest_output", spec_.largest_output);
  settings.add("initial_deviation", initial_deviation_);
  const auto fixed_point = [&](const std::string& name, const FixedPointSpec& f) {
    settings.add(name + ".scale", f.scale).add(name + ".largest", f.largest).add(name + ".clip", f.clip);
  };
  fixed_point("features_a", spec_.features_a);
  fixed_point("features_b", spec_.features_b);
  fixed_point("derivative", spec_.derivative);
  settings.add("nonzeros_a", most_nonzeros(Party::kA)).add("nonzeros_b", most_nonzeros(Party::kB));
  settings.add("update", encrypted() ? "encrypted" : "exchanged");
  // Shares modulo a smaller power of 2 are of no use to an optimizer that lifts them.
  settings.add("weights_a",
               "modulo 2^" + std::to_string(scaled_ ? weight_ring(Party::kA) : ShareMatrix::kMostRingBits));
  if (shared()) {
    settings.add("top", "shared").add("output_room", spec_.output_room);
    settings.add("update_b", encrypted(Party::kB) ? "encrypted" : "exchanged");
  }
  if (encrypted(Party::kA) || encrypted(Party::kB)) settings.add(spec_.sgd.settings());
  settings.add("scheme_a", spec_.scheme_a).add("scheme_b", spec_.scheme_b);
  if (spec_.peers > 1) settings.add("peers", spec_.peers).add("in_others", spec_.in_others);
  return settings;
}

Settings MatMulParams::agreement() const {
  Settings agreement = settings();
  agreement.add("run.passes", passes()).add("run.layers", spec_.run.layers);
  agreement.add("run.kept_rows", spec_.run.kept_rows);
  if (scaled_) agreement.add(spec_.sgd.settings());
  return agreement;
}

std::uint64_t MatMulParams::run_values(std::size_t rows, std::size_t cols) const {
  return protocol::run_values(spec_.run, passes(), static_cast<double>(rows) * static_cast<double>(cols), products());
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
  // drawn, under an open top.
  const bool drawn = encrypted() && party == Party::kB && !shared();
  const int right_bits = drawn ? spec_.weight_scale + bit_length(static_cast<UInt128>(spec_.largest_weight)) + 1 : 128;
  // Two products make Z: their noise together is less than a unit of what is opened, or of what a shared top is
  // promised.
  const int rounded_off = product_scale_ - spec_.output_scale - missing_scale(party);
  return {.rows = rows,
          .inner = in(party),
          .cols = spec_.out,
          .left_bound = features(party).bound(),
          .left_scale = features(party).scale(),
          .right_scale = spec_.weight_scale,
          .right_bits = right_bits,
          .run_values = run_values(spec_.batch, spec_.out),
          .ring_bits = weight_ring(party),
          .noise_bits = std::max(rounded_off - 1, 0)};
}

int MatMulParams::noise_bits(Party party) const {
  const int result_scale = features(party).scale() + gradient(party).derivative_scale;
  // Scaled: about a unit of the weights.
  return scaled_ ? result_scale - spec_.weight_scale + 1 : std::max(result_scale - gradient_precision(spec_.batch), 0);
}

he::ProductSpec MatMulParams::backward(Party party, std::size_t rows) const {
  check_rows(rows);
  const GradientProduct& chosen = gradient(party);
  // In a short batch few rows count for as much as all of a full one, and one alone may.
  UInt128 largest = derivative_bound(chosen.derivative_scale) * spec_.batch;
  if (scaled_) largest = derivative_bound(chosen.derivative_scale, SgdPlan(spec_.sgd).largest_learning_rate());
  return {.rows = in(party),
          .inner = rows,
          .cols = spec_.out,
          .left_bound = features(party).bound(),
          .left_scale = features(party).scale(),
          .right_scale = chosen.derivative_scale,
          .right_bits = shared() ? ShareMatrix::kMostRingBits : bit_length(largest) + 1,
          .run_values = run_values(in(party), spec_.out),
          .ring_bits = chosen.ring_bits,
          .noise_bits = noise_bits(party),
          .lifted_bits = chosen.lifted.mean_bits};
}

}  // namespace blindfl::protocol

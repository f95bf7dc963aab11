#include "blindfl/mpc/top_plan.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "blindfl/base/error.h"
#include "blindfl/mpc/maximum.h"
#include "blindfl/mpc/range_check.h"
#include "blindfl/mpc/row_weights.h"
#include "blindfl/mpc/shared_elements.h"
#include "blindfl/mpc/shared_relu.h"
#include "blindfl/mpc/smooth_evaluation.h"

namespace blindfl::mpc {

namespace {

/// What is made of random OTs: both parties work at the same time.
TopUse by_ots(const PartyCost& cost) {
  const double seconds = protocol::kOtSeconds * static_cast<double>(cost.a_ots + cost.b_ots);
  return {.cost = cost, .seconds_a = seconds, .seconds_b = seconds, .together = seconds, .exposure = {}};
}

/// One party multiplies, and the owner encrypts and opens: in turns.
TopUse in_turns(const PartyCost& cost, const he::ProductTimes& times, double failure) {
  return {.cost = cost,
          .seconds_a = times.multiply,
          .seconds_b = times.encrypt + times.open,
          .together = 0,
          .exposure = {.lift_failure = failure}};
}

/// Both cross products: each party does all of it, at the same time.
TopUse crossed(const he::Plan& plan, const protocol::RoomLift& lift, ProductParts parts) {
  const he::ProductSpec& spec = plan.spec();
  const he::ProductTimes times = plan.times(static_cast<double>(spec.rows) * static_cast<double>(spec.inner));
  const double seconds = times.multiply + times.open + (parts.operand ? times.encrypt + times.load : 0);
  return {.cost = shared_product_cost(plan, lift, parts),
          .seconds_a = seconds,
          .seconds_b = seconds,
          .together = seconds,
          .exposure = 2 * plan.exposure_of_product()};
}

/// Two uses whose messages travel together.
TopUse at_once(const TopUse& x, const TopUse& y) {
  TopUse both{.cost = x.cost + y.cost,
              .seconds_a = x.seconds_a + y.seconds_a,
              .seconds_b = x.seconds_b + y.seconds_b,
              .together = x.together + y.together,
              .exposure = x.exposure + y.exposure};
  both.cost.flights = std::max(x.cost.flights, y.cost.flights);
  return both;
}

/// How often so many steps lie between two looks, in a run whose epochs have `steps_per_epoch` steps: the pattern
/// begins again after 16 of them.
std::map<std::size_t, std::size_t> steps_between_checks(std::size_t steps_per_epoch) {
  std::map<std::size_t, std::size_t> gaps;
  std::size_t last = 0;
  const std::size_t all = kStepsBetweenRangeChecks * steps_per_epoch;
  for (std::size_t step = 1; step <= all; ++step) {
    if (step % kStepsBetweenRangeChecks != 0 && step % steps_per_epoch != 0) continue;
    ++gaps[step - last];
    last = step;
  }
  return gaps;
}

/// Adds a use `times` times, with what makes its random OTs.
void add(TopCost& cost, const TopUse& use, double times) {
  const auto tile = static_cast<double>(protocol::OtPools::tile_bytes());
  const auto tiles_of = [](std::uint64_t ots) { return static_cast<double>(ots) / static_cast<double>(ot::kTileOts); };
  const double a_tiles = tiles_of(use.cost.a_ots);
  const double b_tiles = tiles_of(use.cost.b_ots);
  cost.seconds_a += times * use.seconds_a;
  cost.seconds_b += times * use.seconds_b;
  cost.together += times * use.together;
  // Who receives random OTs sends the tiles.
  cost.bytes_to_a += times * (static_cast<double>(use.cost.b_bytes) + a_tiles * tile);
  cost.bytes_to_b += times * (static_cast<double>(use.cost.a_bytes) + b_tiles * tile);
  // Few may be left of those before.
  cost.flights += times * (use.cost.flights + std::min(1.0, std::max(a_tiles, b_tiles)));
  cost.exposure += times * use.exposure;
  cost.random_ots = cost.random_ots || use.cost.a_ots + use.cost.b_ots > 0;
}

}  // namespace

TopPlan::TopPlan(const he::Scheme& scheme, const TopShape& shape, const SharedTopOptions& options)
    : shape_(shape), options_(options) {
  for (std::size_t i = 0; i < shape.hidden.size(); ++i) {
    const std::size_t next = i + 1 < shape.hidden.size() ? shape.hidden[i + 1] : shape.outputs;
    hidden_.push_back(make_hidden(scheme, shape.hidden[i], next));
  }
  if (shape.factors > 0) factors_ = elements_of(scheme)->plan(factor_products(shape.factors, options));
  for (FunctionSpec& spec : loss_functions(shape.family, shape.outputs, options)) {
    auto plan = plan_function(scheme, spec, options);
    loss_.push_back({std::move(spec), std::move(plan)});
  }
}

TopPlan::Hidden TopPlan::make_hidden(const he::Scheme& scheme, std::size_t width, std::size_t next) const {
  Hidden layer{.width = width, .next = next};
  if (shape_.activation != Activation::kRelu) {
    ActivationParts parts = activation_parts(SmoothActivation::kTanh, width, options_);
    auto plan = plan_function(scheme, parts.function, options_);
    layer.activation = {std::move(parts.function), std::move(plan)};
    layer.slopes = elements_of(scheme)->plan(parts.slopes);
  }
  const LinearProducts products = linear_products(width, next, options_);
  const auto plan = [&](const SharedProductSpec& spec) {
    return scheme.plan(SharedProductParams(spec).product(options_.batch));
  };
  layer.output = plan(products.output);
  layer.gradient = plan(products.gradient);
  layer.derivative = plan(products.derivative);
  const int gradient_ring = SharedProductParams(products.gradient).ring_bits();
  layer.values = value_lift(width, std::max(SharedProductParams(products.output).ring_bits(), gradient_ring));
  layer.derivatives = value_lift(next, std::max(SharedProductParams(products.derivative).ring_bits(), gradient_ring));
  layer.gradients = {{{.values = width * next, .from = products.gradient.result_ring, .to = products.gradient_ring},
                      {.values = next, .from = layer.derivatives.to, .to = products.bias_ring}}};
  layer.of_gradients.lift_failure = products.gradient_failure;
  return layer;
}

double TopPlan::uses_of_run() const {
  const std::uint64_t passes = protocol::counted_passes(options_.run, options_.sgd);
  return static_cast<double>(passes) * static_cast<double>(options_.run.layers);
}

protocol::RoomLift TopPlan::value_lift(std::size_t cols, int to) const {
  return {.values = options_.batch * cols, .from = kValueRing, .to = to};
}

void TopPlan::add_function(std::vector<TopUse>& uses, const Function& function, int ring_bits) const {
  // A linear term takes shares that add up to the value, and not only modulo a smaller power of 2.
  if (function.plan->function().needs_wide_shares() && ring_bits < ShareMatrix::kMostRingBits) {
    uses.push_back(by_ots(protocol::room_lift_cost(value_lift(function.spec.cols, ShareMatrix::kMostRingBits))));
  }
  const he::SlotPlan& products = *function.plan->products();
  const double wraps = products.wraps_of_run() / uses_of_run();
  uses.push_back(in_turns(slot_cost(products, Party::kB), products.times(), wraps));
}

void TopPlan::add_factors(std::vector<TopUse>& uses) const {
  const double failures = factors_->failures_of_run() / (kFactorProducts * uses_of_run());
  uses.push_back(in_turns(element_cost(*factors_, Party::kB), factors_->times(), failures));
}

bool TopPlan::loss_is_wide() const {
  return shape_.family != Family::kLinear || options_.row_weights;
}

void TopPlan::add_forward(std::vector<TopUse>& uses) const {
  if (factors_) {
    uses.push_back(by_ots(protocol::room_lift_cost(value_lift(shape_.factors, kSlopeRing))));
    add_factors(uses);
  }
  for (const Hidden& layer : hidden_) {
    const std::size_t values = options_.batch * layer.width;
    if (layer.activation) {
      add_function(uses, *layer.activation, kValueRing);
    } else {
      uses.push_back(by_ots(relu_cost(values, kReluBits - kDroppedReluBits, kValueRing)));
    }
    uses.push_back(crossed(*layer.output, layer.values, {}));
  }
}

void TopPlan::add_loss(std::vector<TopUse>& uses) const {
  if (shape_.family == Family::kMultinomial) {
    uses.push_back(by_ots(
        maximum_cost(options_.batch, shape_.outputs, kComparedBits, kValueRing, dropped_score_bits(shape_.outputs))));
  }
  for (std::size_t i = 0; i < loss_.size(); ++i) {
    // The second of three is of a sum of the first's results, which are shared modulo 2^128.
    add_function(uses, loss_[i], i == 1 ? ShareMatrix::kMostRingBits : kValueRing);
  }
  if (!options_.row_weights) return;
  // Weights meet shares modulo 2^128, which other losses have.
  if (shape_.family == Family::kLinear) {
    uses.push_back(by_ots(protocol::room_lift_cost(value_lift(shape_.outputs, ShareMatrix::kMostRingBits))));
  }
  const std::size_t values = options_.batch * shape_.outputs;
  uses.push_back(by_ots(weighted_cost(values)));
  const int scale = loss_.empty() ? kSharedScale : loss_.back().plan->spec().result_scale;
  uses.back().exposure.lift_failure = weighted_failure(values, kLargestWatchedDerivative, scale);
}

void TopPlan::add_backward(std::vector<TopUse>& uses) const {
  for (std::size_t i = hidden_.size(); i-- > 0;) {
    const Hidden& layer = hidden_[i];
    const ProductParts lifted{.operand = true, .lift = false};
    uses.push_back(by_ots(protocol::room_lift_cost(layer.derivatives)));
    uses.push_back(
        at_once(crossed(*layer.gradient, layer.values, lifted), crossed(*layer.derivative, layer.derivatives, lifted)));
    uses.push_back(by_ots(protocol::room_lift_cost(layer.gradients)));
    uses.back().exposure = layer.of_gradients;
    if (layer.activation) {
      uses.push_back(by_ots(protocol::room_lift_cost(value_lift(layer.width, kSlopeRing))));
      const double failures = layer.slopes->failures_of_run() / uses_of_run();
      uses.push_back(in_turns(element_cost(*layer.slopes, Party::kB), layer.slopes->times(), failures));
    } else {
      uses.push_back(by_ots(relu_derivative_cost(options_.batch * layer.width, kValueRing)));
    }
  }
  const auto add_lift = [&](const protocol::RoomLift& lift) { uses.push_back(by_ots(protocol::room_lift_cost(lift))); };
  const std::size_t width = hidden_.empty() ? shape_.outputs : hidden_.front().width;
  if (!hidden_.empty() || !loss_is_wide()) {
    add_lift(value_lift(width, ShareMatrix::kMostRingBits));
    // Of the first bias's gradient, read as a number.
    uses.back().exposure.lift_failure = bias_failure(width, options_);
  }
  if (!factors_) return;
  // Without hidden layers the bias has lifted it.
  if (!hidden_.empty() && !loss_is_wide()) add_lift(value_lift(1, kSlopeRing));
  add_factors(uses);
  add_lift(value_lift(1 + shape_.factors, ShareMatrix::kMostRingBits));
}

std::vector<TopUse> TopPlan::step() const {
  std::vector<TopUse> uses;
  add_forward(uses);
  add_loss(uses);
  add_backward(uses);
  return uses;
}

std::vector<TopUse> TopPlan::range_check(std::size_t steps) const {
  std::vector<TopUse> uses;
  const auto add_check = [&](std::size_t cols) {
    uses.push_back(by_ots(all_in_range_cost(watched_values(options_.batch, cols, steps), kMostRangeBits)));
  };
  if (factors_) add_check(shape_.factors);
  for (const Hidden& layer : hidden_) add_check(layer.width);
  for (const Function& function : loss_) add_check(function.spec.cols);
  if (watches_derivatives(shape_.family, options_)) add_check(shape_.outputs);
  return uses;
}

TopCost TopPlan::mean_step(std::size_t steps_per_epoch) const {
  require<InvalidArgument>(steps_per_epoch > 0, "an epoch has one step at least");
  TopCost cost;
  for (const TopUse& use : step()) add(cost, use, 1);
  const auto all = static_cast<double>(kStepsBetweenRangeChecks * steps_per_epoch);
  for (const auto& [steps, times] : steps_between_checks(steps_per_epoch)) {
    for (const TopUse& use : range_check(steps)) add(cost, use, static_cast<double>(times) / all);
  }
  return cost;
}

std::vector<const he::Plan*> TopPlan::products() const {
  std::vector<const he::Plan*> all;
  for (const Hidden& layer : hidden_) {
    for (const auto& plan : {layer.output, layer.gradient, layer.derivative}) all.push_back(plan.get());
  }
  return all;
}

std::size_t TopPlan::weights() const {
  std::size_t values = shape_.hidden.empty() ? shape_.outputs : shape_.hidden.front();
  for (const Hidden& layer : hidden_) values += layer.width * layer.next + layer.next;
  return values;
}

std::uint64_t TopPlan::memory() const {
  std::uint64_t bytes = 0;
  for (const Hidden& layer : hidden_) bytes += layer.output->operand_memory() + layer.derivative->operand_memory();
  return bytes;
}

}  // namespace blindfl::mpc

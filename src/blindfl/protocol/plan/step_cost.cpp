#include "blindfl/protocol/plan/step_cost.h"

#include <algorithm>

#include "blindfl/he/plan.h"
#include "blindfl/protocol/layers/encrypted_update_params.h"
#include "blindfl/protocol/session/party_cost.h"

namespace blindfl::protocol {

double StepCost::seconds(const Link& link) const {
  return seconds_a + seconds_b - together + 8.0 * static_cast<double>(bytes()) / link.bits_per_second +
         static_cast<double>(rounds) * link.round_trip;
}

StepCost& StepCost::operator+=(const StepCost& other) {
  seconds_a += other.seconds_a;
  seconds_b += other.seconds_b;
  bytes_to_a += other.bytes_to_a;
  bytes_to_b += other.bytes_to_b;
  rounds += other.rounds;
  together += other.together;
  return *this;
}

LayerCost& LayerCost::operator+=(const LayerCost& other) {
  setup += other.setup;
  step += other.step;
  memory_a += other.memory_a;
  memory_b += other.memory_b;
  exposure += other.exposure;
  keys.insert(other.keys.begin(), other.keys.end());
  return *this;
}

void LayerCost::take_keys(const he::Scheme& scheme, const he::Plan& plan) {
  const std::string set = plan.key_set();
  if (!set.empty()) keys.emplace(std::string(scheme.name()) + " " + set, scheme.public_key_bytes(set));
}

namespace {

/// What the party that computes on ciphertexts takes and receives, and what the key's owner does.
StepCost for_parties(Party computes, double seconds, double seconds_owner, std::uint64_t bytes,
                     std::uint64_t bytes_owner) {
  if (computes == Party::kA) return {seconds, seconds_owner, bytes, bytes_owner, 0};
  return {seconds_owner, seconds, bytes_owner, bytes, 0};
}

}  // namespace

StepCost cost_of_product(const he::Plan& plan, Party multiplier, double nonzeros) {
  const he::ProductTimes times = plan.times(nonzeros);
  return for_parties(multiplier, times.load + times.multiply, times.encrypt + times.open, plan.operand_bytes(),
                     plan.reply_bytes());
}

std::uint64_t ot_bytes(std::uint64_t ots) {
  return (ots * OtPools::tile_bytes() + ot::kTileOts - 1) / ot::kTileOts;
}

StepCost cost_of_lifts(const PartyCost& lifts) {
  const double seconds = kOtSeconds * static_cast<double>(lifts.a_ots + lifts.b_ots);
  // Who receives random OTs sends the tiles.
  return {.seconds_a = seconds,
          .seconds_b = seconds,
          .bytes_to_a = lifts.b_bytes + ot_bytes(lifts.a_ots),
          .bytes_to_b = lifts.a_bytes + ot_bytes(lifts.b_ots),
          .rounds = 0,
          .together = seconds};
}

LayerCost cost_of_updates(const EncryptedUpdateParams& update, Party holder) {
  const EncryptedUpdateSpec& spec = update.spec();
  const double entries = static_cast<double>(spec.batch) * static_cast<double>(std::min(spec.most_terms, spec.in));
  const he::UpdateCosts costs = update.updates().costs({.weights = update.weights(false),
                                                        .reply = update.reply(spec.batch),
                                                        .copies = update.copies(),
                                                        .entries = entries,
                                                        .bound = spec.features.bound(),
                                                        .shared = spec.share_bits > 0});
  LayerCost cost;
  cost.step = for_parties(holder, costs.holder, costs.owner, update.derivative_bytes(spec.batch),
                          update.reply_bytes(spec.batch));
  // Each step touches new rows at most; of each matrix a table of where rows are.
  const double rows = std::min(static_cast<double>(spec.in), static_cast<double>(spec.sgd.steps) * entries);
  (holder == Party::kA ? cost.memory_a : cost.memory_b) =
      update.parts() * (static_cast<std::uint64_t>(rows) * costs.row_memory + spec.in * costs.index_memory);
  cost.exposure = static_cast<double>(spec.passes) * update.exposure_of_reply();
  return cost;
}

}  // namespace blindfl::protocol

#include "blindfl/protocol/plan/step_cost.h"

#include <algorithm>

#include "blindfl/he/paillier/expected_times.h"

namespace blindfl::protocol {

double StepCost::seconds(const Link& link) const {
  return seconds_a + seconds_b + 8.0 * static_cast<double>(bytes()) / link.bits_per_second +
         static_cast<double>(rounds) * link.round_trip;
}

StepCost& StepCost::operator+=(const StepCost& other) {
  seconds_a += other.seconds_a;
  seconds_b += other.seconds_b;
  bytes_to_a += other.bytes_to_a;
  bytes_to_b += other.bytes_to_b;
  rounds += other.rounds;
  return *this;
}

LayerCost& LayerCost::operator+=(const LayerCost& other) {
  setup += other.setup;
  step += other.step;
  memory_a += other.memory_a;
  memory_b += other.memory_b;
  exposure += other.exposure;
  return *this;
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

LayerCost cost_of_updates(const EncryptedUpdateParams& update, const he::paillier::Params& params, Party holder) {
  const he::paillier::ExpectedTimes expected(params);
  const EncryptedUpdateSpec& spec = update.spec();
  const he::paillier::ReplyLayout reply = update.reply(spec.batch);
  const std::size_t groups = update.weights(false).groups();
  const std::size_t derivatives = update.copies() * spec.batch * groups;
  const auto parts = static_cast<double>(update.parts());
  const auto copies = static_cast<double>(update.copies());
  const double entries = static_cast<double>(spec.batch) * static_cast<double>(std::min(spec.most_terms, spec.in));
  const std::uint64_t bound = spec.features.bound();
  const double touched = he::paillier::expected_rows(spec.in, entries);
  // Where the derivative is shared, the holder adds its own share to what it received.
  const double own_shares = spec.share_bits > 0 ? static_cast<double>(derivatives) : 0.0;

  const double at_holder = parts * expected.multiply(spec.batch, spec.in, groups, entries, bound) +
                           expected.write_masked(reply) + expected.load(derivatives) + expected.add(own_shares) +
                           copies * expected.multiply(spec.in, spec.batch, groups, entries, bound) +
                           copies * expected.add(touched * static_cast<double>(groups));
  const double at_owner = expected.open_masked(reply) + expected.encrypt(derivatives);
  LayerCost cost;
  cost.step =
      for_parties(holder, at_holder, at_owner, update.derivative_bytes(spec.batch), update.reply_bytes(spec.batch));
  // Each step touches new rows at most; of each matrix a table of where rows are.
  const double rows = std::min(static_cast<double>(spec.in), static_cast<double>(spec.sgd.steps) * entries);
  const std::uint64_t row_bytes = groups * expected.row_memory();
  (holder == Party::kA ? cost.memory_a : cost.memory_b) =
      update.parts() * (static_cast<std::uint64_t>(rows) * row_bytes + spec.in * sizeof(std::uint32_t));
  cost.exposure = static_cast<double>(spec.passes) * update.exposure_of_reply();
  return cost;
}

}  // namespace blindfl::protocol

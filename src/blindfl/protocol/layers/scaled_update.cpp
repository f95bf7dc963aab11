#include "blindfl/protocol/layers/scaled_update.h"

#include "blindfl/base/error.h"

namespace blindfl::protocol {

namespace {

SgdPlan without_end(SgdOptions options) {
  options.steps = 0;
  return SgdPlan(options);
}

}  // namespace

ScaledUpdate::ScaledUpdate(Weight& weight, const SgdPlan& plan)
    : weight_(weight), plan_(plan), rates_(without_end(plan.options())) {}

void ScaledUpdate::add(const ShareMatrix& share) {
  const ShareMatrix update = narrowed(rescale(share, weight_.piece.scale()), weight_.piece.ring_bits());
  if (pending_) {
    *pending_ += update;
  } else {
    pending_ = update;
  }
}

void ScaledUpdate::step() {
  ++steps_;
  if (!pending_) return;
  weight_.piece -= *pending_;
  pending_.reset();
  ++weight_.version;
}

void ScaledUpdate::save(ByteSink& out) const {
  require<InvalidArgument>(!pending_, "state is saved between steps, not between a backward pass and its step");
  out.write_u64(steps_);
}

void ScaledUpdate::load(ByteSource& in) {
  const std::uint64_t steps = in.read_u64();
  require<DataError>(steps >> 63 == 0, "the saved state is damaged: it counts steps that cannot be");
  steps_ = steps;
  pending_.reset();
}

}  // namespace blindfl::protocol

#include "blindfl/mpc/smooth_evaluation.h"

#include <optional>
#include <utility>

#include "blindfl/base/text.h"
#include "blindfl/mpc/round_trip.h"
#include "blindfl/mpc/steps.h"
#include "blindfl/protocol/session/crossing.h"

namespace blindfl::mpc {

namespace {

using Shares = std::vector<ShareMatrix>;

protocol::Settings function_settings(const SmoothFunction& function, const he::SlotPlan& products, Party owner) {
  return protocol::Settings()
      .add("functions", function.describe())
      .add("fit", to_hex(function.digest()))
      .add("products", products.describe())
      .add("owner", name_of(owner));
}

RoundTrip slot_trip(const he::SlotPlan& plan, std::uint32_t layer) {
  return {{steps::kFunctionOperand, layer, plan.operand_bytes()}, {steps::kFunctionReply, layer, plan.reply_bytes()}};
}

}  // namespace

PartyCost slot_cost(const he::SlotPlan& plan, Party owner) {
  const bool a_owns = owner == Party::kA;
  return {.a_bytes = a_owns ? plan.operand_bytes() : plan.reply_bytes(),
          .b_bytes = a_owns ? plan.reply_bytes() : plan.operand_bytes(),
          .flights = 2};
}

SmoothEvaluation::SmoothEvaluation(Session& session, std::shared_ptr<const SmoothPlan> plan, Party owner)
    : session_(session), plan_(std::move(plan)), owner_(owner), layer_(session.new_layer()) {
  session_.agree("functions of shared values", function_settings(plan_->function(), *plan_->products(), owner)
                                                   .add("rows", plan_->spec().rows)
                                                   .add("cols", plan_->spec().cols));
}

PartyCost SmoothEvaluation::cost() const {
  return slot_cost(*plan_->products(), owner_);
}

Shares SmoothEvaluation::evaluate(const ShareMatrix& z) {
  plan_->check(z);
  session_.settle();
  const he::Coin coin = session_.next_operand_coin();
  Random random = session_.random();
  ThreadPool& pool = session_.pool();
  const RoundTrip trip = slot_trip(*plan_->products(), layer_);
  if (session_.party() == owner_) {
    std::optional<SmoothOwner> owner;
    return encrypt_and_open<Shares>(
        session_, trip, [&](ByteSink& out) { owner.emplace(plan_, coin, z, random, pool, out); },
        [&](ByteSource& in) { return owner->open(in, pool); });
  }
  return receive_and_multiply<Shares>(session_, trip, [&](ByteSource& in, ByteSink& out) {
    return multiply_smooth(*plan_, coin, in, z, random, pool, out);
  });
}

PreparedEvaluation::PreparedEvaluation(Session& session, std::shared_ptr<const PreparationPlan> plan,
                                       SmoothFunction function, Party owner)
    : session_(session),
      plan_(std::move(plan)),
      function_(std::move(function)),
      owner_(owner),
      layer_(session.new_layer()) {
  session_.agree("prepared functions of shared values", function_settings(function_, *plan_->products(), owner));
}

PartyCost PreparedEvaluation::cost_ahead() const {
  return slot_cost(*plan_->products(), owner_);
}

PartyCost PreparedEvaluation::cost() const {
  const std::uint64_t bytes = plan_->values() * sizeof(std::uint32_t);
  return {.a_bytes = bytes, .b_bytes = bytes, .flights = 1};
}

void PreparedEvaluation::prepare() {
  session_.settle();
  const he::Coin coin = session_.next_operand_coin();
  Random random = session_.random();
  ThreadPool& pool = session_.pool();
  const RoundTrip trip = slot_trip(*plan_->products(), layer_);
  std::optional<PreparedPhases> phases;
  if (session_.party() == owner_) {
    std::optional<PreparingOwner> owner;
    phases = encrypt_and_open<std::optional<PreparedPhases>>(
        session_, trip, [&](ByteSink& out) { owner.emplace(plan_, coin, random, pool, out); },
        [&](ByteSource& in) { return owner->open(in, pool); });
  } else {
    phases = receive_and_multiply<std::optional<PreparedPhases>>(session_, trip, [&](ByteSource& in, ByteSink& out) {
      return prepare_phases(plan_, coin, in, random, pool, out);
    });
  }
  prepared_.push_back(std::move(*phases));
}

Shares PreparedEvaluation::evaluate(const ShareMatrix& z) {
  if (prepared_.empty()) prepare();
  session_.settle();
  BufferSink mine(cost().a_bytes);
  prepared_.front().mask(z, mine);
  // What was used for one z is gone, also if the peer's message is not what it must be.
  PreparedPhases phases = std::move(prepared_.front());
  prepared_.pop_front();
  return closing(session_, [&] {
    const Bytes theirs = cross(session_, steps::kInputDifference, layer_, mine.bytes());
    BufferSource in(theirs);
    return phases.finish(function_, in);
  });
}

}  // namespace blindfl::mpc

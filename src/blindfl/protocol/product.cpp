#include "blindfl/protocol/product.h"

namespace blindfl::protocol {

namespace {

net::Message operand_message(const he::Plan& plan, const ProductSteps& steps) {
  return {steps.operand, steps.layer, plan.operand_bytes(), plan.spec().inner, plan.spec().cols};
}

net::Message reply_message(const he::Plan& plan, const ProductSteps& steps) {
  return {steps.reply, steps.layer, plan.reply_bytes(), plan.spec().rows, plan.spec().cols};
}

}  // namespace

void send_operand(Session& session, const he::Plan& plan, const ProductSteps& steps, const ShareMatrix& m) {
  // Checked before the first byte leaves, so that the caller's mistake does not cost the link.
  he::check_right(plan, m);
  session.channel().send(operand_message(plan, steps), [&](ByteSink& out) {
    session.key_owner().encrypt(plan, m, session.random(), session.pool(), out);
  });
}

std::unique_ptr<const he::Operand> receive_operand(Session& session, const he::Plan& plan, const ProductSteps& steps) {
  std::unique_ptr<const he::Operand> operand;
  session.channel().receive(operand_message(plan, steps), [&](ByteSource& in) {
    operand = session.peer_multiplier().load(plan, in, session.pool());
  });
  return operand;
}

ShareMatrix send_product(Session& session, const he::Plan& plan, const ProductSteps& steps, const IntMatrix& x,
                         const he::Operand& operand) {
  he::check_left(plan, x);
  ShareMatrix share;
  // The reply hides how it was computed, not only its value: see docs/protocols.md, re-randomisation.
  session.channel().send(reply_message(plan, steps), [&](ByteSink& out) {
    share = session.peer_multiplier().multiply_and_mask(plan, x, operand, session.random(), session.pool(), out);
  });
  return share;
}

ShareMatrix receive_product(Session& session, const he::Plan& plan, const ProductSteps& steps) {
  ShareMatrix share;
  session.channel().receive(reply_message(plan, steps),
                            [&](ByteSource& in) { share = session.key_owner().open(plan, in, session.pool()); });
  return share;
}

ShareMatrix product_multiplier(Session& session, const he::Plan& plan, const ProductSteps& steps, const IntMatrix& x) {
  he::check_left(plan, x);
  const auto operand = receive_operand(session, plan, steps);
  return send_product(session, plan, steps, x, *operand);
}

ShareMatrix product_owner(Session& session, const he::Plan& plan, const ProductSteps& steps, const ShareMatrix& m) {
  send_operand(session, plan, steps, m);
  return receive_product(session, plan, steps);
}

}  // namespace blindfl::protocol

#include "blindfl/protocol/session/product.h"

#include <string>

namespace blindfl::protocol {

namespace {

net::Message operand_message(const he::Plan& plan, const ProductSteps& steps) {
  return {steps.operand, steps.layer, plan.operand_bytes(), plan.spec().inner, plan.spec().cols};
}

net::Message reply_message(const he::Plan& plan, const ProductSteps& steps) {
  return {steps.reply, steps.layer, plan.reply_bytes(), plan.spec().rows, plan.spec().cols};
}

/// A product whose masks repeat must be the same in all of this.
MaskedProduct masked_product(const Session& session, const SchemeKeys& keys, const he::Plan& plan,
                             const ProductSteps& steps) {
  const he::ProductSpec& spec = plan.spec();
  return {session.party(), steps.reply, steps.layer, write_to_bytes([&](ByteSink& out) {
            for (const std::string& words :
                 {std::string(keys.scheme.name()), keys.scheme.parameters(), plan.operand_layout()}) {
              out.write_u64(words.size());
              out.write(as_bytes(words));
            }
            for (const std::uint64_t number :
                 {static_cast<std::uint64_t>(spec.rows), static_cast<std::uint64_t>(spec.inner),
                  static_cast<std::uint64_t>(spec.cols), spec.left_bound, static_cast<std::uint64_t>(spec.left_scale),
                  static_cast<std::uint64_t>(spec.right_scale), static_cast<std::uint64_t>(spec.right_bits),
                  plan.reply_bytes()}) {
              out.write_u64(number);
            }
          })};
}

}  // namespace

void send_operand(Session& session, const SchemeKeys& keys, const he::Plan& plan, const ProductSteps& steps,
                  const ShareMatrix& m) {
  // Checked before the first byte leaves, so that the caller's mistake does not cost the link.
  he::check_right(plan, m);
  session.channel().send(operand_message(plan, steps),
                         [&](ByteSink& out) { keys.owner->encrypt(plan, m, session.random(), session.pool(), out); });
}

std::unique_ptr<const he::Operand> receive_operand(Session& session, const SchemeKeys& keys, const he::Plan& plan,
                                                   const ProductSteps& steps) {
  std::unique_ptr<const he::Operand> operand;
  session.channel().receive(operand_message(plan, steps),
                            [&](ByteSource& in) { operand = keys.peer->load(plan, in, session.pool()); });
  return operand;
}

ShareMatrix send_product(Session& session, const SchemeKeys& keys, const he::Plan& plan, const ProductSteps& steps,
                         const IntMatrix& x, const he::Operand& operand) {
  he::check_left(plan, x);
  ShareMatrix share;
  Random masks = session.masks(masked_product(session, keys, plan, steps), x);
  // The reply hides how it was computed, not only its value: see docs/protocols.md, re-randomisation.
  session.channel().send(reply_message(plan, steps), [&](ByteSink& out) {
    share = keys.peer->multiply_and_mask(plan, x, operand, session.random(), masks, session.pool(), out);
  });
  return share;
}

ShareMatrix receive_product(Session& session, const SchemeKeys& keys, const he::Plan& plan, const ProductSteps& steps) {
  ShareMatrix share;
  session.channel().receive(reply_message(plan, steps),
                            [&](ByteSource& in) { share = keys.owner->open(plan, in, session.pool()); });
  return share;
}

}  // namespace blindfl::protocol

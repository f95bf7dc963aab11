#pragma once

#include "blindfl/protocol/session/product.h"

namespace blindfl::testing {

/// Those of the session's scheme that products under `plan` take. Both parties call it at the same point.
inline const protocol::SchemeKeys& keys_for(protocol::Session& session, const he::Plan& plan) {
  return session.keys(session.scheme().name(), plan.key_set());
}

/// The multiplier's half of a whole product: shares of `x * M`, where `M` is the peer's.
inline ShareMatrix product_multiplier(protocol::Session& session, const he::Plan& plan,
                                      const protocol::ProductSteps& steps, const IntMatrix& x) {
  he::check_left(plan, x);
  const protocol::SchemeKeys& keys = keys_for(session, plan);
  const auto operand = receive_operand(session, keys, plan, steps);
  return send_product(session, keys, plan, steps, x, operand);
}

/// The key owner's half of a whole product: shares of `X * m`, where `X` is the peer's.
inline ShareMatrix product_owner(protocol::Session& session, const he::Plan& plan, const protocol::ProductSteps& steps,
                                 const ShareMatrix& m) {
  he::check_right(plan, m);
  const protocol::SchemeKeys& keys = keys_for(session, plan);
  send_operand(session, keys, plan, steps, m);
  return receive_product(session, keys, plan, steps);
}

}  // namespace blindfl::testing

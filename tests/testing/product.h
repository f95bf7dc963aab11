#pragma once

#include "blindfl/protocol/session/product.h"

namespace blindfl::testing {

/// The multiplier's half of a whole product: shares of `x * M`, where `M` is the peer's.
inline ShareMatrix product_multiplier(protocol::Session& session, const he::Plan& plan,
                                      const protocol::ProductSteps& steps, const IntMatrix& x) {
  he::check_left(plan, x);
  const auto operand = receive_operand(session, session.keys(), plan, steps);
  return send_product(session, session.keys(), plan, steps, x, *operand);
}

/// The key owner's half of a whole product: shares of `X * m`, where `X` is the peer's.
inline ShareMatrix product_owner(protocol::Session& session, const he::Plan& plan, const protocol::ProductSteps& steps,
                                 const ShareMatrix& m) {
  send_operand(session, session.keys(), plan, steps, m);
  return receive_product(session, session.keys(), plan, steps);
}

}  // namespace blindfl::testing

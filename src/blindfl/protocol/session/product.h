#pragma once

#include <cstdint>
#include <memory>

#include "blindfl/he/keys.h"
#include "blindfl/he/scheme.h"
#include "blindfl/net/channel.h"
#include "blindfl/protocol/session/session.h"

// The one primitive: P holds a bounded integer matrix X, Q holds a ring matrix M; they end with shares of X M modulo
// 2^128. Paper, Algorithm 1 (HE2SS) with the multiplication in front; docs/protocols.md, "product".
//
//   P (multiplier)                                Q (key owner)
//                      <--- [[M]]_Q ---            send_operand      (once per change of M)
//   receive_operand
//   send_product       --- [[X M + R]]_Q --->      receive_product
//   keeps -R                                       keeps X M + R

namespace blindfl::protocol {

/// Which messages a product travels in.
struct ProductSteps {
  net::Step operand;
  net::Step reply;
  std::uint32_t layer = 0;
};

// `keys` are those of the scheme that made `plan`: `session.keys()`, or `session.keys(name)` for another than the
// default.

/// Q: sends `[[m]]_Q`. Cost: one message of `plan.operand_bytes()`. Reveals: the shape of `m`.
/// Throws InvalidArgument if `m` is not what `plan` was made for.
void send_operand(Session& session, const SchemeKeys& keys, const he::Plan& plan, const ProductSteps& steps,
                  const ShareMatrix& m);

/// P: receives `[[M]]_Q`, checked. Throws ProtocolError if it is not one.
[[nodiscard]] std::unique_ptr<const he::Operand> receive_operand(Session& session, const SchemeKeys& keys,
                                                                 const he::Plan& plan, const ProductSteps& steps);

/// P: multiplies, masks, re-randomises, sends. Returns this party's share, `-R`.
/// Cost: one message of `plan.reply_bytes()`. Reveals: nothing; Q opens a masked value.
/// Throws InvalidArgument if `x` exceeds the bound that `plan` was made for.
[[nodiscard]] ShareMatrix send_product(Session& session, const SchemeKeys& keys, const he::Plan& plan,
                                       const ProductSteps& steps, const IntMatrix& x, const he::Operand& operand);

/// Q: receives and decrypts. Returns this party's share, `X M + R`. Throws ProtocolError if it is not a reply.
[[nodiscard]] ShareMatrix receive_product(Session& session, const SchemeKeys& keys, const he::Plan& plan,
                                          const ProductSteps& steps);

}  // namespace blindfl::protocol

#pragma once

#include <cstdint>
#include <memory>

#include "blindfl/he/keys.h"
#include "blindfl/he/scheme.h"
#include "blindfl/net/channel.h"
#include "blindfl/protocol/session/session.h"

// The one primitive: P holds a bounded integer matrix X, Q holds a ring matrix M; they end with shares of X M in the
// plan's ring. Paper, Algorithm 1 (HE2SS) with the multiplication in front; docs/protocols.md, "product".
//
//   P (multiplier)                                Q (key owner)
//                      <--- operand ---            send_operand      (once per change of M)
//   receive_operand
//   send_product       --- reply --->              receive_product
//   its share                                      its share

namespace blindfl::protocol {

/// Which messages a product travels in.
struct ProductSteps {
  net::Step operand;
  net::Step reply;
  std::uint32_t layer = 0;
};

/// The peer's M, encrypted.
struct ReceivedOperand {
  std::unique_ptr<const he::Operand> operand{};
  Bytes digest{};  ///< of the bytes that arrived, under keys of a RepeatableScoring; else empty
};

// `keys` are those of the plan: `session.keys(name of its scheme, plan.key_set())`. Under those of a RepeatableScoring
// all randomness follows from what a message is made of, so that it is the same message whenever it is asked for.
// One thread may send while another receives. All throw InvalidArgument if `keys` are others.

/// Q: sends `[[m]]_Q`. Cost: one message of `plan.operand_bytes()`. Reveals: the shape of `m`.
/// Throws InvalidArgument if `m` is not what `plan` was made for.
void send_operand(Session& session, const SchemeKeys& keys, const he::Plan& plan, const ProductSteps& steps,
                  const ShareMatrix& m);

/// P: receives `[[M]]_Q`, checked. Throws ProtocolError if it is not one.
[[nodiscard]] ReceivedOperand receive_operand(Session& session, const SchemeKeys& keys, const he::Plan& plan,
                                              const ProductSteps& steps);

/// P: multiplies, hides how, sends. Returns this party's share.
/// Cost: one message of `plan.reply_bytes()`. Reveals: nothing; Q learns its share, which is as good as random.
/// Throws InvalidArgument if `x` exceeds the bound that `plan` was made for, or if the operand did not arrive under
/// `keys`. `left` is what was prepared of `x` under this plan, or null.
[[nodiscard]] ShareMatrix send_product(Session& session, const SchemeKeys& keys, const he::Plan& plan,
                                       const ProductSteps& steps, const IntMatrix& x, const ReceivedOperand& operand,
                                       const he::LeftMatrix* left = nullptr);

/// Q: receives and decrypts. Returns this party's share. Throws ProtocolError if it is not a reply.
[[nodiscard]] ShareMatrix receive_product(Session& session, const SchemeKeys& keys, const he::Plan& plan,
                                          const ProductSteps& steps);

/// All public facts of a product, as bytes: scheme, parameters, key set, layout, sizes and every field of its spec.
[[nodiscard]] Bytes facts_of(const he::Scheme& scheme, const he::Plan& plan);

}  // namespace blindfl::protocol

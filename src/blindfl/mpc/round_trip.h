#pragma once

#include <functional>

#include "blindfl/net/channel.h"
#include "blindfl/protocol/session/session.h"

// An element-wise product's two messages: an operand, and the reply to it.

namespace blindfl::mpc {

/// Which messages, and how long.
struct RoundTrip {
  net::Message operand;
  net::Message reply;
};

/// The owner's side: what `open` makes of the reply to what `encrypt` wrote.
template <class Result>
[[nodiscard]] Result encrypt_and_open(protocol::Session& session, const RoundTrip& trip,
                                      const std::function<void(ByteSink&)>& encrypt,
                                      const std::function<Result(ByteSource&)>& open) {
  session.channel().send(trip.operand, encrypt);
  Result result;
  session.channel().receive(trip.reply, [&](ByteSource& reply) { result = open(reply); });
  return result;
}

/// The other's: what `multiply` returns.
template <class Result>
[[nodiscard]] Result receive_and_multiply(protocol::Session& session, const RoundTrip& trip,
                                          const std::function<Result(ByteSource&, ByteSink&)>& multiply) {
  BufferSink reply(trip.reply.size);
  Result result;
  session.channel().receive(trip.operand, [&](ByteSource& operand) { result = multiply(operand, reply); });
  // Only now is the operand known to be intact.
  session.channel().send(trip.reply, reply.bytes());
  return result;
}

}  // namespace blindfl::mpc

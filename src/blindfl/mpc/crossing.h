#pragma once

#include <cstdint>

#include "blindfl/net/channel.h"
#include "blindfl/protocol/session/session.h"

namespace blindfl::mpc {

/// Sends `mine` and receives as many bytes of the same step: both at the same time, one flight.
[[nodiscard]] inline Bytes cross(protocol::Session& session, net::Step step, std::uint32_t layer, ByteView mine) {
  const net::Message message{step, layer, mine.size()};
  Bytes theirs;
  session.exchange(
      message.size, [&] { session.channel().send(message, mine); },
      [&] { theirs = session.channel().receive(message); });
  return theirs;
}

/// Runs local steps that throw where the peer's bytes are not what they must be: then the link ends, too, so that the
/// peer does not wait.
template <class Steps>
auto closing(protocol::Session& session, Steps&& local_steps) {
  try {
    return local_steps();
  } catch (...) {
    session.channel().close();
    throw;
  }
}

}  // namespace blindfl::mpc

#pragma once

#include <cstdint>

#include "blindfl/net/channel.h"
#include "blindfl/protocol/session/beside.h"
#include "blindfl/protocol/session/session.h"

namespace blindfl::protocol {

/// Sends `mine` and receives `expected` bytes of the same step: both at the same time, one flight.
[[nodiscard]] inline Bytes cross(Session& session, net::Step step, std::uint32_t layer, ByteView mine,
                                 std::uint64_t expected, const Beside& beside = {}) {
  Bytes theirs;
  session.exchange(
      mine.size() + beside.bytes,
      [&] {
        session.channel().send({step, layer, mine.size()}, mine);
        if (beside.send) beside.send();
      },
      [&] {
        theirs = session.channel().receive({step, layer, expected});
        if (beside.receive) beside.receive();
      });
  return theirs;
}

/// The same, as many bytes both ways.
[[nodiscard]] inline Bytes cross(Session& session, net::Step step, std::uint32_t layer, ByteView mine) {
  return cross(session, step, layer, mine, mine.size());
}

/// Runs local steps that throw where the peer's bytes are not what they must be: then the link ends, too, so that the
/// peer does not wait.
template <class Steps>
auto closing(Session& session, Steps&& local_steps) {
  try {
    return local_steps();
  } catch (...) {
    session.channel().close();
    throw;
  }
}

}  // namespace blindfl::protocol

#pragma once

#include <memory>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/he/schemes.h"
#include "blindfl/protocol/session/session.h"

namespace blindfl::protocol {

/// The other party as this one has it: the channel to it, the schemes that both may use, and the session between them,
/// which live and end together. Whoever else has the channel may close it, also while the session is being opened.
class Peer {
 public:
  /// Opens the session: see `Session`. Throws as that does; InvalidArgument if there is no channel.
  Peer(Party party, std::shared_ptr<net::Channel> channel, he::Schemes schemes, const SessionOptions& options = {})
      : schemes_(std::move(schemes)),
        channel_(std::move(channel)),
        session_(party, link(), pointers_to(schemes_), options) {}

  [[nodiscard]] Session& session() { return session_; }

 private:
  [[nodiscard]] net::Channel& link() const {
    require<InvalidArgument>(channel_ != nullptr, "a peer's channel is missing: a null pointer was passed");
    return *channel_;
  }

  he::Schemes schemes_;
  std::shared_ptr<net::Channel> channel_;
  Session session_;
};

}  // namespace blindfl::protocol

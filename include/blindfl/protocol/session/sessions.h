#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "blindfl/net/channel.h"
#include "blindfl/protocol/session/session.h"

namespace blindfl::protocol {

/// All sessions of a party, one with each peer: A has one, with B; B has one with each A. They must outlive it.
class Sessions {
 public:
  Sessions(Session& only) : Sessions(std::vector<Session*>{&only}) {}  // NOLINT: with one peer, they are its session
  /// Throws InvalidArgument if there is none, or if A has several.
  explicit Sessions(std::vector<Session*> all);

  [[nodiscard]] Party party() const { return all_.front()->party(); }
  [[nodiscard]] bool several() const { return all_.size() > 1; }
  /// A name that nothing else has: the session's id, which the peer knows too; of several, one that follows from
  /// theirs.
  [[nodiscard]] std::string id() const;
  /// What all channels carried.
  [[nodiscard]] net::Traffic sent() const;
  [[nodiscard]] net::Traffic received() const;

  [[nodiscard]] auto begin() const { return all_.begin(); }
  [[nodiscard]] auto end() const { return all_.end(); }

 private:
  std::vector<Session*> all_;
};

}  // namespace blindfl::protocol

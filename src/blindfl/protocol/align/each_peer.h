#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "blindfl/protocol/session/sessions.h"

namespace blindfl::protocol {

/// B's sessions with all A's, which it serves at the same time, and what it calls them.
class EachPeer {
 public:
  /// Both must outlive this. Throws InvalidArgument unless there is a name for each.
  EachPeer(const Sessions& sessions, std::span<const std::string> names);

  [[nodiscard]] std::size_t count() const { return sessions_.size(); }
  [[nodiscard]] Session& session(std::size_t peer) const { return *sessions_[peer]; }

  /// Calls `body(peer)` for each, in a thread of its own, and returns when all have returned. If one throws, all links
  /// are closed, so that nobody waits for anybody; thrown is what came first, with the peer's name in front.
  void run(const std::function<void(std::size_t peer)>& body) const;
  /// Calls `body()`. What it throws gets the peer's name in front, unless it has it already.
  void named(std::size_t peer, const std::function<void()>& body) const;
  void close_all() const;

 private:
  std::vector<Session*> sessions_;
  std::span<const std::string> names_;
};

}  // namespace blindfl::protocol

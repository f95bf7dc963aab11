#pragma once

#include <cstddef>
#include <functional>
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
  [[nodiscard]] std::size_t size() const { return all_.size(); }
  [[nodiscard]] Session& operator[](std::size_t place) const { return *all_[place]; }
  /// Throws InvalidArgument unless the A's have agreed on masks, if there are several, in the order of these sessions.
  void check_places() const;
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

/// Does `work` with each session at the same time, a thread for each, and returns when all are done; with one session,
/// here. If one fails, the channels of all are closed, so that nobody waits for what will not come.
/// Throws what the first of them threw that is not a closed link, with the name of its peer in front; with one session,
/// what it threw.
void with_each(const Sessions& sessions, const std::function<void(std::size_t place, Session& session)>& work);

/// Does `work`; if it fails, closes the channels of all sessions.
void closing_on_error(const Sessions& sessions, const std::function<void()>& work);

/// Does `work` with one session of several; what it throws has the name of the peer in front, and is of the same type.
void naming_peer(const Session& session, const std::function<void()>& work);

}  // namespace blindfl::protocol

#include "blindfl/protocol/align/each_peer.h"

#include <exception>
#include <mutex>
#include <thread>

#include "blindfl/base/error.h"
#include "blindfl/net/channel.h"
#include "blindfl/protocol/session/session.h"

namespace blindfl::protocol {

EachPeer::EachPeer(const Sessions& sessions, std::span<const std::string> names)
    : sessions_(sessions.begin(), sessions.end()), names_(names) {
  require<InvalidArgument>(names_.size() == sessions_.size(), "B has ", sessions_.size(), " sessions with A's, and ",
                           names_.size(), " names for them");
}

void EachPeer::run(const std::function<void(std::size_t peer)>& body) const {
  std::mutex mutex;
  std::exception_ptr first;
  const auto guarded = [&](std::size_t peer) {
    try {
      named(peer, [&] { body(peer); });
    } catch (...) {
      {
        const std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
      }
      close_all();  // wakes the others, whose errors then say nothing new
    }
  };
  std::vector<std::jthread> threads;
  for (std::size_t peer = 0; peer < count(); ++peer) threads.emplace_back(guarded, peer);
  threads.clear();
  if (first) std::rethrow_exception(first);
}

void EachPeer::named(std::size_t peer, const std::function<void()>& body) const {
  const auto words = [&](const Error& error) {
    const std::string name = names_[peer] + ": ";
    const std::string what = error.what();
    return what.starts_with(name) ? what : name + what;
  };
  try {
    body();
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(words(error));
  } catch (const ConfigError& error) {
    throw ConfigError(words(error));
  } catch (const DataError& error) {
    throw DataError(words(error));
  } catch (const TransportError& error) {
    throw TransportError(words(error));
  } catch (const ProtocolError& error) {
    throw ProtocolError(words(error));
  }
}

void EachPeer::close_all() const {
  for (Session* session : sessions_) session->channel().close();
}

}  // namespace blindfl::protocol

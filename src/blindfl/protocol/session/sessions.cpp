#include "blindfl/protocol/session/sessions.h"

#include <algorithm>
#include <exception>
#include <future>
#include <mutex>
#include <utility>

#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"
#include "blindfl/base/text.h"

namespace blindfl::protocol {

Sessions::Sessions(std::vector<Session*> all) : all_(std::move(all)) {
  require<InvalidArgument>(!all_.empty(), "there is no session, and so no peer");
  const auto is_b = [](const Session* session) { return session->party() == Party::kB; };
  require<InvalidArgument>(all_.size() == 1 || std::ranges::all_of(all_, is_b),
                           "only B has sessions with several peers; A has one, with B");
}

void Sessions::check_places() const {
  if (party() == Party::kA) return;
  require<InvalidArgument>(several() || !all_.front()->place().several(), "this session is with one of ",
                           all_.front()->place().of,
                           " A's: pass those with all of them. A top that is shared takes one A: take an open top, to "
                           "which every A must consent, or train with one of the A's");
  for (std::size_t place = 0; place < all_.size(); ++place) {
    require<InvalidArgument>(
        all_[place]->place() == Place{place, all_.size()},
        "several A's agree on masks before B makes a layer with them (agree_on_masks), in the order "
        "of the sessions");
  }
}

std::string Sessions::id() const {
  if (!several()) return all_.front()->id();
  std::string ids;
  for (const Session* session : all_) ids += session->id();
  return to_hex(digest_of(ids)).substr(0, all_.front()->id().size());
}

net::Traffic Sessions::sent() const {
  net::Traffic sum;
  for (Session* session : all_) sum = sum + net::total(session->channel().sent());
  return sum;
}

net::Traffic Sessions::received() const {
  net::Traffic sum;
  for (Session* session : all_) sum = sum + net::total(session->channel().received());
  return sum;
}

namespace {

void close_all(const Sessions& sessions) {
  for (Session* session : sessions) session->channel().close();
}

/// Whether it says no more than that a link was closed, perhaps from here.
bool is_closed_link(const std::exception_ptr& failed) {
  try {
    std::rethrow_exception(failed);
  } catch (const TransportError&) {
    return true;
  } catch (...) {
    return false;
  }
}

/// The cause, as far as errors tell: they are in the order in which they came.
const std::exception_ptr& cause(const std::vector<std::exception_ptr>& failed) {
  const auto better = std::ranges::find_if_not(failed, is_closed_link);
  return better == failed.end() ? failed.front() : *better;
}

template <class Work>
void naming(const std::string& name, const Work& work) {
  try {
    work();
  } catch (const InvalidArgument& error) {
    fail<InvalidArgument>(name, ": ", error.what());
  } catch (const ConfigError& error) {
    fail<ConfigError>(name, ": ", error.what());
  } catch (const DataError& error) {
    fail<DataError>(name, ": ", error.what());
  } catch (const TransportError& error) {
    fail<TransportError>(name, ": ", error.what());
  } catch (const ProtocolError& error) {
    fail<ProtocolError>(name, ": ", error.what());
  } catch (const Error& error) {
    fail<Error>(name, ": ", error.what());
  }
}

}  // namespace

void naming_peer(const Session& session, const std::function<void()>& work) {
  if (session.peer_name().empty()) {
    work();
  } else {
    naming(session.peer_name(), work);
  }
}

void closing_on_error(const Sessions& sessions, const std::function<void()>& work) {
  try {
    work();
  } catch (...) {
    close_all(sessions);
    throw;
  }
}

void with_each(const Sessions& sessions, const std::function<void(std::size_t place, Session& session)>& work) {
  if (!sessions.several()) {
    work(0, sessions[0]);
    return;
  }
  std::mutex mutex;
  std::vector<std::exception_ptr> failed;
  const auto with = [&](std::size_t place) {
    try {
      naming_peer(sessions[place], [&] { work(place, sessions[place]); });
    } catch (...) {
      {
        const std::lock_guard lock(mutex);
        failed.push_back(std::current_exception());
      }
      close_all(sessions);
    }
  };
  std::vector<std::future<void>> others;
  for (std::size_t place = 1; place < sessions.size(); ++place) {
    others.push_back(std::async(std::launch::async, with, place));
  }
  with(0);
  for (std::future<void>& other : others) other.wait();
  if (!failed.empty()) std::rethrow_exception(cause(failed));
}

}  // namespace blindfl::protocol

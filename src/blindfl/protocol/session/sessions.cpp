#include "blindfl/protocol/session/sessions.h"

#include <algorithm>
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

}  // namespace blindfl::protocol

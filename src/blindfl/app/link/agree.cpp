#include "blindfl/app/link/agree.h"

namespace blindfl::app {

void agree_with_all(const protocol::Sessions& sessions, const std::string& what, const protocol::Settings& settings) {
  for (protocol::Session* session : sessions) session->agree(what, settings);
  for (protocol::Session* session : sessions) protocol::naming_peer(*session, [&] { session->settle(); });
}

}  // namespace blindfl::app

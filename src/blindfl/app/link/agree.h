#pragma once

#include <string>

#include "blindfl/protocol/session/sessions.h"
#include "blindfl/protocol/session/settings.h"

namespace blindfl::app {

/// Says that all parties must have the same settings here, and compares them: see Session::agree. Throws as
/// `Session::settle` does.
void agree_with_all(const protocol::Sessions& sessions, const std::string& what, const protocol::Settings& settings);

}  // namespace blindfl::app

#pragma once

#include <string>
#include <string_view>

namespace blindfl::app {

/// Lines that tell a person which certificate this is, and when it is valid.
[[nodiscard]] std::string describe_certificate(std::string_view certificate);

}  // namespace blindfl::app

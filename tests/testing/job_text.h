#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace blindfl::testing {

/// B's job file with little more than what is needed. Tests count its lines.
constexpr std::string_view kJobText =
    "shared:\n"
    "  model:\n"
    "    kind: mlp\n"
    "  alignment:\n"
    "    mode: aligned\n"
    "private:\n"
    "  party: b\n"
    "  data:\n"
    "    train: b.csv\n"
    "  link:\n"
    "    listen: 0.0.0.0:7000\n"
    "    plaintext: true\n";

/// It, with `to` instead of `from`, which it must have once.
inline std::string edited_job(std::string_view from, std::string_view to) {
  std::string text(kJobText);
  const std::size_t at = text.find(from);
  if (at == std::string::npos || text.find(from, at + 1) != std::string::npos) {
    ADD_FAILURE() << "the job has '" << from << "' not once";
    return text;
  }
  return text.replace(at, from.size(), to);
}

}  // namespace blindfl::testing

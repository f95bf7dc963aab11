#pragma once

#include <optional>
#include <string>

namespace blindfl::bench {

struct TopsOptions {
  bool json = false;
  std::optional<std::string> model;  ///< all without it
};

/// Whole mini-batches of the same model with an open top and with a shared one, in turns, both parties in one process:
/// time of a step over memory and over TLS on loopback; bytes and rounds, counted and as planned; and what the bytes
/// are made of.
void report_tops(const TopsOptions& options);

}  // namespace blindfl::bench

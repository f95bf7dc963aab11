#pragma once

namespace blindfl::bench {

struct PeersOptions {
  bool json = false;
};

/// A step with one A beside steps with several, over links that are slow and with computing taken out: a scheme that
/// encrypts nothing. Time of a step, and bytes.
void report_peers(const PeersOptions& options);

}  // namespace blindfl::bench

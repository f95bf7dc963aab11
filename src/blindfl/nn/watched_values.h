#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "blindfl/nn/shared_tensor.h"

namespace blindfl::nn {

/// Shared values that must stay on an interval, and a look at whether they did: see RangeWatcher.
class WatchedValues {
 public:
  /// `what` they are, in errors: "the scores". `session` must outlive it.
  WatchedValues(protocol::Session& session, std::string what, double low, double high);

  /// Remembers a pass, at `kSharedScale` and in the same ring as the others since the last check. Local.
  void see(const ShareMatrix& values);
  /// Looks at all values of the last pass; of those before it at all, too, or where these are many at some rows of
  /// each. Cost: `mpc::all_in_range_cost`; nothing where nothing was seen. Reveals: whether all are inside, to both.
  /// Throws OutOfRange at both parties if they are not; what was seen is forgotten either way.
  void check();

 private:
  void thin_out();

  protocol::Session& session_;
  std::string what_;
  std::uint32_t layer_;
  double low_;
  double high_;
  std::vector<ShareMatrix> seen_;  ///< of passes since the last check, the oldest first
};

}  // namespace blindfl::nn

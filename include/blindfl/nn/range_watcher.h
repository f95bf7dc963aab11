#pragma once

#include "blindfl/base/error.h"
#include "blindfl/nn/federated_module.h"

// Functions on shares are right on an interval, and beyond it give anything. Nobody sees a value that leaves it, so the
// parties look together, from time to time, and learn one bit for each function: "somebody is out".

namespace blindfl::nn {

/// Values of a shared top left the interval on which its functions are right: what was trained since the last check is
/// not to be used.
class OutOfRange : public Error {
 public:
  using Error::Error;
};

/// A module that evaluates functions on an interval.
class RangeWatcher {
 public:
  RangeWatcher() = default;
  RangeWatcher(const RangeWatcher&) = delete;
  RangeWatcher& operator=(const RangeWatcher&) = delete;
  virtual ~RangeWatcher() = default;

  /// Compares the values of passes since the last check with the interval's ends; of layers with many values all of the
  /// last pass, and some rows of those before it. Both parties call it at the same point.
  /// Cost: as a comparison of these values. Reveals: whether all of them are inside, to both parties.
  /// Throws OutOfRange, at both parties, saying what to do, if they are not.
  virtual void check_ranges() = 0;
};

/// The same for all modules of a model, in their order; all are checked although one of them is out.
void check_ranges(FederatedModule& model);

/// Whether any module watches: a top on shares with functions.
[[nodiscard]] bool watches_ranges(const FederatedModule& model);

}  // namespace blindfl::nn

#pragma once

#include <cstdint>
#include <vector>

#include "blindfl/mpc/function_plan.h"
#include "blindfl/mpc/smooth_evaluation.h"
#include "blindfl/nn/shared_modules.h"
#include "blindfl/nn/watched_values.h"

namespace blindfl::nn {

/// Smooth functions of shared values, and a look at whether these stayed where the functions are right.
class WatchedFunction {
 public:
  /// Cost and Throws: see mpc::plan_function.
  WatchedFunction(protocol::Session& session, const mpc::FunctionSpec& spec, const SharedTopOptions& options);

  /// This party's shares of the functions of `z`, in the ring of 2^128 at 32 fractional bits. `z` at `kSharedScale`.
  /// Cost and Reveals: see mpc::SmoothEvaluation.
  [[nodiscard]] std::vector<ShareMatrix> evaluate(const ShareMatrix& z);
  /// See RangeWatcher.
  void check_range() { arguments_.check(); }

 private:
  protocol::Session& session_;
  std::uint32_t layer_;
  mpc::SmoothEvaluation evaluation_;
  WatchedValues arguments_;
};

}  // namespace blindfl::nn

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "blindfl/mpc/smooth_evaluation.h"
#include "blindfl/nn/shared_modules.h"
#include "blindfl/nn/watched_values.h"

namespace blindfl::nn {

/// Which functions of which values.
struct WatchedSpec {
  std::string what;  ///< in errors: "the scores"
  std::vector<mpc::Smooth> functions;
  double low = 0;
  double high = 0;
  double error = 1e-4;  ///< of the fit
  double noise = 1e-5;  ///< what larger coefficients cost, in errors of products: see mpc::FitSpec
  std::size_t cols = 0;
};

/// Smooth functions of shared values, and a look at whether these stayed where the functions are right.
class WatchedFunction {
 public:
  /// Fits the functions: up to a second. Throws InvalidArgument if they cannot be fitted so well with a scheme's slots,
  /// ConfigError if the scheme has none.
  WatchedFunction(protocol::Session& session, const WatchedSpec& spec, const SharedTopOptions& options);

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

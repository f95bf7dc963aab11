#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "blindfl/he/scheme.h"
#include "blindfl/mpc/smooth_plan.h"
#include "blindfl/protocol/layers/shared_top_options.h"

namespace blindfl::mpc {

using protocol::kSharedScale;
using protocol::SharedTopOptions;

/// Which functions of which values of a shared top.
struct FunctionSpec {
  std::string what;  ///< in errors: "the scores"
  std::vector<Smooth> functions;
  double low = 0;
  double high = 0;
  double error = 1e-4;  ///< of the fit
  double noise = 1e-5;  ///< what larger coefficients cost, in errors of products: see FitSpec
  std::size_t cols = 0;
};

/// Values of passes before the last that are kept for a look at whether they left the interval, at most.
constexpr std::size_t kMostWatchedValues = 8192;
/// Bits that they are looked at in, at most: of those that have more, what is left may look right.
constexpr int kMostRangeBits = 37;
/// Steps of training between two looks, if nothing else calls for one.
constexpr std::size_t kStepsBetweenRangeChecks = 16;

/// How many values a look finds after so many passes of `rows` x `cols` values: all of the last, and of those before it
/// all, or every second row of the longest as often as it takes to keep no more than that.
[[nodiscard]] std::size_t watched_values(std::size_t rows, std::size_t cols, std::size_t passes);

/// How batches are evaluated with the slots of `scheme`. Fits the functions: up to a second, once for each spec.
/// Throws InvalidArgument if they cannot be fitted so well with the slots; ConfigError if the scheme has none.
[[nodiscard]] std::shared_ptr<const SmoothPlan> plan_function(const he::Scheme& scheme, const FunctionSpec& spec,
                                                              const SharedTopOptions& options);

}  // namespace blindfl::mpc

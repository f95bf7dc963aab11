#include "blindfl/mpc/function_plan.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "blindfl/base/error.h"

namespace blindfl::mpc {

namespace {

constexpr int kResultScale = 32;
constexpr std::size_t kMostHarmonics = 256;

/// Fits that were made: for an evaluation of so many values the same is fitted again and again, and that takes longer
/// than many steps.
SmoothFunction fitted(const FitSpec& spec, std::size_t values) {
  using Key = std::tuple<std::vector<Smooth>, double, double, double, double, std::size_t>;
  static std::mutex mutex;
  static std::map<Key, SmoothFunction> made;
  const std::lock_guard lock(mutex);
  const Key key{spec.functions, spec.low, spec.high, spec.error, spec.noise, values};
  const auto found = made.find(key);
  if (found != made.end()) return found->second;
  return made.emplace(key, SmoothFunction::fit(spec)).first->second;
}

}  // namespace

std::size_t watched_values(std::size_t rows, std::size_t cols, std::size_t passes) {
  std::vector<std::size_t> kept;  // rows of each pass
  std::size_t all = 0;
  for (std::size_t pass = 0; pass < passes; ++pass) {
    while (all * cols > kMostWatchedValues) {
      std::size_t& longest = *std::ranges::max_element(kept);
      all -= longest - longest / 2;
      longest /= 2;
    }
    kept.push_back(rows);
    all += rows;
  }
  return all * cols;
}

std::shared_ptr<const SmoothPlan> plan_function(const he::Scheme& scheme, const FunctionSpec& spec,
                                                const SharedTopOptions& options) {
  const auto slots = he::slots_of<ConfigError>(scheme, "a shared top");
  const std::size_t values = options.batch * spec.cols;
  const std::uint64_t passes = protocol::counted_passes(options.run, options.sgd) * options.run.layers;
  SmoothFunction function = fitted(
      {.functions = spec.functions,
       .low = spec.low,
       .high = spec.high,
       .error = spec.error,
       .most_harmonics = kMostHarmonics,
       .noise = spec.noise,
       .free =
           [&](std::size_t harmonics) { return slots->free_frequencies(values, harmonics, spec.functions.size()); }},
      values);
  SmoothSpec smooth{.rows = options.batch, .cols = spec.cols, .result_scale = kResultScale};
  const std::size_t ciphertexts = SmoothPlan(slots, function, smooth).products()->reply_ciphertexts();
  smooth.run_replies = ciphertexts * passes;
  return std::make_shared<const SmoothPlan>(slots, std::move(function), smooth);
}

}  // namespace blindfl::mpc

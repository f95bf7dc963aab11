#include "blindfl/nn/watched_function.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/mpc/shared_product.h"

namespace blindfl::nn {

namespace {

constexpr int kResultScale = 32;
constexpr std::size_t kMostHarmonics = 256;

/// Fits that were made: for an evaluation of so many values the same is fitted again and again, and that takes longer
/// than many steps.
mpc::SmoothFunction fitted(const mpc::FitSpec& spec, std::size_t values) {
  using Key = std::tuple<std::vector<mpc::Smooth>, double, double, double, double, std::size_t>;
  static std::mutex mutex;
  static std::map<Key, mpc::SmoothFunction> made;
  const std::lock_guard lock(mutex);
  const Key key{spec.functions, spec.low, spec.high, spec.error, spec.noise, values};
  const auto found = made.find(key);
  if (found != made.end()) return found->second;
  return made.emplace(key, mpc::SmoothFunction::fit(spec)).first->second;
}

std::shared_ptr<const mpc::SmoothPlan> plan_of(const protocol::Session& session, const WatchedSpec& spec,
                                               const SharedTopOptions& options) {
  // Before the fit, which takes longer.
  const double passes = static_cast<double>(protocol::counted_passes(options.run, options.sgd));
  mpc::check_pieces(spec.what, std::max(-spec.low, spec.high), kSharedScale,
                    static_cast<double>(options.batch * spec.cols * options.run.layers) * passes);
  const auto slots = he::slots_of<ConfigError>(session.scheme(options.scheme), "a shared top");
  const std::size_t values = options.batch * spec.cols;
  mpc::SmoothFunction function = fitted(
      {.functions = spec.functions,
       .low = spec.low,
       .high = spec.high,
       .error = spec.error,
       .most_harmonics = kMostHarmonics,
       .noise = spec.noise,
       .free =
           [&](std::size_t harmonics) { return slots->free_frequencies(values, harmonics, spec.functions.size()); }},
      values);
  mpc::SmoothSpec smooth{.rows = options.batch, .cols = spec.cols, .result_scale = kResultScale};
  const std::size_t ciphertexts = mpc::SmoothPlan(slots, function, smooth).products()->reply_ciphertexts();
  smooth.run_replies = ciphertexts * protocol::counted_passes(options.run, options.sgd) * options.run.layers;
  return std::make_shared<const mpc::SmoothPlan>(slots, std::move(function), smooth);
}

}  // namespace

// A multiplies, and B encrypts: A's part is the larger, and B has labels to work on.
WatchedFunction::WatchedFunction(protocol::Session& session, const WatchedSpec& spec, const SharedTopOptions& options)
    : session_(session),
      layer_(session.new_layer()),
      evaluation_(session, plan_of(session, spec, options), protocol::Party::kB),
      arguments_(session, spec.what, evaluation_.plan().function().low(), evaluation_.plan().function().high()) {}

std::vector<ShareMatrix> WatchedFunction::evaluate(const ShareMatrix& z) {
  arguments_.see(z);
  // A linear term takes shares that add up to the value, and not only modulo 2^64.
  const bool lifts = evaluation_.plan().function().needs_wide_shares() && z.ring_bits() < ShareMatrix::kMostRingBits;
  const ShareMatrix argument = lifts ? mpc::make_pieces(session_, layer_, z) : z;
  return evaluation_.evaluate(rescale(argument, mpc::SmoothFunction::kFractionalBits));
}

}  // namespace blindfl::nn

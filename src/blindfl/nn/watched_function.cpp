#include "blindfl/nn/watched_function.h"

#include <algorithm>

#include "blindfl/base/error.h"
#include "blindfl/mpc/range_check.h"
#include "blindfl/mpc/shared_product.h"
#include "blindfl/nn/range_watcher.h"

namespace blindfl::nn {

// A multiplies, and B encrypts: A's part is the larger, and B has labels to work on.
WatchedFunction::WatchedFunction(protocol::Session& session, const mpc::FunctionSpec& spec,
                                 const SharedTopOptions& options)
    : session_(session),
      spec_(spec),
      layer_(session.new_layer()),
      evaluation_(session, mpc::plan_function(session.scheme(options.scheme), spec, options), protocol::Party::kB) {}

std::vector<ShareMatrix> WatchedFunction::evaluate(const ShareMatrix& z) {
  std::size_t values = z.values().size();
  for (const ShareMatrix& seen : seen_) values += seen.values().size();
  if (values > mpc::kMostWatchedValues) seen_.clear();
  seen_.push_back(z);
  // A linear term takes shares that add up to the value, and not only modulo 2^64.
  const bool lifts = evaluation_.plan().function().needs_wide_shares() && z.ring_bits() < ShareMatrix::kMostRingBits;
  const ShareMatrix argument = lifts ? mpc::make_pieces(session_, layer_, z) : z;
  return evaluation_.evaluate(rescale(argument, mpc::SmoothFunction::kFractionalBits));
}

void WatchedFunction::check_range() {
  if (seen_.empty()) return;
  const int bits = std::min(mpc::kMostRangeBits, seen_.front().ring_bits() - 1);
  std::size_t rows = 0;
  for (const ShareMatrix& seen : seen_) rows += seen.rows();
  ShareMatrix all(rows, spec_.cols, kSharedScale, seen_.front().ring_bits());
  auto next = all.values().begin();
  for (const ShareMatrix& seen : seen_) next = std::ranges::copy(seen.values(), next).out;
  seen_.clear();
  const mpc::SmoothFunction& function = evaluation_.plan().function();
  const bool inside = mpc::all_in_range(session_, layer_, all, function.low(), function.high(), bits);
  require<OutOfRange>(inside, "values of ", spec_.what, " left the interval from ", function.low(), " to ",
                      function.high(),
                      " on which they are computed: what was trained since the last check is not to be used. Lower the "
                      "learning rate or standardise the features, at both parties, and start a new run");
}

}  // namespace blindfl::nn

#include "blindfl/nn/watched_values.h"

#include <algorithm>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/mpc/function_plan.h"
#include "blindfl/mpc/range_check.h"
#include "blindfl/nn/range_watcher.h"
#include "blindfl/protocol/session/session.h"

namespace blindfl::nn {

namespace {

std::size_t count_of(const std::vector<ShareMatrix>& passes) {
  std::size_t values = 0;
  for (const ShareMatrix& pass : passes) values += pass.values().size();
  return values;
}

/// Every second row; of one row, none.
ShareMatrix every_second_row(const ShareMatrix& pass) {
  ShareMatrix kept(pass.rows() / 2, pass.cols(), pass.scale(), pass.ring_bits());
  for (std::size_t r = 0; r < kept.rows(); ++r) std::ranges::copy(pass.row(2 * r + 1), kept.row(r).begin());
  return kept;
}

}  // namespace

WatchedValues::WatchedValues(protocol::Session& session, std::string what, double low, double high)
    : session_(session), what_(std::move(what)), layer_(session.new_layer()), low_(low), high_(high) {}

void WatchedValues::see(const ShareMatrix& values) {
  thin_out();
  seen_.push_back(values);
}

// Of each pass about as many rows: one in which many values left the interval is noticed although those after it did
// not. A row that left it alone may be missed: that is what looking at some of them costs.
void WatchedValues::thin_out() {
  while (count_of(seen_) > mpc::kMostWatchedValues) {
    ShareMatrix& largest = *std::ranges::max_element(seen_, {}, &ShareMatrix::rows);
    largest = every_second_row(largest);
  }
}

void WatchedValues::check() {
  if (seen_.empty()) return;
  const int ring = seen_.front().ring_bits();
  const int bits = std::min(mpc::kMostRangeBits, ring - 1);
  ShareMatrix all(1, count_of(seen_), kSharedScale, ring);
  auto next = all.values().begin();
  for (const ShareMatrix& pass : seen_) next = std::ranges::copy(pass.values(), next).out;
  seen_.clear();
  const bool inside = mpc::all_in_range(session_, layer_, all, low_, high_, bits);
  require<OutOfRange>(inside, "values of ", what_, " left the interval from ", low_, " to ", high_,
                      " on which they are computed: what was trained since the last check is not to be used. Lower the "
                      "learning rate or standardise the features, at both parties, and start a new run");
}

}  // namespace blindfl::nn

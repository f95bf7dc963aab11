#include "blindfl/nn/shared_evaluation.h"

#include <torch/torch.h>

#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/data/batches.h"
#include "blindfl/data/row_source.h"

namespace blindfl::nn {

namespace {

constexpr std::size_t kBatchesBetweenChecks = 16;

}  // namespace

std::optional<SharedMeans> shared_means(SharedModel& model, SharedLossImpl& loss, const data::RowSource& rows,
                                        std::size_t batch, std::size_t least_rows) {
  require<InvalidArgument>(rows.rows() > 0 && rows.rows() >= least_rows, "the mean loss of ", rows.rows(),
                           " rows would tell of each: under a shared top it is that of at least ", least_rows);
  const torch::NoGradGuard no_grad;
  SharedLossImpl::Tally tally;
  std::size_t batches = 0;
  // A mean of values that are none is not opened.
  const auto check = [&] {
    check_ranges(model);
    loss.check_ranges();
  };
  for (const auto& chosen : data::BatchOrder::sequential(rows.rows(), batch).batches(0)) {
    const data::Batch x = rows.batch(chosen, batch);
    loss.add(tally, model.scores(x), x);
    if (++batches % kBatchesBetweenChecks == 0) check();
  }
  check();
  return loss.open_means(std::move(tally));
}

}  // namespace blindfl::nn

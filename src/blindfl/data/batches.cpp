#include "blindfl/data/batches.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/base/random.h"

namespace blindfl::data {

namespace {

// Keeps the streams of the epochs apart from whatever else a job draws from the same seed.
constexpr std::uint64_t kBatchOrderPurpose = 0xBA7C'0000'0000'0000;

}  // namespace

BatchOrder::BatchOrder(std::size_t rows, std::size_t batch_size, std::optional<std::uint64_t> seed)
    : rows_(rows), batch_size_(batch_size), seed_(seed) {
  require<InvalidArgument>(batch_size > 0, "batch order: a batch needs at least one row");
  require<InvalidArgument>(rows <= std::numeric_limits<std::uint32_t>::max(), "batch order: ", rows,
                           " rows are too many");
}

BatchOrder::BatchOrder(std::size_t rows, std::size_t batch_size, std::uint64_t seed)
    : BatchOrder(rows, batch_size, std::optional(seed)) {}

BatchOrder BatchOrder::sequential(std::size_t rows, std::size_t batch_size) {
  return {rows, batch_size, std::optional<std::uint64_t>()};
}

std::vector<std::vector<std::uint32_t>> BatchOrder::batches(std::size_t epoch) const {
  std::vector<std::uint32_t> order(rows_);
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  if (seed_) {
    // Written out because std::shuffle may differ from one standard library to the next, and the parties' need not
    // match.
    SeededRandom random(*seed_, kBatchOrderPurpose + epoch);
    for (std::size_t i = rows_; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  }

  std::vector<std::vector<std::uint32_t>> batches;
  batches.reserve(batches_per_epoch());
  for (auto rest = std::span<const std::uint32_t>(order); !rest.empty();) {
    const auto batch = rest.first(std::min(batch_size_, rest.size()));
    batches.emplace_back(batch.begin(), batch.end());
    rest = rest.subspan(batch.size());
  }
  return batches;
}

Batch make_batch(const Dataset& dataset, std::span<const std::uint32_t> rows, std::size_t batch_size) {
  require<InvalidArgument>(rows.size() <= batch_size, "make_batch: ", rows.size(), " rows do not fit a batch of ",
                           batch_size);
  require<InvalidArgument>(dataset.labels.empty() || dataset.labels.size() == dataset.rows(),
                           "make_batch: ", dataset.labels.size(), " labels for ", dataset.rows(), " rows");
  Batch batch{.features = {}, .labels = {}, .rows = rows.size()};
  if (dataset.features.rows() > 0 || dataset.fields.empty()) {
    batch.features = dataset.features.select_rows(rows, batch_size);
  } else {
    batch.features = IntMatrix::dense(batch_size, 0, {}, 0, 1);
  }
  for (const IntMatrix& field : dataset.fields) {
    require<InvalidArgument>(field.rows() == dataset.rows(), "make_batch: a field of ", field.rows(), " rows for ",
                             dataset.rows(), " rows");
    batch.fields.push_back(field.select_rows(rows, batch_size));
  }
  if (!dataset.labels.empty()) {
    batch.labels.reserve(rows.size());
    for (const std::uint32_t row : rows) batch.labels.push_back(dataset.labels[row]);
  }
  return batch;
}

}  // namespace blindfl::data

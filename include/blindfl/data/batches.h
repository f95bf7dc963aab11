#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "blindfl/data/dataset.h"

namespace blindfl::data {

/// Which rows make which batch: the same at both parties, who share the seed and never send the order.
class BatchOrder {
 public:
  /// A new order for each epoch, drawn from `seed`.
  /// Throws InvalidArgument if `batch_size` is 0 or there are 2^32 rows or more.
  BatchOrder(std::size_t rows, std::size_t batch_size, std::uint64_t seed);
  /// The rows as they are, in every epoch: for evaluation. Throws as the constructor does.
  static BatchOrder sequential(std::size_t rows, std::size_t batch_size);

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t batch_size() const { return batch_size_; }
  [[nodiscard]] std::size_t batches_per_epoch() const { return rows_ / batch_size_ + (rows_ % batch_size_ != 0); }

  /// The rows of each batch of an epoch. Every row occurs once; only the last batch may be short.
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> batches(std::size_t epoch) const;

 private:
  BatchOrder(std::size_t rows, std::size_t batch_size, std::optional<std::uint64_t> seed);

  std::size_t rows_;
  std::size_t batch_size_;
  // None: no shuffling.
  std::optional<std::uint64_t> seed_;
};

/// The rows of one step, at one party.
struct Batch {
  /// Real rows first, then rows of zeros up to the batch size: every product of a job has the same shape.
  IntMatrix features;
  /// Of the real rows only; empty at a party that has none.
  std::vector<double> labels;
  /// How many rows are real.
  std::size_t rows = 0;
  /// One matrix for each categorical field, padded in the same way.
  std::vector<IntMatrix> fields{};
  /// How much each of the real rows counts in the loss; empty: all alike.
  std::vector<double> weights{};
  /// Where there are labels: which of the real rows count at all, since others are placeholders; empty: all do.
  std::vector<bool> counts{};
  /// Which rows of the training set the real rows are, the same at both parties; empty: not said. With them, layers
  /// pick the products that they keep of training rows: see nn/keep_products.h.
  std::vector<std::uint32_t> numbers{};
  /// The same of rows that are scored, which are no training rows, and of which nothing is kept; empty: not said. Masks
  /// of several A's are bound to both.
  std::vector<std::uint32_t> scored{};
  /// The batch of the next training step, with `numbers` as this one, if it is known: layers prepare for it while this
  /// party waits for its peer. Both parties say so, or neither. Null: not said.
  std::shared_ptr<const Batch> next{};
};

/// The given rows of `dataset` in the given order, padded with zeros to `batch_size` rows.
/// Throws InvalidArgument if there are more rows than `batch_size` or one does not exist.
[[nodiscard]] Batch make_batch(const Dataset& dataset, std::span<const std::uint32_t> rows, std::size_t batch_size);

}  // namespace blindfl::data

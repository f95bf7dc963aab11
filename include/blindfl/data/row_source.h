#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "blindfl/data/batches.h"

namespace blindfl::data {

/// One party's encoded rows, wherever they are: in memory or in a file.
class RowSource {
 public:
  RowSource() = default;
  RowSource(const RowSource&) = delete;
  RowSource& operator=(const RowSource&) = delete;
  virtual ~RowSource() = default;

  [[nodiscard]] virtual std::size_t rows() const = 0;
  /// The given rows in the given order, padded with zeros to `batch_size` rows.
  /// Throws InvalidArgument if there are more rows than `batch_size` or one does not exist.
  [[nodiscard]] virtual Batch batch(std::span<const std::uint32_t> chosen, std::size_t batch_size) const = 0;
};

/// Rows in memory.
class RowsInMemory final : public RowSource {
 public:
  explicit RowsInMemory(Dataset dataset) : dataset_(std::move(dataset)) {}

  [[nodiscard]] std::size_t rows() const override { return dataset_.rows(); }
  [[nodiscard]] Batch batch(std::span<const std::uint32_t> chosen, std::size_t batch_size) const override {
    return make_batch(dataset_, chosen, batch_size);
  }
  [[nodiscard]] const Dataset& dataset() const { return dataset_; }

 private:
  Dataset dataset_;
};

}  // namespace blindfl::data

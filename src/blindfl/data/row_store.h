#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "blindfl/base/bytes.h"
#include "blindfl/base/disk_file.h"
#include "blindfl/data/row_source.h"
#include "blindfl/tensor/int_matrix_builder.h"

namespace blindfl::data {

/// Rows in a file, for those that do not fit into memory: each row can be read alone. Batches are those that
/// RowsInMemory makes of the same rows, bit for bit.
///
/// The file has no name, only its owner may read it, and it is gone with this object or with the process. Memory:
/// labels and 8 bytes for each row. Several threads may ask for batches.
class RowStore final : public RowSource {
 public:
  [[nodiscard]] std::size_t rows() const override { return starts_.size() - 1; }
  /// Throws as `RowSource::batch` does, and DataError if the disk does not give back what it was given.
  [[nodiscard]] Batch batch(std::span<const std::uint32_t> chosen, std::size_t batch_size) const override;

 private:
  friend class RowStoreWriter;
  explicit RowStore(DiskFile file) : file_(std::move(file)) {}

  DiskFile file_;
  bool has_features_ = true;
  MatrixFormat features_;
  std::vector<MatrixFormat> fields_;
  std::vector<std::uint64_t> starts_{0};  ///< of each row in the file, and its end
  std::vector<double> labels_;
};

/// Writes a RowStore, piece by piece.
class RowStoreWriter {
 public:
  /// `folder` is where the bytes of the file are. Throws ConfigError if no file can be made there.
  explicit RowStoreWriter(const std::filesystem::path& folder);

  /// Appends rows; labels are not looked at.
  /// Throws InvalidArgument unless kinds, columns, scales and bounds are those of the rows before; Error if the disk
  /// does not take them.
  void append(const Dataset& rows);
  [[nodiscard]] std::size_t rows() const { return store_->rows(); }

  /// All rows, with a label for each or none at all. Once, and last. Throws InvalidArgument if the labels do not fit.
  [[nodiscard]] std::unique_ptr<RowStore> finish(std::vector<double> labels = {});

 private:
  void begin(const Dataset& rows);
  void check_format(const Dataset& rows) const;
  void flush();

  std::unique_ptr<RowStore> store_;
  bool begun_ = false;
  Bytes buffer_;
};

}  // namespace blindfl::data

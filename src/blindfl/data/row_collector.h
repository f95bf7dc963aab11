#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "blindfl/data/row_source.h"
#include "blindfl/data/row_store.h"

namespace blindfl::data {

/// Collects encoded rows that come piece by piece: in memory as long as they fit, then in a file.
class RowCollector {
 public:
  /// Memory takes `budget` bytes and one more piece at most. `scratch` is the folder for what does not fit.
  RowCollector(std::size_t budget, std::filesystem::path scratch);

  /// Adds rows of the same format as those before; labels are not looked at.
  /// Throws DataError if there are 2^32 rows or more; ConfigError or Error if no file can be made or written;
  /// InvalidArgument if the format is another.
  void add(Dataset piece);

  [[nodiscard]] std::size_t rows() const { return rows_; }
  /// How many of them are in memory now.
  [[nodiscard]] std::size_t rows_in_memory() const;

  /// All rows, with a label for each or none at all. Once, and last. Throws InvalidArgument if the labels do not fit.
  [[nodiscard]] std::unique_ptr<RowSource> finish(std::vector<double> labels = {});

 private:
  [[nodiscard]] IntMatrix joined_features();
  [[nodiscard]] IntMatrix joined_field(std::size_t field);

  std::size_t budget_;
  std::filesystem::path scratch_;
  std::size_t rows_ = 0;
  std::size_t bytes_ = 0;  ///< of `pieces_`
  std::vector<Dataset> pieces_;
  std::optional<RowStoreWriter> writer_;
};

}  // namespace blindfl::data

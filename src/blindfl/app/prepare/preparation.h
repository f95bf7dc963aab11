#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "blindfl/app/job/job.h"
#include "blindfl/app/plan/party_shape.h"
#include "blindfl/app/prepare/csv_features.h"
#include "blindfl/app/prepare/labels.h"
#include "blindfl/app/prepare/libsvm_features.h"
#include "blindfl/base/bytes.h"
#include "blindfl/data/row_source.h"

namespace blindfl::app {

/// Rows of one file, encoded.
struct PreparedRows {
  std::unique_ptr<data::RowSource> rows;  ///< batches have the labels too
  std::vector<std::string> ids{};         ///< one for each row; empty if the job has no id column
  std::vector<double>
      labels{};  ///< one for each row at B where the file has them; else empty. Classes are 0, 1, 2, ...
  std::vector<double> weights{};       ///< one for each row that has a label, where the job has a weight column
  std::vector<FilledColumn> filled{};  ///< columns with missing cells, and how many
};

/// "missing cells, filled as in training: 'age' 3, 'city' 2 (reserved category)"; empty if nothing was missing.
[[nodiscard]] std::string words_of(const std::vector<FilledColumn>& filled);

/// How this party's files become features: fitted to the training file, then the same for all files. Private: names,
/// statistics and vocabularies.
class Preparation {
 public:
  /// Of the encoded rows of a file that stay in memory, unless the job says how much memory there is: then a quarter.
  static constexpr std::size_t kRowMemory = std::size_t{1} << 30;

  /// Reads the training file once, piece by piece: memory does not grow with its rows.
  /// Throws DataError or ConfigError naming file, line, column and kind of fault, never the value.
  [[nodiscard]] static Preparation fit(const job::Job& job);

  /// Encodes a file. `scratch` is a folder for what does not fit into memory. Throws as `fit` does.
  [[nodiscard]] PreparedRows read(const std::filesystem::path& path, Labels labels,
                                  const std::filesystem::path& scratch) const;

  [[nodiscard]] const PartyShape& shape() const { return shape_; }
  /// Columns of the training file that said the same in all rows: nothing is learned from them. Empty after loading.
  [[nodiscard]] std::vector<std::string> constant_columns() const;
  /// Names of classes in order (classifier at B), for the scores file; of two, the positive one is the second.
  [[nodiscard]] const std::vector<std::string>& classes() const { return rule_.classes(); }

  /// Another limit than that of the job it was fitted to, which is not saved.
  void set_row_memory(std::size_t bytes) { row_memory_ = bytes; }
  [[nodiscard]] std::size_t row_memory() const { return row_memory_; }
  /// What a job gives the rows of a file.
  [[nodiscard]] static std::size_t row_memory_of(const job::Resources& resources);

  void save(ByteSink& out) const;
  /// Throws DataError if `in` is not what `save()` wrote. Takes no more memory than what is left in `in` can justify.
  [[nodiscard]] static Preparation load(ByteSource& in);

 private:
  using Features = std::variant<CsvFeatures, LibsvmFeatures>;

  /// Throws InvalidArgument if there are too many features, or an encoding that cannot be.
  Preparation(Features features, LabelRule rule, const FixedPointSpec& encoding);
  [[nodiscard]] std::unique_ptr<EncodedFile> open(const std::filesystem::path& path, Labels labels) const;

  Features features_;
  LabelRule rule_;
  PartyShape shape_;
  std::size_t row_memory_ = kRowMemory;
};

}  // namespace blindfl::app

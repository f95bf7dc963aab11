#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "blindfl/base/bytes.h"
#include "blindfl/data/row_source.h"
#include "blindfl/prepare/csv_features.h"
#include "blindfl/prepare/labels.h"
#include "blindfl/prepare/libsvm_features.h"
#include "blindfl/prepare/spec.h"
#include "blindfl/tensor/party_shape.h"

namespace blindfl::prepare {

/// Rows of one file, encoded.
struct PreparedRows {
  std::unique_ptr<data::RowSource> rows;  ///< batches have the labels too
  std::vector<std::string> ids{};         ///< one for each row; empty if there is no id column
  std::vector<double>
      labels{};  ///< one for each row at B where the file has them; else empty. Classes are 0, 1, 2, ...
  std::vector<double> weights{};       ///< one for each row that has a label, where there is a weight column
  std::vector<FilledColumn> filled{};  ///< columns with missing cells, and how many
  Bytes digest{};                      ///< SHA-256 of the file
};

/// "missing cells, filled as in training: 'age' 3, 'city' 2 (reserved category)"; empty if nothing was missing.
[[nodiscard]] std::string words_of(const std::vector<FilledColumn>& filled);

/// How this party's files become features: fitted to the training file, then the same for all files. Private: names,
/// statistics and vocabularies.
class Preparation {
 public:
  /// Of the encoded rows of a file that stay in memory, unless somebody says otherwise.
  static constexpr std::size_t kRowMemory = std::size_t{1} << 30;

  /// Reads the training file once, piece by piece: memory does not grow with its rows.
  /// Throws DataError or ConfigError naming file, line, column and kind of fault, never the value.
  [[nodiscard]] static Preparation fit(const CsvSpec& spec, const std::filesystem::path& train);
  [[nodiscard]] static Preparation fit(const LibsvmSpec& spec, const std::filesystem::path& train);

  /// Encodes a file. `scratch` is a folder for what does not fit into memory. Throws as `fit` does.
  [[nodiscard]] PreparedRows read(const std::filesystem::path& path, Labels labels,
                                  const std::filesystem::path& scratch) const;

  [[nodiscard]] const PartyShape& shape() const { return shape_; }
  /// Columns of the training file that said the same in all rows: nothing is learned from them. Empty after loading.
  [[nodiscard]] std::vector<std::string> constant_columns() const;
  /// Names of classes in order (classifier at B), for the scores file; of two, the positive one is the second.
  [[nodiscard]] const std::vector<std::string>& classes() const { return rule_.classes(); }

  /// Another limit than `kRowMemory`; it is not saved.
  void set_row_memory(std::size_t bytes) { row_memory_ = bytes; }

  void save(ByteSink& out) const;
  /// Throws DataError if `in` is not what `save()` wrote. Takes no more memory than what is left in `in` can justify.
  [[nodiscard]] static Preparation load(ByteSource& in);

 private:
  using Features = std::variant<CsvFeatures, LibsvmFeatures>;

  /// Throws InvalidArgument if there are too many features, or an encoding that cannot be.
  Preparation(Features features, LabelRule rule, const FixedPointSpec& encoding);
  /// Both kinds of `fit`. Throws ConfigError if there is nothing that a party could bring.
  template <class Fitted, class Spec>
  [[nodiscard]] static Preparation fit_with(const Spec& spec, const std::filesystem::path& train,
                                            std::optional<LabelFit> labels);
  [[nodiscard]] std::unique_ptr<EncodedFile> open(const std::filesystem::path& path, Labels labels,
                                                  DigestOfPieces& digest) const;

  Features features_;
  LabelRule rule_;
  PartyShape shape_;
  std::size_t row_memory_ = kRowMemory;
};

}  // namespace blindfl::prepare

#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "blindfl/base/bytes.h"
#include "blindfl/prepare/prepared_rows.h"
#include "blindfl/prepare/spec.h"
#include "blindfl/tensor/party_shape.h"

namespace blindfl::prepare {

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
  [[nodiscard]] const std::vector<std::string>& classes() const;

  /// Another limit than `kRowMemory`; it is not saved.
  void set_row_memory(std::size_t bytes) { row_memory_ = bytes; }

  void save(ByteSink& out) const;
  /// Throws DataError if `in` is not what `save()` wrote. Takes no more memory than what is left in `in` can justify.
  [[nodiscard]] static Preparation load(ByteSource& in);

 private:
  struct Fitted;

  /// Throws InvalidArgument if there are too many features, or an encoding that cannot be.
  Preparation(Fitted fitted, const FixedPointSpec& encoding);
  /// Both kinds of `fit`. Throws ConfigError if there is nothing that a party could bring.
  [[nodiscard]] static Preparation checked(Fitted fitted, const FixedPointSpec& encoding,
                                           const std::filesystem::path& train);

  std::shared_ptr<const Fitted> fitted_;
  PartyShape shape_;
  std::size_t row_memory_ = kRowMemory;
};

}  // namespace blindfl::prepare

#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "blindfl/base/bytes.h"
#include "blindfl/data/frame.h"
#include "blindfl/prepare/spec.h"
#include "blindfl/tensor/category_field.h"

namespace blindfl::prepare {

/// A column of CSV files that is a feature: how its cells are read, and where they go.
struct CsvColumn {
  std::string name;
  data::ColumnKind kind = data::ColumnKind::kNumeric;  ///< or one category, or several
  bool one_hot = false;                                ///< of categories: binary features beside the numeric ones
  bool optional = true;                                ///< of a number: may be missing
  std::string separator = ";";
  std::size_t most = 1;  ///< categories of a cell
  Pooling pooling = Pooling::kSum;

  [[nodiscard]] bool is_numeric() const { return kind == data::ColumnKind::kNumeric; }
  [[nodiscard]] static CsvColumn of(const ColumnSpec& column);

  void save(ByteSink& out) const;
  /// Throws DataError if `in` is not what `save()` wrote.
  [[nodiscard]] static CsvColumn load(ByteSource& in);
};

/// The columns of a training file that are features, in its order, each as `spec` has it and with its kind. `names` are
/// those of the file's columns.
/// Throws DataError if `spec` lists a column that is not there; ConfigError, which names the column and what to write,
/// if one does not suit the model, its options make no sense, or it is not listed and there is no `default_kind`.
[[nodiscard]] std::vector<ColumnSpec> feature_columns(const CsvSpec& spec, const std::filesystem::path& path,
                                                      std::span<const std::string> names);

}  // namespace blindfl::prepare

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "blindfl/data/column_kind.h"
#include "blindfl/tensor/category_field.h"
#include "blindfl/tensor/fixed_point.h"

// What a party says of its files before they are read.

namespace blindfl::prepare {

enum class FileFormat { kAuto, kCsv, kLibsvm };

/// What becomes of a column's numbers.
enum class Transform {
  kNone,
  kStandardise,
  kLog,  ///< of the logarithms the same: they are far from 0 and from each other's scale
};

/// Which categories get a row of their own in an embedding table.
struct VocabularySpec {
  std::size_t min_count = 1;
  std::optional<std::size_t> most{};
  std::optional<std::size_t> hash_buckets{};

  bool operator==(const VocabularySpec&) const = default;
};

/// A column of CSV files that is a feature, or ignored.
struct ColumnSpec {
  std::string name{};
  std::optional<data::ColumnKind> kind{};  ///< none: `CsvSpec::default_kind`, or numeric
  Transform transform = Transform::kNone;
  data::Missing missing = data::Missing::kMean;
  std::optional<double> constant{};
  VocabularySpec vocabulary{};
  bool one_hot = false;
  std::string separator = ";";
  std::size_t most_per_row = 16;
  Pooling pooling = Pooling::kSum;

  bool operator==(const ColumnSpec&) const = default;
};

/// What labels are.
struct LabelSpec {
  enum class Kind { kClasses, kReals, kCounts };

  Kind kind = Kind::kClasses;
  std::size_t classes = 2;                ///< that a classifier tells apart
  std::optional<std::string> positive{};  ///< of two classes
};

/// Which labels to read from a file; at A there are never any.
enum class Labels {
  kNone,
  kNeeded,   ///< a file without them is an error
  kIfThere,  ///< all or none
};

/// CSV files, all alike.
struct CsvSpec {
  char delimiter = ',';
  bool header = true;
  std::vector<std::string> missing = {""};  ///< cells that say nothing
  std::optional<std::string> id{};          ///< names of columns that are no features
  std::optional<std::string> label{};       ///< none: there are no labels
  std::optional<std::string> weight{};
  std::optional<data::ColumnKind> default_kind{};  ///< of columns that are not listed; none: all must be
  std::vector<ColumnSpec> columns{};
  bool embeddings = true;  ///< the model embeds categories; else they must be one-hot
  LabelSpec labels{};
  FixedPointSpec encoding{};  ///< of numeric features
};

/// LIBSVM files, all alike.
struct LibsvmSpec {
  std::optional<std::size_t> features{};  ///< none: the highest index seen
  std::size_t first_index = 1;
  std::optional<LabelSpec> labels{};  ///< none: rows need none
  FixedPointSpec encoding{};
};

}  // namespace blindfl::prepare

#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "blindfl/data/frame.h"
#include "blindfl/data/numeric_scaling.h"
#include "blindfl/data/vocabulary.h"
#include "blindfl/prepare/csv_columns.h"
#include "blindfl/prepare/labels.h"
#include "blindfl/prepare/spec.h"

namespace blindfl::prepare {

/// How CSV files become features: fitted to the training file. Private.
struct CsvFeatures {
  data::DelimitedOptions format{};
  std::vector<std::string> missing{};  ///< cells that say nothing
  std::optional<std::string> id{};
  std::optional<std::string> label{};
  std::optional<std::string> weight{};           ///< column of the rows' weights
  std::size_t columns_in_file = 0;               ///< of the training file, those that are no features too
  std::vector<CsvColumn> columns{};              ///< in the training file's order
  data::NumericScaling scaling{};                ///< of the numeric ones
  std::vector<data::Vocabulary> vocabularies{};  ///< one for each of the others
  std::vector<std::string> constant{};           ///< columns that said the same in all training rows; not saved

  /// Reads the training file once, piece by piece. Standardised columns are clipped at 8 standard deviations, or at
  /// what the encoding has room for if that is less, so that no file that comes later can be out of range. Throws
  /// DataError and ConfigError: see `Preparation::fit`. `labels`, if any, is told all labels.
  [[nodiscard]] static CsvFeatures fit(const CsvSpec& spec, const std::filesystem::path& path, LabelFit* labels);

  /// Numeric features: the numeric columns, then one for each category, and one for unknown ones, of each one-hot
  /// column.
  [[nodiscard]] std::size_t width() const;
  /// The most of them in any row that are not 0, whatever it holds.
  [[nodiscard]] std::size_t most_nonzeros() const;
  /// Whether most of them are 0 in every row.
  [[nodiscard]] bool is_sparse() const { return 2 * most_nonzeros() <= width() && width() > 0; }
  /// Of the categories that are embedded; they are called f1, f2, ...
  [[nodiscard]] std::vector<CategoryField> fields() const;
  /// What to read from a file. Labels, if they are wanted, are the last of the frame's categories, and weights the
  /// last of its numbers.
  [[nodiscard]] data::FrameSpec frame_spec(bool with_labels, bool with_weights) const;

  void save(ByteSink& out) const;
  /// Throws DataError if `in` is not what `save()` wrote.
  [[nodiscard]] static CsvFeatures load(ByteSource& in);
};

}  // namespace blindfl::prepare

#include "blindfl/prepare/csv_file.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/data/frame_reader.h"
#include "blindfl/tensor/int_matrix_builder.h"

namespace blindfl::prepare {

namespace {

using Column = IntMatrix::Column;

/// Whether the labels of a file are wanted, and there.
bool has_labels(const data::DelimitedReader& file, const CsvFeatures& features, Labels labels) {
  const std::vector<std::string>& names = file.names();
  // Columns that are only numbered are known by their places: one that lacks moves those after it.
  const bool is_last = features.label == std::to_string(features.columns_in_file);
  const bool lacks_label = labels != Labels::kNeeded && is_last && names.size() + 1 == features.columns_in_file;
  require<DataError>(features.format.header || names.empty() || names.size() == features.columns_in_file || lacks_label,
                     file.file(), ": has ", names.size(), " columns, and the training file ", features.columns_in_file,
                     "; without a header, all files need the same. Only a label in the last column may be left out");
  if (labels == Labels::kNone || !features.label || names.empty()) return false;
  const bool there = std::ranges::find(names, *features.label) != names.end();
  require<DataError>(there || labels == Labels::kIfThere, file.file(), ": has no column '", *features.label,
                     "', which private.data.label_column names; labels are needed here");
  return there;
}

/// Whether a file with labels has weights, too. Where labels are needed, so are they.
bool has_weights(const data::DelimitedReader& file, const CsvFeatures& features, Labels labels) {
  if (!features.weight) return false;
  const std::vector<std::string>& names = file.names();
  const bool there = std::ranges::find(names, *features.weight) != names.end();
  require<DataError>(there || labels != Labels::kNeeded, file.file(), ": has no column '", *features.weight,
                     "', which private.data.weight_column names; write 1 for rows that count alike");
  return there;
}

class CsvFile final : public EncodedFile {
 public:
  CsvFile(std::unique_ptr<data::DelimitedReader> file, const CsvFeatures& features, const FixedPointSpec& encoding,
          const LabelRule& rule, bool with_labels, bool with_weights)
      : features_(features),
        encoding_(encoding),
        fixed_(encoding),
        rule_(rule),
        with_labels_(with_labels),
        with_weights_(with_weights),
        fields_(features.fields()),
        numbers_({.kind = features.is_sparse() ? IntMatrix::Kind::kCsr : IntMatrix::Kind::kDense,
                  .cols = features.width(),
                  .scale = fixed_.scale(),
                  .bound = fixed_.bound()}),
        reader_(std::move(file), features.frame_spec(with_labels, with_weights)) {
    for (const CsvColumn& column : features.columns) {
      if (column.is_numeric()) numeric_.push_back(column.name);
      if (!column.is_numeric()) categories_.push_back(&column);
      missing_.push_back({.name = column.name, .cells = 0, .is_category = !column.is_numeric()});
    }
  }

  [[nodiscard]] std::optional<EncodedPiece> next() override;
  [[nodiscard]] std::vector<FilledColumn> filled() const override;

 private:
  /// Of one one-hot column in one piece of the file: the feature of each name in the dictionary.
  struct OneHot {
    const data::CategoryColumn* column;
    std::size_t first;  ///< feature of the column
    std::vector<std::size_t> features;
  };

  [[nodiscard]] IntMatrix encode_features(const data::Frame& frame) const;
  [[nodiscard]] std::vector<OneHot> one_hots(const data::Frame& frame) const;
  void add_one_hot(const OneHot& one_hot, std::size_t row, IntMatrixBuilder& to) const;
  [[nodiscard]] std::int64_t encode_number(double cell, std::size_t row, std::size_t column) const;
  void check_counts(const data::CategoryColumn& column, std::size_t most) const;
  [[nodiscard]] std::vector<double> encode_labels(const data::CategoryColumn& column) const;
  void check_weights(const data::NumericColumn& column) const;
  void count_missing(const data::Frame& frame);

  const CsvFeatures& features_;
  FixedPointSpec encoding_;
  FixedPoint fixed_;
  const LabelRule& rule_;
  bool with_labels_;
  bool with_weights_;
  std::vector<CategoryField> fields_;
  MatrixFormat numbers_;                        ///< of the numeric features, one-hot ones too
  std::vector<std::string> numeric_;            ///< names of the numeric columns
  std::vector<const CsvColumn*> categories_{};  ///< the others
  std::vector<FilledColumn> missing_{};         ///< of all columns, also those that miss nothing
  data::FrameReader reader_;
};

std::optional<EncodedPiece> CsvFile::next() {
  auto frame = reader_.next(rows_of_piece(std::max(reader_.names().size(), features_.is_sparse() ? 0 : numbers_.cols)));
  if (!frame) return std::nullopt;
  EncodedPiece piece{.rows = {}, .ids = std::move(frame->ids)};
  count_missing(*frame);
  for (std::size_t i = 0; i < categories_.size(); ++i) check_counts(frame->categories[i], categories_[i]->most);
  if (numbers_.cols > 0 || fields_.empty()) piece.rows.features = encode_features(*frame);
  piece.rows.fields.reserve(fields_.size());
  for (std::size_t i = 0; i < categories_.size(); ++i) {
    if (categories_[i]->one_hot) continue;
    const CategoryField& field = fields_[piece.rows.fields.size()];
    piece.rows.fields.push_back(encode_column(field, frame->categories[i], features_.vocabularies[i]));
  }
  if (with_labels_) piece.labels = encode_labels(frame->categories.back());
  if (with_weights_) {
    check_weights(frame->numeric.back());
    piece.weights = std::move(frame->numeric.back().values);
  }
  return piece;
}

std::vector<FilledColumn> CsvFile::filled() const {
  std::vector<FilledColumn> some;
  std::ranges::copy_if(missing_, std::back_inserter(some), [](const FilledColumn& column) { return column.cells > 0; });
  return some;
}

void CsvFile::count_missing(const data::Frame& frame) {
  std::size_t numeric = 0;
  std::size_t categories = 0;
  for (FilledColumn& column : missing_) {
    if (!column.is_category) {
      const std::vector<double>& values = frame.numeric[numeric++].values;
      column.cells += static_cast<std::size_t>(std::ranges::count_if(values, [](double x) { return std::isnan(x); }));
      continue;
    }
    const data::CategoryColumn& cells = frame.categories[categories++];
    for (std::size_t r = 0; r < cells.rows(); ++r) {
      const std::span<const std::uint32_t> codes = cells.codes_of(r);
      column.cells += std::ranges::find(codes, data::CategoryColumn::kMissing) == codes.end() ? 0 : 1;
    }
  }
}

void CsvFile::check_weights(const data::NumericColumn& column) const {
  const auto negative = std::ranges::find_if(column.values, [](double x) { return x < 0; });
  if (negative == column.values.end()) return;
  fail<DataError>(reader_.where(static_cast<std::size_t>(negative - column.values.begin()), column.name),
                  ": a weight below 0; 0 leaves a row out of the loss");
}

IntMatrix CsvFile::encode_features(const data::Frame& frame) const {
  const std::vector<OneHot> binary = one_hots(frame);
  const std::size_t in_row = numbers_.kind == IntMatrix::Kind::kDense ? numbers_.cols : numeric_.size() + binary.size();
  IntMatrixBuilder rows(numbers_, frame.rows, frame.rows * in_row);
  for (std::size_t r = 0; r < frame.rows; ++r) {
    for (std::size_t c = 0; c < numeric_.size(); ++c) {
      const std::int64_t value = encode_number(frame.numeric[c].values[r], r, c);
      if (value != 0) rows.add(c, value);
    }
    for (const OneHot& one_hot : binary) add_one_hot(one_hot, r, rows);
    rows.end_row();
  }
  return rows.finish();
}

std::int64_t CsvFile::encode_number(double cell, std::size_t row, std::size_t column) const {
  const double x = features_.scaling.apply(cell, column, row);
  if (!encoding_.clip && std::abs(x) > encoding_.largest) {
    fail<DataError>(reader_.where(row, numeric_[column]), ": beyond private.data.numeric.largest, which is ",
                    encoding_.largest, "; raise it, transform the column, or set private.data.numeric.clip");
  }
  return fixed_.encode(x, row, column);
}

std::vector<CsvFile::OneHot> CsvFile::one_hots(const data::Frame& frame) const {
  std::vector<OneHot> all;
  std::size_t first = numeric_.size();
  for (std::size_t i = 0; i < categories_.size(); ++i) {
    if (!categories_[i]->one_hot) continue;
    const data::CategoryColumn& column = frame.categories[i];
    const data::Vocabulary& vocabulary = features_.vocabularies[i];
    OneHot one_hot{.column = &column, .first = first, .features = {}};
    one_hot.features.reserve(column.dictionary.size());
    for (const std::string& name : column.dictionary) one_hot.features.push_back(first + vocabulary.index_of(name));
    all.push_back(std::move(one_hot));
    first += vocabulary.size();
  }
  return all;
}

void CsvFile::add_one_hot(const OneHot& one_hot, std::size_t row, IntMatrixBuilder& to) const {
  const std::span<const std::uint32_t> codes = one_hot.column->codes_of(row);
  std::vector<std::size_t> features;
  features.reserve(codes.size());
  for (const std::uint32_t code : codes) {
    const bool missing = code == data::CategoryColumn::kMissing;
    features.push_back(missing ? one_hot.first + CategoryField::kUnknown : one_hot.features[code]);
  }
  std::ranges::sort(features);
  features.erase(std::unique(features.begin(), features.end()), features.end());
  for (const std::size_t feature : features) to.add(feature, fixed_.encode(1.0, row, feature));
}

void CsvFile::check_counts(const data::CategoryColumn& column, std::size_t most) const {
  if (!column.has_several()) return;
  for (std::size_t r = 0; r < column.rows(); ++r) {
    if (column.codes_of(r).size() > most) {
      fail<DataError>(reader_.where(r, column.name), ": more than ", most,
                      " categories in one cell; raise most_per_row of this column before training");
    }
  }
}

std::vector<double> CsvFile::encode_labels(const data::CategoryColumn& column) const {
  std::vector<std::optional<double>> of_text(column.dictionary.size());
  std::ranges::transform(column.dictionary, of_text.begin(),
                         [&](const std::string& text) { return rule_.encode(text); });
  std::vector<double> labels(column.rows());
  for (std::size_t r = 0; r < labels.size(); ++r) {
    const bool missing = column.codes[r] == data::CategoryColumn::kMissing;
    if (missing)
      fail<DataError>(reader_.where(r, column.name), ": the label is missing; fill it in, or leave the row out");
    const std::optional<double>& label = of_text[column.codes[r]];
    if (!label) fail<DataError>(reader_.where(r, column.name), ": ", rule_.fault());
    labels[r] = *label;
  }
  return labels;
}

}  // namespace

std::unique_ptr<EncodedFile> open_csv(const std::filesystem::path& path, const CsvFeatures& features,
                                      const FixedPointSpec& encoding, const LabelRule& rule, Labels labels,
                                      DigestOfPieces& digest) {
  auto file = std::make_unique<data::DelimitedReader>(path, features.format, &digest);
  const bool with_labels = has_labels(*file, features, rule.kind() == LabelRule::Kind::kNone ? Labels::kNone : labels);
  const bool with_weights = with_labels && has_weights(*file, features, labels);
  return std::make_unique<CsvFile>(std::move(file), features, encoding, rule, with_labels, with_weights);
}

}  // namespace blindfl::prepare

#include "blindfl/prepare/csv_features.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/data/delimited.h"
#include "blindfl/data/frame_reader.h"
#include "blindfl/prepare/encoded_file.h"
#include "blindfl/prepare/saved.h"

namespace blindfl::prepare {

namespace {

constexpr std::size_t kMostMissing = 10000;
constexpr double kMostDeviations = 8;

data::ScalingOptions scaling_options(const ColumnSpec& column, double largest) {
  // Logarithms of amounts are far from 0 and from each other's scale: they are standardised, too.
  const bool standardise = column.transform != Transform::kNone;
  return {.missing = column.missing,
          .constant = column.constant.value_or(0),
          .log = column.transform == Transform::kLog,
          .standardise = standardise,
          .clip = standardise ? std::min(kMostDeviations, largest) : std::numeric_limits<double>::infinity()};
}

data::ScalingFit scaling_fit(std::span<const ColumnSpec> columns, double largest) {
  std::vector<std::string> names;
  std::vector<data::ScalingOptions> options;
  names.reserve(columns.size());
  options.reserve(columns.size());
  for (const ColumnSpec& column : columns) {
    if (column.kind != data::ColumnKind::kNumeric) continue;
    names.push_back(column.name);
    options.push_back(scaling_options(column, largest));
  }
  return {std::move(names), options};
}

/// A category that is too long is a text: says in which line the first one is.
void check_lengths(const data::CategoryColumn& column, const data::FrameReader& reader) {
  constexpr std::size_t kMost = data::Vocabulary::kMaxNameBytes;
  const auto is_long = [&](std::uint32_t code) {
    return code != data::CategoryColumn::kMissing && column.dictionary[code].size() > kMost;
  };
  if (std::ranges::all_of(column.dictionary, [](const std::string& name) { return name.size() <= kMost; })) return;
  for (std::size_t r = 0; r < column.rows(); ++r) {
    if (std::ranges::any_of(column.codes_of(r), is_long)) {
      fail<DataError>(reader.where(r, column.name), ": longer than ", kMost,
                      " bytes, so this is not a column of categories; ignore it, or take hash_buckets");
    }
  }
}

void add_labels(const data::CategoryColumn& column, const data::FrameReader& reader, LabelFit& labels) {
  const auto missing = std::ranges::find(column.codes, data::CategoryColumn::kMissing);
  if (missing != column.codes.end()) {
    const auto row = static_cast<std::size_t>(missing - column.codes.begin());
    fail<DataError>(reader.where(row, column.name), ": the label is missing; fill it in, or leave the row out");
  }
  for (const std::string& text : column.dictionary) labels.add(text);
}

/// What vocabularies are made of.
class CategoryFit {
 public:
  explicit CategoryFit(std::span<const ColumnSpec> columns) {
    for (const ColumnSpec& column : columns) {
      if (column.kind == data::ColumnKind::kNumeric) continue;
      options_.push_back(column.vocabulary);
      names_.push_back(column.name);
    }
    counts_.resize(options_.size());
  }

  void add(const data::Frame& frame, const data::FrameReader& reader) {
    for (std::size_t i = 0; i < options_.size(); ++i) {
      if (options_[i].hash_buckets) continue;
      check_lengths(frame.categories[i], reader);
      counts_[i].add(frame.categories[i]);
    }
  }

  /// Of the columns that are counted.
  [[nodiscard]] std::vector<std::string> constant_columns() const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      if (counts_[i].is_constant()) names.push_back(names_[i]);
    }
    return names;
  }

  [[nodiscard]] std::vector<data::Vocabulary> finish() const {
    std::vector<data::Vocabulary> vocabularies;
    vocabularies.reserve(options_.size());
    for (std::size_t i = 0; i < options_.size(); ++i) {
      const VocabularySpec& options = options_[i];
      vocabularies.push_back(
          options.hash_buckets
              ? data::Vocabulary::hashed(*options.hash_buckets)
              : data::Vocabulary::fit(counts_[i], {.min_count = options.min_count, .most = options.most.value_or(0)}));
    }
    return vocabularies;
  }

 private:
  std::vector<VocabularySpec> options_;
  std::vector<std::string> names_;
  std::vector<data::CategoryCounts> counts_;
};

data::ColumnSpec spec_of(const CsvColumn& column) {
  return {.name = column.name, .kind = column.kind, .separator = column.separator, .optional = column.optional};
}

/// Calls `f(column, vocabulary)` for each column of categories.
template <class F>
void for_each_category(const CsvFeatures& features, F&& f) {
  std::size_t place = 0;
  for (const CsvColumn& column : features.columns) {
    if (!column.is_numeric()) f(column, features.vocabularies[place++]);
  }
}

void save_name(ByteSink& out, const std::optional<std::string>& name) {
  out.write_u8(name ? 1 : 0);
  if (name) write_text(out, *name);
}

std::optional<std::string> load_name(ByteSource& in) {
  if (!in.read_flag()) return std::nullopt;
  return read_text(in);
}

/// That what was loaded fits together.
void check(const CsvFeatures& features) {
  std::set<std::string_view> names;
  if (features.id) names.insert(*features.id);
  if (features.label) names.insert(*features.label);
  if (features.weight) names.insert(*features.weight);
  const std::size_t others = (features.id ? 1U : 0U) + (features.label ? 1U : 0U) + (features.weight ? 1U : 0U);
  std::size_t numeric = 0;
  for (const CsvColumn& column : features.columns) {
    names.insert(column.name);
    numeric += column.is_numeric() ? 1 : 0;
  }
  require<DataError>(names.size() == features.columns.size() + others && features.scaling.cols() == numeric &&
                         features.columns_in_file >= names.size(),
                     "the saved preparation has columns that do not fit together");
  const char delimiter = features.format.delimiter;
  require<DataError>(std::string_view("\"\n\r\0", 4).find(delimiter) == std::string_view::npos,
                     "the saved preparation has a delimiter that cannot be");
}

}  // namespace

CsvFeatures CsvFeatures::fit(const CsvSpec& spec, const std::filesystem::path& path, LabelFit* labels) {
  CsvFeatures to{.format = {.delimiter = spec.delimiter, .header = spec.header, .trim = true},
                 .missing = spec.missing,
                 .id = spec.id,
                 .label = spec.label,
                 .weight = spec.weight};
  auto file = std::make_unique<data::DelimitedReader>(path, to.format);
  to.columns_in_file = file->names().size();
  const std::vector<ColumnSpec> columns = feature_columns(spec, path, file->names());
  to.columns.reserve(columns.size());
  for (const ColumnSpec& column : columns) to.columns.push_back(CsvColumn::of(column));

  data::FrameReader reader(std::move(file), to.frame_spec(labels != nullptr, false));
  data::ScalingFit scaling = scaling_fit(columns, spec.encoding.largest);
  CategoryFit categories(columns);
  while (const auto frame = reader.next(rows_of_piece(to.columns_in_file))) {
    scaling.add(frame->numeric);
    categories.add(*frame, reader);
    if (labels != nullptr) add_labels(frame->categories.back(), reader, *labels);
  }
  try {
    to.scaling = data::NumericScaling::fit(scaling);
    to.vocabularies = categories.finish();
    to.constant = to.scaling.constant_columns();
    std::ranges::copy(categories.constant_columns(), std::back_inserter(to.constant));
  } catch (const DataError& error) {
    fail<DataError>(path.string(), ": ", error.what());
  }
  return to;
}

std::size_t CsvFeatures::width() const {
  std::size_t width = scaling.cols();
  for_each_category(*this, [&](const CsvColumn& column, const data::Vocabulary& vocabulary) {
    if (column.one_hot) width += vocabulary.size();
  });
  return width;
}

std::size_t CsvFeatures::most_nonzeros() const {
  std::size_t most = scaling.cols();
  for_each_category(*this, [&](const CsvColumn& column, const data::Vocabulary& vocabulary) {
    if (column.one_hot) most += std::min(column.most, vocabulary.size());
  });
  return most;
}

std::vector<CategoryField> CsvFeatures::fields() const {
  std::vector<CategoryField> fields;
  for_each_category(*this, [&](const CsvColumn& column, const data::Vocabulary& vocabulary) {
    if (column.one_hot) return;
    fields.push_back({.name = std::string("f").append(std::to_string(fields.size() + 1)),
                      .categories = vocabulary.size(),
                      .most = column.most,
                      .pooling = column.pooling});
  });
  return fields;
}

data::FrameSpec CsvFeatures::frame_spec(bool with_labels, bool with_weights) const {
  data::FrameSpec spec{.format = format, .missing = missing};
  spec.columns.reserve(columns.size() + 3);
  if (id) spec.columns.push_back({.name = *id, .kind = data::ColumnKind::kId});
  for (const CsvColumn& column : columns) spec.columns.push_back(spec_of(column));
  if (with_labels) spec.columns.push_back({.name = label.value(), .kind = data::ColumnKind::kCategory});
  if (with_weights) {
    spec.columns.push_back({.name = weight.value(), .kind = data::ColumnKind::kNumeric, .optional = false});
  }
  return spec;
}

void CsvFeatures::save(ByteSink& out) const {
  out.write_u8(static_cast<std::uint8_t>(format.delimiter));
  out.write_u8(format.header ? 1 : 0);
  write_texts(out, missing);
  save_name(out, id);
  save_name(out, label);
  save_name(out, weight);
  out.write_u64(columns_in_file);
  out.write_u64(columns.size());
  for (const CsvColumn& column : columns) column.save(out);
  scaling.save(out);
  for (const data::Vocabulary& vocabulary : vocabularies) vocabulary.save(out);
}

CsvFeatures CsvFeatures::load(ByteSource& in) {
  CsvFeatures to;
  to.format.delimiter = static_cast<char>(in.read_u8());
  to.format.header = in.read_flag();
  to.format.trim = true;
  to.missing = read_texts(in, kMostMissing);
  to.id = load_name(in);
  to.label = load_name(in);
  to.weight = load_name(in);
  to.columns_in_file = read_count(in, data::DelimitedReader::kMaxColumns);
  const std::size_t count = read_count(in, to.columns_in_file);
  // Columns are read one by one, and each takes some of what is left: no count makes this allocate.
  for (std::size_t i = 0; i < count; ++i) to.columns.push_back(CsvColumn::load(in));
  to.scaling = data::NumericScaling::load(in);
  for (const CsvColumn& column : to.columns) {
    if (!column.is_numeric()) to.vocabularies.push_back(data::Vocabulary::load(in));
  }
  check(to);
  return to;
}

}  // namespace blindfl::prepare

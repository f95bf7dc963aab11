#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/data/frame.h"
#include "blindfl/data/libsvm.h"
#include "blindfl/data/numeric_scaling.h"
#include "blindfl/data/table.h"
#include "blindfl/data/text_file.h"
#include "blindfl/data/vocabulary.h"

// Whole frames, fitted and applied at once: what a preparation does piece by piece.

namespace blindfl::data {

/// A frame, and a label for each row.
struct LabelledFrame : Frame {
  std::vector<double> labels{};
};

template <class Column>
const Column& column_named(const std::vector<Column>& columns, std::string_view name) {
  const auto at = std::ranges::find(columns, name, &Column::name);
  require<InvalidArgument>(at != columns.end(), "frame: there is no such column as '", name, "' of this kind");
  return *at;
}
inline const NumericColumn& numeric_column(const Frame& frame, std::string_view name) {
  return column_named(frame.numeric, name);
}
inline const CategoryColumn& category_column(const Frame& frame, std::string_view name) {
  return column_named(frame.categories, name);
}

/// Takes a column of categories out of a frame, and for the labels: 1 where it is `positive`.
inline LabelledFrame with_labels(const Frame& frame, std::string_view column, std::string_view positive) {
  LabelledFrame labelled{frame, {}};
  const CategoryColumn& from = category_column(frame, column);
  for (const std::uint32_t code : from.codes) labelled.labels.push_back(from.dictionary.at(code) == positive ? 1 : 0);
  std::erase_if(labelled.categories, [&](const CategoryColumn& each) { return each.name == column; });
  return labelled;
}

/// The given rows in the given order. Dictionaries stay whole, and columns have one category in each row.
inline LabelledFrame select_rows(const LabelledFrame& frame, std::span<const std::uint32_t> rows) {
  const auto chosen_of = [&]<class T>(const std::vector<T>& all) {
    std::vector<T> chosen;
    for (const std::uint32_t row : rows) chosen.push_back(all.at(row));
    return chosen;
  };
  LabelledFrame to{frame, chosen_of(frame.labels)};
  to.rows = rows.size();
  for (NumericColumn& column : to.numeric) column.values = chosen_of(column.values);
  for (CategoryColumn& column : to.categories) column.codes = chosen_of(column.codes);
  return to;
}

/// Rows of a fixed number of fields by their place, as Criteo's are published: a label, then `numeric` entries
/// `1:value 2:value ...`, then `categorical` entries `id:1`, whose id is the category. The columns are called I1, I2,
/// ... and C1, C2, ...
inline LabelledFrame read_libsvm_fields(const std::filesystem::path& path, std::size_t numeric,
                                        std::size_t categorical) {
  LineReader reader(path);
  LabelledFrame frame;
  std::vector<CategoryColumnBuilder> builders;
  for (std::size_t i = 1; i <= numeric; ++i) frame.numeric.push_back({.name = "I" + std::to_string(i)});
  for (std::size_t i = 1; i <= categorical; ++i) builders.emplace_back("C" + std::to_string(i), false);
  for (; reader.next(); ++frame.rows) {
    const auto row = parse_libsvm_line(reader.line());
    require<DataError>(row && row->entries.size() == numeric + categorical, "a row has other fields");
    frame.labels.push_back(std::stod(std::string(row->label)));
    for (std::size_t i = 0; i < numeric; ++i) frame.numeric[i].values.push_back(row->entries[i].second);
    for (std::size_t i = 0; i < categorical; ++i) builders[i].add(std::to_string(row->entries[numeric + i].first));
  }
  for (CategoryColumnBuilder& builder : builders) frame.categories.push_back(builder.finish());
  return frame;
}

/// `options` for each column, or one for all.
inline NumericScaling fit_scaling(std::span<const NumericColumn> columns, std::span<const ScalingOptions> options) {
  std::vector<std::string> names;
  for (const NumericColumn& column : columns) names.push_back(column.name);
  ScalingFit seen(std::move(names), options);
  seen.add(columns);
  return NumericScaling::fit(seen);
}
inline NumericScaling fit_scaling(std::span<const NumericColumn> columns, const ScalingOptions& options = {}) {
  return fit_scaling(columns, std::span(&options, 1));
}

/// Columns that a scaling was fitted to, in that order, as a dense table.
inline Table scaled_table(const NumericScaling& scaling, std::span<const NumericColumn> columns, std::size_t rows,
                          const std::vector<double>& labels = {}) {
  std::vector<double> values;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns.size(); ++c) values.push_back(scaling.apply(columns[c].values.at(r), c, r));
  }
  return Table::dense(rows, columns.size(), std::move(values), labels);
}

/// The public facts of a column: as many categories as `vocabulary` has rows, and as many of them in one row as any row
/// of `column` has.
inline CategoryField field_of(const CategoryColumn& column, const Vocabulary& vocabulary,
                              Pooling pooling = Pooling::kSum) {
  CategoryField field{.name = column.name, .categories = vocabulary.size(), .most = 1, .pooling = pooling};
  for (std::size_t r = 0; r < column.rows(); ++r) field.most = std::max(field.most, column.codes_of(r).size());
  return field;
}

}  // namespace blindfl::data

#include "blindfl/lab/paper/category_data.h"

#include <algorithm>
#include <utility>

#include "blindfl/data/frame_reader.h"
#include "blindfl/data/table_cuts.h"

namespace blindfl::lab::paper {

namespace {

constexpr int kNumericScale = 16;

bool has_name(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

std::vector<std::uint32_t> every_row(std::size_t rows, std::size_t step) {
  std::vector<std::uint32_t> some;
  for (std::size_t r = 0; r < rows; r += step) some.push_back(static_cast<std::uint32_t>(r));
  return some;
}

/// A's numeric columns first, scaled as the training rows say.
data::Table numeric_table(const CategorySource& source, const data::LabelledFrame& frame) {
  std::vector<std::string> names = source.numeric_a;
  for (const data::NumericColumn& column : source.train.numeric) {
    if (!has_name(source.numeric_a, column.name)) names.push_back(column.name);
  }
  if (names.empty()) return data::Table::dense(frame.rows, 0, {}, frame.labels);
  std::vector<data::NumericColumn> train;
  std::vector<data::NumericColumn> wanted;
  for (const std::string& name : names) {
    train.push_back(data::numeric_column(source.train, name));
    wanted.push_back(data::numeric_column(frame, name));
  }
  const data::NumericScaling scaling = data::fit_scaling(train, source.scaling);
  return data::rounded(data::scaled_table(scaling, wanted, frame.rows, frame.labels), kNumericScale);
}

data::Table numeric_of_b(const CategoryData& data, const CategoryRows& rows) {
  return data::vertical_split(rows.numeric, data.columns_a).b;
}

}  // namespace

CategorySource CategorySource::some(std::size_t train_step, std::size_t test_step) const {
  CategorySource less = *this;
  less.train = data::select_rows(train, every_row(train.rows, train_step));
  less.test = data::select_rows(test, every_row(test.rows, test_step));
  return less;
}

CategorySource read_adult(const std::filesystem::path& folder) {
  data::FrameSpec spec;
  spec.format.header = false;
  spec.format.trim = true;
  spec.format.comment = "|";
  spec.format.names = {"age",          "workclass",    "fnlwgt",       "education", "education_num",
                       "marital",      "occupation",   "relationship", "race",      "sex",
                       "capital_gain", "capital_loss", "hours",        "country",   "income"};
  spec.missing = {"", "?"};
  spec.others = data::ColumnKind::kCategory;
  for (const char* name : {"age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours"}) {
    spec.columns.push_back({.name = name, .kind = data::ColumnKind::kNumeric});
  }
  const auto read = [&](const char* name, const char* positive) {
    return data::with_labels(data::read_frame(folder / name, spec), "income", positive);
  };
  return {.train = read("adult.data.xz", ">50K"),
          .test = read("adult.test.xz", ">50K."),
          .numeric_a = {"age", "capital_gain", "capital_loss"},
          .fields_a = {"marital", "relationship", "race", "sex"}};
}

CategorySource read_criteo(const std::filesystem::path& folder) {
  constexpr std::size_t kNumeric = 13;
  constexpr std::size_t kCategorical = 26;
  CategorySource source{.train = data::read_libsvm_fields(folder / "criteo-mini.tr.libsvm.xz", kNumeric, kCategorical),
                        .test = data::read_libsvm_fields(folder / "criteo-mini.va.libsvm.xz", kNumeric, kCategorical),
                        .vocabulary = {.min_count = 20},
                        .scaling = {.log = true}};
  for (std::size_t i = 0; i < kNumeric; i += 2) source.numeric_a.push_back(source.train.numeric[i].name);
  for (std::size_t i = 0; i < kCategorical; i += 2) source.fields_a.push_back(source.train.categories[i].name);
  return source;
}

CategorySource read_avazu(const std::filesystem::path& folder) {
  data::FrameSpec spec;
  spec.others = data::ColumnKind::kCategory;
  const data::LabelledFrame all = data::with_labels(data::read_frame(folder / "avazu.15k.csv.xz", spec), "click", "1");
  const data::RowSplit split = data::hashed_test_rows(all.rows);
  CategorySource source{.train = data::select_rows(all, split.train),
                        .test = data::select_rows(all, split.test),
                        .vocabulary = {.min_count = 20}};
  for (std::size_t i = 0; i < all.categories.size(); i += 2) source.fields_a.push_back(all.categories[i].name);
  return source;
}

CategoryData prepare_categories(const CategorySource& source) {
  CategoryData data{.columns_a = source.numeric_a.size(), .fields_a = {}, .fields_b = {}, .train = {}, .test = {}};
  data.train.numeric = numeric_table(source, source.train);
  data.test.numeric = numeric_table(source, source.test);
  for (const data::CategoryColumn& column : source.train.categories) {
    const bool at_a = has_name(source.fields_a, column.name);
    const data::Vocabulary vocabulary = data::Vocabulary::fit(column, source.vocabulary);
    const CategoryField& field =
        (at_a ? data.fields_a : data.fields_b).emplace_back(data::field_of(column, vocabulary));
    (at_a ? data.train.fields_a : data.train.fields_b).push_back(data::encode_column(field, column, vocabulary));
    (at_a ? data.test.fields_a : data.test.fields_b)
        .push_back(data::encode_column(field, data::category_column(source.test, column.name), vocabulary));
  }
  return data;
}

LocalRows joined_rows(const CategoryRows& rows) {
  LocalRows joined{.numeric = rows.numeric, .fields = rows.fields_a, .labels = rows.numeric.labels()};
  joined.fields.insert(joined.fields.end(), rows.fields_b.begin(), rows.fields_b.end());
  return joined;
}

LocalRows rows_of_b(const CategoryData& data, const CategoryRows& rows) {
  return {.numeric = numeric_of_b(data, rows), .fields = rows.fields_b, .labels = rows.numeric.labels()};
}

TwoPartyRows two_party_rows(const CategoryData& data, const CategoryRows& rows) {
  const nn::FeatureShape shape = numeric_shape(data, 1);
  const data::VerticalSplit split = data::vertical_split(rows.numeric, data.columns_a);
  TwoPartyRows both{.a = data::make_dataset(split.a, FixedPoint(shape.features_a)),
                    .b = data::make_dataset(split.b, FixedPoint(shape.features_b))};
  both.a.fields = rows.fields_a;
  both.b.fields = rows.fields_b;
  return both;
}

nn::FeatureShape numeric_shape(const CategoryData& data, std::size_t batch) {
  return {.in_a = data.columns_a, .in_b = data.train.numeric.cols() - data.columns_a, .batch = batch};
}

nn::CategoryShape category_shape(const CategoryData& data, std::size_t batch) {
  return {.fields_a = data.fields_a, .fields_b = data.fields_b, .batch = batch};
}

}  // namespace blindfl::lab::paper

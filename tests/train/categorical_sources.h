#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "blindfl/data/numeric_scaling.h"
#include "blindfl/data/vocabulary.h"
#include "nn/deep_fixture.h"
#include "testing/frames.h"
#include "testing/real_data.h"

// Public data with categories, cut between two parties and encoded.

namespace blindfl::train {

using nn::CategoricalData;

/// What both parties' columns together have, to train with and to test with.
struct Source {
  testing::LabelledFrame train;
  testing::LabelledFrame test;
  std::vector<std::string> numeric_a;  ///< the others are B's
  std::vector<std::string> fields_a;
  data::VocabularyOptions vocabulary{};
  data::ScalingOptions scaling{};
};

struct Prepared {
  CategoricalData train;
  CategoricalData test;
};

inline bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// A's numeric columns first, scaled as the training rows say.
inline data::Table numeric_table(const Source& source, const testing::LabelledFrame& frame) {
  std::vector<std::string> names = source.numeric_a;
  for (const data::NumericColumn& column : source.train.numeric) {
    if (!contains(source.numeric_a, column.name)) names.push_back(column.name);
  }
  if (names.empty()) return data::Table::dense(frame.rows, 0, {}, frame.labels);
  std::vector<data::NumericColumn> train;
  std::vector<data::NumericColumn> wanted;
  for (const std::string& name : names) {
    train.push_back(testing::numeric_column(source.train, name));
    wanted.push_back(testing::numeric_column(frame, name));
  }
  const data::NumericScaling scaling = testing::fit_scaling(train, source.scaling);
  return nn::rounded(testing::scaled_table(scaling, wanted, frame.rows, frame.labels), 16);
}

/// The same with every number as a category: the whole part of its logarithm's square, as is usual for factorisation
/// machines on Criteo's counts.
inline Source in_buckets(Source source) {
  for (testing::LabelledFrame* frame : {&source.train, &source.test}) {
    for (const data::NumericColumn& column : frame->numeric) {
      data::CategoryColumnBuilder bucket(column.name, false);
      for (const double value : column.values) {
        const double log = value > 0 ? std::log1p(value) : 0;
        bucket.add(value > 0 ? std::to_string(1 + static_cast<int>(log * log)) : "none");
      }
      frame->categories.push_back(bucket.finish());
    }
    frame->numeric.clear();
  }
  source.fields_a.insert(source.fields_a.end(), source.numeric_a.begin(), source.numeric_a.end());
  source.numeric_a.clear();
  return source;
}

inline Prepared prepare(const Source& source, std::size_t batch) {
  std::vector<CategoryField> fields[2];
  std::vector<IntMatrix> train[2];
  std::vector<IntMatrix> test[2];
  for (const data::CategoryColumn& column : source.train.categories) {
    const std::size_t whose = contains(source.fields_a, column.name) ? 0 : 1;
    const data::Vocabulary vocabulary = data::Vocabulary::fit(column, source.vocabulary);
    fields[whose].push_back(testing::field_of(column, vocabulary));
    train[whose].push_back(data::encode_column(fields[whose].back(), column, vocabulary));
    test[whose].push_back(
        data::encode_column(fields[whose].back(), testing::category_column(source.test, column.name), vocabulary));
  }
  const std::size_t columns_a = source.numeric_a.size();
  return {
      CategoricalData(numeric_table(source, source.train), columns_a, fields[0], train[0], fields[1], train[1], batch),
      CategoricalData(numeric_table(source, source.test), columns_a, fields[0], test[0], fields[1], test[1], batch)};
}

/// Every second numeric column and field is A's. One training row in `some`, or all of them: see testing::every.
inline Source criteo(std::size_t some = 1) {
  Source source;
  const testing::LabelledFrame train =
      testing::read_libsvm_fields(testing::real_data("criteo-mini.tr.libsvm.xz"), 13, 26);
  source.train = testing::select_rows(train, testing::some_rows(train.rows, testing::every(some)));
  const testing::LabelledFrame test =
      testing::read_libsvm_fields(testing::real_data("criteo-mini.va.libsvm.xz"), 13, 26);
  source.test = testing::select_rows(test, testing::some_rows(test.rows, testing::every(2)));
  for (std::size_t i = 0; i < 13; i += 2) source.numeric_a.push_back(source.train.numeric[i].name);
  for (std::size_t i = 0; i < 26; i += 2) source.fields_a.push_back(source.train.categories[i].name);
  source.vocabulary = {.min_count = 20};
  source.scaling = {.log = true};
  return source;
}

/// Every second field is A's. One row in five is for testing.
inline Source avazu() {
  data::FrameSpec spec;
  spec.others = data::ColumnKind::kCategory;
  const testing::LabelledFrame all =
      testing::with_labels(data::read_frame(testing::real_data("avazu.15k.csv.xz"), spec), "click", "1");
  const made_up::RowSplit split = made_up::hashed_test_rows(all.rows);
  Source source;
  source.train = testing::select_rows(all, split.train);
  source.test = testing::select_rows(all, split.test);
  for (std::size_t i = 0; i < all.categories.size(); i += 2) source.fields_a.push_back(all.categories[i].name);
  source.vocabulary = {.min_count = 20};
  return source;
}

}  // namespace blindfl::train

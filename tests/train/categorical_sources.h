#pragma once

#include <cmath>
#include <string>

#include "blindfl/lab/paper/category_data.h"
#include "nn/deep_fixture.h"
#include "testing/real_data.h"

// Public data with categories, cut between two parties and encoded.

namespace blindfl::train {

using nn::CategoricalData;
using Source = lab::paper::CategorySource;

struct Prepared {
  CategoricalData train;
  CategoricalData test;
};

inline Prepared prepare(const Source& source, std::size_t batch) {
  const lab::paper::CategoryData data = lab::paper::prepare_categories(source);
  const auto of = [&](const lab::paper::CategoryRows& rows) {
    return CategoricalData(rows.numeric, data.columns_a, data.fields_a, rows.fields_a, data.fields_b, rows.fields_b,
                           batch);
  };
  return {of(data.train), of(data.test)};
}

/// The same with every number as a category: the whole part of its logarithm's square, as is usual for factorisation
/// machines on Criteo's counts.
inline Source in_buckets(Source source) {
  for (data::LabelledFrame* frame : {&source.train, &source.test}) {
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

/// One training row in `some`, or all of them: see testing::every.
inline Source criteo(std::size_t some = 1) {
  return lab::paper::read_criteo(testing::real_data("")).some(testing::every(some), testing::every(2));
}

inline Source avazu() {
  return lab::paper::read_avazu(testing::real_data(""));
}

}  // namespace blindfl::train

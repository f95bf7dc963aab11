#pragma once

#include <string>
#include <vector>

#include "blindfl/data/frame.h"
#include "testing/real_data.h"

namespace blindfl::data::testing {

/// How to read the raw Adult files, the label, "income", as a category. In the test set, labels end in a full stop.
inline FrameSpec adult_spec() {
  FrameSpec spec{.format = {.header = false, .trim = true, .comment = "|"}, .missing = {"?"}};
  const std::vector<std::string> numeric = {"age",          "fnlwgt",       "education-num",
                                            "capital-gain", "capital-loss", "hours-per-week"};
  spec.format.names = {
      "age",          "workclass", "fnlwgt", "education",    "education-num", "marital-status", "occupation",
      "relationship", "race",      "sex",    "capital-gain", "capital-loss",  "hours-per-week", "native-country",
      "income"};
  for (const std::string& name : numeric) spec.columns.push_back({.name = name, .kind = ColumnKind::kNumeric});
  spec.others = ColumnKind::kCategory;
  return spec;
}

/// How to read the Avazu sample: everything but the label, "click", is a category.
inline FrameSpec avazu_spec() {
  return {.columns = {{.name = "click", .kind = ColumnKind::kNumeric}}, .others = ColumnKind::kCategory};
}

}  // namespace blindfl::data::testing

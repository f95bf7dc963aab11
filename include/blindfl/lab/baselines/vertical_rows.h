#pragma once

#include <vector>

#include "blindfl/lab/local_deep.h"
#include "blindfl/tensor/category_field.h"

namespace blindfl::lab::baselines {

/// The same people in the same order at both parties, in the clear: each party's side of a baseline takes its own rows.
struct VerticalRows {
  LocalRows a;  ///< without labels
  LocalRows b;  ///< with labels

  [[nodiscard]] std::size_t rows() const { return b.labels.size(); }
};

/// The categorical fields that `LocalRows::fields` are of.
struct VerticalFields {
  std::vector<CategoryField> a{};
  std::vector<CategoryField> b{};
};

}  // namespace blindfl::lab::baselines

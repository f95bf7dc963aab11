#pragma once

#include <cstddef>
#include <vector>

#include "blindfl/tensor/category_field.h"
#include "blindfl/tensor/fixed_point.h"

namespace blindfl {

/// What a party tells its peer about its features: how many there are and of what size, and nothing of what they are
/// called or hold.
struct PartyShape {
  std::size_t numeric = 0;              ///< numeric features, one-hot ones included
  std::size_t nonzeros = 0;             ///< the most of them in one row that are not 0; 0: any number
  FixedPointSpec encoding{};            ///< of the numeric features
  std::vector<CategoryField> fields{};  ///< names are not told: they are f1, f2, ...
};

}  // namespace blindfl

#pragma once

namespace blindfl::data {

/// What the cells of a column are.
enum class ColumnKind {
  kIgnored,
  kNumeric,     ///< a finite number
  kCategory,    ///< one category
  kCategories,  ///< any number of categories in one cell
  kId,          ///< what both parties know the row by; never missing
};

/// What replaces a missing number.
enum class Missing {
  kError,  ///< nothing: a missing number is an error
  kMean,   ///< the mean of the training rows that have one
  kZero,
  kConstant,  ///< a number that the options name, 0 unless they do
};

}  // namespace blindfl::data

#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "blindfl/data/labelled_frame.h"
#include "blindfl/lab/local_deep.h"
#include "blindfl/lab/two_party_training.h"
#include "blindfl/tensor/category_field.h"

namespace blindfl::lab::paper {

/// A data set with categories: what both parties' columns together have, and which of them are A's.
struct CategorySource {
  data::LabelledFrame train;
  data::LabelledFrame test;
  std::vector<std::string> numeric_a{};  ///< the others are B's
  std::vector<std::string> fields_a{};
  data::VocabularyOptions vocabulary{};
  data::ScalingOptions scaling{};

  /// One training row in `train_step` and one test row in `test_step`.
  [[nodiscard]] CategorySource some(std::size_t train_step, std::size_t test_step) const;
};

/// Adult, as UCI has it: A has age, gains and family, B work, education and hours.
[[nodiscard]] CategorySource read_adult(const std::filesystem::path& folder);
/// A sample of Criteo: every second numeric column and field is A's.
[[nodiscard]] CategorySource read_criteo(const std::filesystem::path& folder);
/// A sample of Avazu: every second field is A's, one row in five is for testing.
[[nodiscard]] CategorySource read_avazu(const std::filesystem::path& folder);

/// Rows, encoded.
struct CategoryRows {
  data::Table numeric;  ///< A's columns first; with the labels
  std::vector<IntMatrix> fields_a;
  std::vector<IntMatrix> fields_b;
};

/// What was fitted to the training rows, and all rows encoded with it.
struct CategoryData {
  std::size_t columns_a = 0;
  std::vector<CategoryField> fields_a;
  std::vector<CategoryField> fields_b;
  CategoryRows train;
  CategoryRows test;
};
[[nodiscard]] CategoryData prepare_categories(const CategorySource& source);

/// The rows of both parties as if they lay side by side, and B's alone.
[[nodiscard]] LocalRows joined_rows(const CategoryRows& rows);
[[nodiscard]] LocalRows rows_of_b(const CategoryData& data, const CategoryRows& rows);
/// The same rows at both parties.
[[nodiscard]] TwoPartyRows two_party_rows(const CategoryData& data, const CategoryRows& rows);
/// Shapes of both source layers.
[[nodiscard]] nn::FeatureShape numeric_shape(const CategoryData& data, std::size_t batch);
[[nodiscard]] nn::CategoryShape category_shape(const CategoryData& data, std::size_t batch);

}  // namespace blindfl::lab::paper

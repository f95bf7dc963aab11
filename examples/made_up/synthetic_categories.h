#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "blindfl/data/table.h"
#include "blindfl/tensor/category_field.h"
#include "blindfl/tensor/int_matrix.h"

namespace blindfl::made_up {

/// Which data with categorical fields to make up. The same spec makes the same data; with more rows, the same rows and
/// then others.
struct SyntheticCategoriesSpec {
  std::size_t rows = 1000;
  /// Numeric columns, normal numbers; A's come first.
  std::size_t columns_a = 4;
  std::size_t columns_b = 4;
  /// Each with 3 categories at least; the reserved one never occurs. A field of several categories has between none and
  /// `most` of them in a row.
  std::vector<CategoryField> fields_a = {{.name = "a1", .categories = 30}, {.name = "a2", .categories = 8}};
  std::vector<CategoryField> fields_b = {{.name = "b1", .categories = 30}, {.name = "b2", .categories = 8}};
  /// Of the true embeddings.
  std::size_t dimension = 2;
  /// Category k of a field occurs in proportion to k^-skew, as words do at 1; 0: all equally often.
  double skew = 1.0;
  /// How much of a score's variance no sum of terms of single columns and fields explains.
  double interaction = 0.5;
  /// Deviation of a normal number added to each score, beyond what the logistic law leaves to chance.
  double noise = 0.0;
  std::uint64_t seed = 1;
};

/// One party's categorical fields, ready for the layers, and their true embeddings.
struct SyntheticFields {
  std::vector<CategoryField> fields;
  /// As `encode_categories` makes them: what `Dataset::fields` takes.
  std::vector<IntMatrix> encoded;
  /// Of each field, categories x dimension, row by row. The reserved row is 0.
  std::vector<std::vector<double>> tables;
};

/// Made-up data and the model behind it:
///   h_P    = the party's numeric columns * its rows of `weights` + the sum of its fields' embeddings, for P = A, B
///   score  = direction . (h_A + h_B) + interaction * (h_A . h_B)
///   label  = 1 with probability 1 / (1 + e^-score), else 0
struct SyntheticCategories {
  /// Numeric columns of A, then of B, and labels.
  data::Table joined;
  SyntheticFields a;
  SyntheticFields b;
  /// (columns_a + columns_b) x dimension, row by row.
  std::vector<double> weights;
  std::vector<double> direction;
  double interaction = 0;
  /// One for each row, without the noise: no model ranks rows better.
  std::vector<double> scores;
};

/// Draws features, a true model and labels. A's part and B's carry the same share of every score, whatever they consist
/// of, and the interaction is between them: neither party does well alone, and a deep model does better than a linear
/// one.
/// Throws InvalidArgument if a party has neither columns nor fields, a field fewer than 3 categories, or a number in
/// `spec` makes no sense.
[[nodiscard]] SyntheticCategories make_synthetic_categories(const SyntheticCategoriesSpec& spec);

}  // namespace blindfl::made_up

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "blindfl/tensor/int_matrix.h"

namespace blindfl {

/// What a row with several categories in one field looks up: the sum of their embeddings, or the mean.
enum class Pooling { kSum, kMean };

/// The public facts of one categorical field: both parties know them.
struct CategoryField {
  std::string name = "field";
  /// Rows of its table. Row `kUnknown` is for categories that were not seen in training.
  std::size_t categories = 0;
  std::size_t most = 1;  ///< categories of one row, at most
  Pooling pooling = Pooling::kSum;

  static constexpr IntMatrix::Column kUnknown = 0;
  /// Fractional bits of the shares of a mean.
  static constexpr int kMeanScale = 20;

  /// Of the matrix that `encode_categories` makes.
  [[nodiscard]] int scale() const { return pooling == Pooling::kMean && most > 1 ? kMeanScale : 0; }
  [[nodiscard]] std::uint64_t bound() const { return scale() == 0 ? most : std::uint64_t{1} << kMeanScale; }
};

/// Rows x categories: what to multiply a table with so that each row's embedding comes out. Row r has the categories
/// `all[i]` for row_starts[r] <= i < row_starts[r + 1], in any order; one that occurs twice counts twice; a row without
/// categories has an embedding of 0. A field of one category per row becomes a one-hot matrix.
/// Throws DataError, naming the field and the row but never the category, if a row has more than `field.most`, and
/// InvalidArgument if a category is beyond the table or the parts do not fit together.
[[nodiscard]] IntMatrix encode_categories(const CategoryField& field, std::span<const std::size_t> row_starts,
                                          std::span<const IntMatrix::Column> all);
/// One category in each row.
[[nodiscard]] IntMatrix encode_categories(const CategoryField& field, std::span<const IntMatrix::Column> one_per_row);

}  // namespace blindfl

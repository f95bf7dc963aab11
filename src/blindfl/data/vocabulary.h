#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "blindfl/base/bytes.h"
#include "blindfl/data/category_column.h"
#include "blindfl/tensor/category_field.h"
#include "blindfl/tensor/int_matrix.h"

namespace blindfl::data {

/// Which categories get a row of their own.
struct VocabularyOptions {
  /// Those that occur less often share the reserved row, which so is trained for categories that nobody has seen yet.
  std::size_t min_count = 1;
  /// Only as many as this, the most frequent ones; of equally frequent ones, those that come first by name. 0: all.
  std::size_t most = 0;
};

/// How often each category occurs, of a column that comes piece by piece and is not kept: memory grows with the
/// different categories, not with the rows.
class CategoryCounts {
 public:
  /// Throws DataError if a category is longer than `Vocabulary::kMaxNameBytes`, which is no category.
  void add(const CategoryColumn& piece);

  /// Whether all cells so far said the same, and none was missing.
  [[nodiscard]] bool is_constant() const { return counts_.size() == 1 && !has_missing_; }

 private:
  friend class Vocabulary;

  std::string name_;
  std::unordered_map<std::string, std::size_t, TextHash, std::equal_to<>> counts_;
  bool has_missing_ = false;
};

/// Which row of a table belongs to which category. Row `CategoryField::kUnknown` is reserved for all others, and for
/// missing values. Private to the party that has the column: the peer learns `size()` and nothing else.
class Vocabulary {
 public:
  using Column = IntMatrix::Column;
  /// Of one category. A column with longer ones is a text, not a category.
  static constexpr std::size_t kMaxNameBytes = 4096;

  /// Counts the categories of training data: row 1 is for the most frequent, and so on.
  /// Throws DataError if a category is longer than `kMaxNameBytes`; InvalidArgument if `min_count` is 0.
  [[nodiscard]] static Vocabulary fit(const CategoryColumn& column, const VocabularyOptions& options = {});
  /// The same of categories that are counted already.
  [[nodiscard]] static Vocabulary fit(const CategoryCounts& counts, const VocabularyOptions& options = {});
  /// Nothing is counted or stored: a category has the row 1 + h mod `buckets`, where h is the 64-bit FNV-1a hash of its
  /// bytes. Categories may collide. Throws InvalidArgument if there are no buckets, or 2^32 - 2 of them or more.
  [[nodiscard]] static Vocabulary hashed(std::size_t buckets);

  [[nodiscard]] Column index_of(std::string_view category) const;
  /// Rows of the table, the reserved one included.
  [[nodiscard]] std::size_t size() const { return 1 + (buckets_ != 0 ? buckets_ : indices_.size()); }

  void save(ByteSink& out) const;
  /// Throws DataError if `in` is not what `save()` wrote. Takes no more memory than what is left in `in` can justify.
  [[nodiscard]] static Vocabulary load(ByteSource& in);

 private:
  Vocabulary() = default;
  void load_names(ByteSource& in, std::uint64_t count);

  // 0: the categories are counted, not hashed.
  std::size_t buckets_ = 0;
  std::unordered_map<std::string, Column, TextHash, std::equal_to<>> indices_;
};

/// The column as a matrix for the table of `field`, through `encode_categories`. Missing and unknown categories are
/// `CategoryField::kUnknown`.
/// Throws DataError, naming the row, if one has more categories than `field.most`; InvalidArgument if `field` belongs
/// to another vocabulary.
[[nodiscard]] IntMatrix encode_column(const CategoryField& field, const CategoryColumn& column,
                                      const Vocabulary& vocabulary);

}  // namespace blindfl::data

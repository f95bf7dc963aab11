#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "blindfl/base/bytes.h"
#include "blindfl/data/column_kind.h"
#include "blindfl/data/frame.h"

namespace blindfl::data {

/// What to do with a column of numbers, in this order.
struct ScalingOptions {
  Missing missing = Missing::kMean;
  /// For `Missing::kConstant`: a number as the file could have it.
  double constant = 0;
  /// x becomes sign(x) log(1 + |x|): for counts and amounts, whose largest are many times their mean.
  bool log = false;
  /// Mean 0 and standard deviation 1 over the training rows; a column that is constant there becomes 0.
  bool standardise = true;
  /// What is further from the training rows' mean than this many standard deviations becomes that, so that an encoding
  /// has room for rows that come later. Infinity: nothing does.
  double clip = 8;
};

class ScalingFit;

/// Numeric columns as models want them: fitted to training rows, then the same for all rows that come. Private to the
/// party that has the columns.
class NumericScaling {
 public:
  /// Throws DataError if a column has no number that is not missing, or numbers too large to be added up.
  [[nodiscard]] static NumericScaling fit(const ScalingFit& seen);

  /// What a number of the column of that place becomes. `row` serves the error only.
  /// Throws DataError, with row and column but never the value, if a missing number is not allowed, or one is too
  /// large.
  [[nodiscard]] double apply(double x, std::size_t column, std::size_t row) const {
    return columns_[column].apply(x, row);
  }

  [[nodiscard]] std::size_t cols() const { return columns_.size(); }
  /// Columns whose numbers were all the same in the training rows: nothing can be learned from them. Known after
  /// `fit()`, and not saved.
  [[nodiscard]] const std::vector<std::string>& constant_columns() const { return constant_; }
  /// No number that this makes is larger, whatever the rows; infinity if a column is not clipped.
  [[nodiscard]] double largest() const;

  void save(ByteSink& out) const;
  /// Throws DataError if `in` is not what `save()` wrote. Takes no more memory than what is left in `in` can justify.
  [[nodiscard]] static NumericScaling load(ByteSource& in);

 private:
  /// x becomes (f(x) - centre) * factor, and then no less than `low` and no more than `high`.
  struct Column {
    std::string name;
    bool log = false;
    /// f(x) where x is missing; NaN: that is an error.
    double missing = std::numeric_limits<double>::quiet_NaN();
    double centre = 0;
    double factor = 1;
    double low = 0;
    double high = 0;

    [[nodiscard]] double apply(double x, std::size_t row) const;
  };
  static Column fit_column(const ScalingFit& seen, std::size_t index);
  static Column load_column(ByteSource& in);

  std::vector<Column> columns_;
  std::vector<std::string> constant_;
};

/// What a scaling needs to know of the training rows, which come piece by piece and are not kept.
class ScalingFit {
 public:
  /// `options` for each column, or one for all. Throws InvalidArgument if they make no sense.
  ScalingFit(std::vector<std::string> names, std::span<const ScalingOptions> options);

  /// More rows, of all columns in their order.
  /// Throws DataError if a number is missing and none may be; InvalidArgument if these are other columns.
  void add(std::span<const NumericColumn> columns);

 private:
  friend class NumericScaling;

  /// Mean and standard deviation of numbers that come one by one. Exact for numbers that are all the same.
  class Moments {
   public:
    void add(double x);
    [[nodiscard]] bool empty() const { return count_ == 0; }
    [[nodiscard]] double mean() const { return mean_; }
    /// 0 rather than something whose inverse is infinite.
    [[nodiscard]] double deviation() const;

   private:
    std::size_t count_ = 0;
    double mean_ = 0;
    double squares_ = 0;
  };
  struct Column {
    std::string name;
    ScalingOptions options;
    Moments moments{};

    void add(const NumericColumn& piece, std::size_t rows_before);
    [[nodiscard]] double transformed(double x) const;
  };

  std::vector<Column> columns_;
  std::size_t rows_ = 0;
};

}  // namespace blindfl::data

#include "blindfl/tensor/int_matrix_builder.h"

#include <gtest/gtest.h>

#include <vector>

#include "blindfl/base/error.h"

namespace blindfl::int_matrix_builder_test {
namespace {

using Kind = IntMatrix::Kind;
using Values = std::vector<std::int64_t>;

TEST(IntMatrixBuilder, MakesRowsOfEntriesOfEveryKind) {
  for (const Kind kind : {Kind::kDense, Kind::kCsr}) {
    IntMatrixBuilder builder({.kind = kind, .cols = 3, .scale = 4, .bound = 9});
    builder.add(0, 5);
    builder.add(2, -9);
    builder.end_row();
    builder.end_row();
    builder.add(1, 1);
    builder.end_row();
    const IntMatrix matrix = builder.finish(4);
    EXPECT_EQ(matrix.kind(), kind);
    EXPECT_EQ(matrix.rows(), 4U) << "the last one for padding";
    EXPECT_EQ(matrix.scale(), 4);
    EXPECT_EQ(matrix.bound(), 9U);
    EXPECT_EQ(matrix.to_dense(), (Values{5, 0, -9, 0, 0, 0, 0, 1, 0, 0, 0, 0}));
    EXPECT_EQ(matrix.stored(), kind == Kind::kDense ? 12U : 3U);
  }
  IntMatrixBuilder builder({.kind = Kind::kOneHot, .cols = 3, .scale = 0, .bound = 1});
  builder.add(2, 1);
  builder.end_row();
  builder.end_row();
  EXPECT_EQ(builder.finish(3).to_dense(), (Values{0, 0, 1, 0, 0, 0, 0, 0, 0}));
}

TEST(IntMatrixBuilder, AppendsRowsOfMatricesOfTheSameFormat) {
  const IntMatrix dense = IntMatrix::dense(2, 2, {1, 0, 3, 4}, 0, 4);
  const IntMatrix sparse = IntMatrix::csr(2, 2, {0, 1, 1}, {1}, {7}, 0, 7);
  const IntMatrix one_hot = IntMatrix::one_hot(2, {1, IntMatrix::kNoColumn});
  for (const IntMatrix& matrix : {dense, sparse, one_hot}) {
    IntMatrixBuilder builder(MatrixFormat::of(matrix), 4, 2 * matrix.stored());
    builder.append(matrix);
    builder.append(matrix);
    const Values once = matrix.to_dense();
    Values twice = once;
    twice.insert(twice.end(), once.begin(), once.end());
    const IntMatrix both = builder.finish();
    EXPECT_EQ(both.to_dense(), twice);
    EXPECT_EQ(both.stored(), 2 * matrix.stored());
    EXPECT_THROW(builder.append(IntMatrix::dense(1, 3, {1, 2, 3}, 0, 4)), InvalidArgument);
  }
}

TEST(IntMatrixBuilder, RefusesWhatDoesNotSuitTheFormat) {
  IntMatrixBuilder large({.kind = Kind::kDense, .cols = 1, .scale = 0, .bound = 9});
  large.add(0, 10);
  large.end_row();
  EXPECT_THROW((void)large.finish(), InvalidArgument) << "beyond the bound";
  IntMatrixBuilder descending({.kind = Kind::kCsr, .cols = 3, .scale = 0, .bound = 9});
  descending.add(2, 1);
  descending.add(1, 1);
  EXPECT_EQ(descending.stored_in_row(), 2U);
  descending.end_row();
  EXPECT_THROW((void)descending.finish(), InvalidArgument);
}

}  // namespace
}  // namespace blindfl::int_matrix_builder_test

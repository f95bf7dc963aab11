#include "blindfl/tensor/int_matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/base/random.h"

namespace blindfl::int_matrix_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;
using Kind = IntMatrix::Kind;
using Columns = std::vector<IntMatrix::Column>;
using Starts = std::vector<std::size_t>;
using Values = std::vector<std::int64_t>;
using Rows = std::vector<std::uint32_t>;

constexpr auto kNone = IntMatrix::kNoColumn;
constexpr std::uint64_t kBound = 1000;

IntMatrix dense_example() {
  return IntMatrix::dense(3, 2, {1, -2, 0, 4, 5, -1000}, 7, kBound);
}
// 0 3 0 -4
// 0 0 0  0
// 9 0 0  0
IntMatrix csr_example() {
  return IntMatrix::csr(3, 4, {0, 2, 2, 3}, {1, 3, 0}, {3, -4, 9}, 7, kBound);
}
IntMatrix one_hot_example() {
  return IntMatrix::one_hot(3, {2, kNone, 0, 2});
}

struct Shape {
  Kind kind;
  std::size_t rows;
  std::size_t cols;
};

// About half of the entries are zero, and some rows are empty.
IntMatrix random_matrix(const Shape& shape, SeededRandom& random) {
  const auto& [kind, rows, cols] = shape;
  const auto value = [&] { return static_cast<std::int64_t>(random.below(2 * kBound + 1)) - std::int64_t{kBound}; };
  Values values;
  Columns columns;
  Starts starts = {0};
  switch (kind) {
    case Kind::kDense:
      for (std::size_t i = 0; i < rows * cols; ++i) values.push_back(value());
      return IntMatrix::dense(rows, cols, values, 5, kBound);
    case Kind::kCsr:
      for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t c = 0; c < cols && r % 3 != 1; ++c) {
          if (random.below(2) == 0) continue;
          columns.push_back(static_cast<IntMatrix::Column>(c));
          values.push_back(value());
        }
        starts.push_back(columns.size());
      }
      return IntMatrix::csr(rows, cols, starts, columns, values, 5, kBound);
    case Kind::kOneHot:
      for (std::size_t r = 0; r < rows; ++r) {
        const std::uint64_t c = random.below(cols + 1);
        columns.push_back(c == cols ? kNone : static_cast<IntMatrix::Column>(c));
      }
      return IntMatrix::one_hot(cols, columns);
  }
  return {};
}

std::vector<Shape> shapes() {
  std::vector<Shape> shapes;
  for (const Kind kind : {Kind::kDense, Kind::kCsr, Kind::kOneHot}) {
    for (const auto& [rows, cols] : std::vector<std::pair<std::size_t, std::size_t>>{
             {0, 0}, {0, 5}, {5, 0}, {1, 1}, {1, 9}, {9, 1}, {4, 7}, {30, 20}}) {
      shapes.push_back({kind, rows, cols});
    }
  }
  return shapes;
}

std::string name(const Shape& shape) {
  const char* const kind = shape.kind == Kind::kDense ? "dense " : shape.kind == Kind::kCsr ? "sparse " : "one-hot ";
  return kind + std::to_string(shape.rows) + " x " + std::to_string(shape.cols);
}

TEST(IntMatrix, IsEmptyByDefault) {
  const IntMatrix empty;
  EXPECT_EQ(empty.rows(), 0U);
  EXPECT_EQ(empty.cols(), 0U);
  EXPECT_EQ(empty.stored(), 0U);
  EXPECT_TRUE(empty.to_dense().empty());
  EXPECT_EQ(empty.transpose().rows(), 0U);
}

TEST(IntMatrix, KnowsWhatItWasMadeOf) {
  struct Case {
    IntMatrix matrix;
    Kind kind;
    std::size_t rows;
    std::size_t cols;
    int scale;
    std::uint64_t bound;
    std::size_t stored;
    Values values;
  };
  const std::vector<Case> cases = {
      {dense_example(), Kind::kDense, 3, 2, 7, kBound, 6, {1, -2, 0, 4, 5, -1000}},
      {csr_example(), Kind::kCsr, 3, 4, 7, kBound, 3, {0, 3, 0, -4, 0, 0, 0, 0, 9, 0, 0, 0}},
      {one_hot_example(), Kind::kOneHot, 4, 3, 0, 1, 3, {0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1}},
      {IntMatrix::dense(3, 0, {}, 0, 0), Kind::kDense, 3, 0, 0, 0, 0, {}},
      {IntMatrix::dense(0, 3, {}, 0, 0), Kind::kDense, 0, 3, 0, 0, 0, {}},
      {IntMatrix::csr(2, 0, {0, 0, 0}, {}, {}, 60, 1), Kind::kCsr, 2, 0, 60, 1, 0, {}},
      {IntMatrix::csr(0, 2, {0}, {}, {}, 0, 1), Kind::kCsr, 0, 2, 0, 1, 0, {}},
      {IntMatrix::one_hot(0, {kNone, kNone}), Kind::kOneHot, 2, 0, 0, 1, 0, {}},
      {IntMatrix::one_hot(5, {}), Kind::kOneHot, 0, 5, 0, 1, 0, {}},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    SCOPED_TRACE(i);
    EXPECT_EQ(c.matrix.kind(), c.kind);
    EXPECT_EQ(c.matrix.rows(), c.rows);
    EXPECT_EQ(c.matrix.cols(), c.cols);
    EXPECT_EQ(c.matrix.scale(), c.scale);
    EXPECT_EQ(c.matrix.bound(), c.bound);
    EXPECT_EQ(c.matrix.stored(), c.stored);
    EXPECT_EQ(c.matrix.to_dense(), c.values);
  }
}

TEST(IntMatrix, ShowsTheRowsOfADenseMatrix) {
  const IntMatrix m = IntMatrix::dense(2, 3, {1, -2, 3, 4, 5, -6}, 0, 6);
  const auto row = m.dense_row(1);
  EXPECT_EQ(std::vector<std::int64_t>(row.begin(), row.end()), (std::vector<std::int64_t>{4, 5, -6}));
}

TEST(IntMatrix, VisitsTheStoredEntriesOfARowInOrder) {
  using Entries = std::vector<std::pair<std::size_t, std::int64_t>>;
  const auto entries = [](const IntMatrix& m, std::size_t row) {
    Entries visited;
    m.for_each_in_row(row, [&](std::size_t c, std::int64_t v) { visited.emplace_back(c, v); });
    return visited;
  };
  EXPECT_EQ(entries(dense_example(), 1), (Entries{{0, 0}, {1, 4}}));
  EXPECT_EQ(entries(csr_example(), 0), (Entries{{1, 3}, {3, -4}}));
  EXPECT_EQ(entries(csr_example(), 1), Entries{});
  EXPECT_EQ(entries(one_hot_example(), 0), (Entries{{2, 1}}));
  EXPECT_EQ(entries(one_hot_example(), 1), Entries{});
}

TEST(DenseMatrix, RefusesPartsThatDoNotFit) {
  struct Case {
    std::size_t rows;
    std::size_t cols;
    Values values;
    int scale;
    std::uint64_t bound;
  };
  constexpr std::size_t kHuge = std::size_t{1} << 33;
  const std::vector<Case> cases = {
      {2, 2, {1, 2, 3}, 0, 10},
      {2, 2, {1, 2, 3, 4, 5}, 0, 10},
      {2, 2, {1, 2, 3, 4, 5, 6}, 0, 10},
      {2, 0, {1}, 0, 10},
      {0, 2, {1, 2}, 0, 10},
      {0, 0, {1}, 0, 10},
      // A product of the sizes would wrap around to 0.
      {kHuge, std::size_t{1} << 31, {}, 0, 10},
      {1, 1, {1}, -1, 10},
      {1, 1, {1}, 61, 10},
      {1, 1, {1}, 0, FixedPoint::kMaxBound + 1},
      {0, IntMatrix::kNoColumn, {}, 0, 10},
      {0, kHuge, {}, 0, 10},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    EXPECT_THROW((void)IntMatrix::dense(c.rows, c.cols, c.values, c.scale, c.bound), InvalidArgument) << "case " << i;
  }
  EXPECT_NO_THROW((void)IntMatrix::dense(0, IntMatrix::kNoColumn - 1, {}, 60, FixedPoint::kMaxBound));
}

TEST(CsrMatrix, RefusesPartsThatDoNotFit) {
  struct Case {
    const char* why;
    std::size_t rows;
    std::size_t cols;
    Starts starts;
    Columns columns;
    Values values;
  };
  const std::vector<Case> cases = {
      {"no row starts", 0, 3, {}, {}, {}},
      {"no row starts and as many rows as that wraps to", ~std::size_t{0}, 3, {}, {}, {}},
      {"too few row starts", 2, 3, {0, 1}, {0}, {1}},
      {"too many row starts", 1, 3, {0, 1, 1}, {0}, {1}},
      {"does not start at 0", 1, 3, {1, 1}, {0}, {1}},
      {"ends too early", 1, 3, {0, 1}, {0, 1}, {1, 1}},
      {"ends too late", 1, 3, {0, 2}, {0}, {1}},
      {"starts descend", 3, 3, {0, 2, 1, 2}, {0, 1}, {1, 1}},
      {"starts run past the end and come back", 3, 3, {0, 9, 1, 1}, {0}, {1}},
      {"first start beyond, then back to 0", 2, 3, {0, ~std::size_t{0}, 0}, {}, {}},
      {"fewer values than columns", 1, 3, {0, 2}, {0, 1}, {1}},
      {"more values than columns", 1, 3, {0, 1}, {0}, {1, 1}},
      {"column beyond", 1, 3, {0, 1}, {3}, {1}},
      {"column far beyond", 1, 3, {0, 1}, {kNone}, {1}},
      {"column of a matrix without any", 1, 0, {0, 1}, {0}, {1}},
      {"column twice", 1, 3, {0, 2}, {1, 1}, {1, 1}},
      {"columns descend", 1, 3, {0, 2}, {2, 1}, {1, 1}},
      {"columns descend in the last row", 2, 3, {0, 1, 3}, {0, 2, 1}, {1, 1, 1}},
  };
  for (const Case& c : cases) {
    EXPECT_THROW((void)IntMatrix::csr(c.rows, c.cols, c.starts, c.columns, c.values, 0, 10), InvalidArgument) << c.why;
  }
  EXPECT_THROW((void)IntMatrix::csr(0, kNone, {0}, {}, {}, 0, 10), InvalidArgument);
  EXPECT_THROW((void)IntMatrix::csr(0, 1, {0}, {}, {}, -1, 10), InvalidArgument);
  EXPECT_THROW((void)IntMatrix::csr(0, 1, {0}, {}, {}, 61, 10), InvalidArgument);
  EXPECT_THROW((void)IntMatrix::csr(0, 1, {0}, {}, {}, 0, FixedPoint::kMaxBound + 1), InvalidArgument);
  // Ascending within a row is all that is asked.
  EXPECT_NO_THROW((void)IntMatrix::csr(2, 3, {0, 1, 2}, {2, 0}, {1, 1}, 0, 10));
}

TEST(OneHotMatrix, RefusesColumnsBeyondItsWidth) {
  EXPECT_THAT([] { (void)IntMatrix::one_hot(3, {0, 1, 3}); }, ThrowsMessage<InvalidArgument>(HasSubstr("row 2")));
  EXPECT_THROW((void)IntMatrix::one_hot(0, {0}), InvalidArgument);
  EXPECT_THROW((void)IntMatrix::one_hot(3, {kNone - 1}), InvalidArgument);
  EXPECT_THROW((void)IntMatrix::one_hot(kNone, {}), InvalidArgument);
}

TEST(IntMatrix, RefusesValuesBeyondItsBound) {
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  constexpr auto kMaxBound = static_cast<std::int64_t>(FixedPoint::kMaxBound);
  struct Case {
    std::int64_t value;
    std::uint64_t bound;
    bool fits;
  };
  const std::vector<Case> cases = {
      {0, 0, true},
      {1, 0, false},
      {-1, 0, false},
      {777, 777, true},
      {-777, 777, true},
      {777, 776, false},
      {-777, 776, false},
      {kMaxBound, FixedPoint::kMaxBound, true},
      {-kMaxBound, FixedPoint::kMaxBound, true},
      {kMaxBound + 1, FixedPoint::kMaxBound, false},
      {kMin, FixedPoint::kMaxBound, false},
      {kMax, FixedPoint::kMaxBound, false},
  };
  for (const Case& c : cases) {
    const auto dense = [&] { (void)IntMatrix::dense(2, 3, {0, 0, 0, 0, 0, c.value}, 0, c.bound); };
    const auto csr = [&] { (void)IntMatrix::csr(2, 3, {0, 0, 1}, {2}, {c.value}, 0, c.bound); };
    if (c.fits) {
      EXPECT_NO_THROW(dense()) << c.value;
      EXPECT_NO_THROW(csr()) << c.value;
    } else {
      // Says where, and not what.
      const auto names_the_place = ThrowsMessage<InvalidArgument>(
          AllOf(HasSubstr("row 1, column 2"), Not(HasSubstr("777")), Not(HasSubstr("776"))));
      EXPECT_THAT(dense, names_the_place) << c.value;
      EXPECT_THAT(csr, names_the_place) << c.value;
    }
  }
}

TEST(IntMatrix, TransposesEveryKind) {
  SeededRandom random(1);
  for (const Shape& shape : shapes()) {
    SCOPED_TRACE(name(shape));
    const IntMatrix m = random_matrix(shape, random);
    const IntMatrix t = m.transpose();
    EXPECT_EQ(t.kind(), shape.kind == Kind::kDense ? Kind::kDense : Kind::kCsr);
    ASSERT_EQ(t.rows(), m.cols());
    ASSERT_EQ(t.cols(), m.rows());
    EXPECT_EQ(t.scale(), m.scale());
    EXPECT_EQ(t.bound(), m.bound());
    EXPECT_EQ(t.stored(), m.stored());
    const Values from = m.to_dense();
    const Values to = t.to_dense();
    for (std::size_t r = 0; r < m.rows(); ++r) {
      for (std::size_t c = 0; c < m.cols(); ++c) ASSERT_EQ(to[c * m.rows() + r], from[r * m.cols() + c]);
    }
  }
}

TEST(IntMatrix, IsItselfWhenTransposedTwice) {
  SeededRandom random(2);
  for (const Shape& shape : shapes()) {
    SCOPED_TRACE(name(shape));
    const IntMatrix m = random_matrix(shape, random);
    const IntMatrix back = m.transpose().transpose();
    EXPECT_EQ(back.rows(), m.rows());
    EXPECT_EQ(back.cols(), m.cols());
    EXPECT_EQ(back.stored(), m.stored());
    EXPECT_EQ(back.to_dense(), m.to_dense());
  }
}

TEST(IntMatrix, TransposesIntoAValidSparseMatrix) {
  const IntMatrix t = IntMatrix::csr(3, 2, {0, 2, 3, 5}, {0, 1, 1, 0, 1}, {1, 2, 3, 4, 5}, 0, 10).transpose();
  std::vector<std::pair<std::size_t, std::int64_t>> entries;
  t.for_each_in_row(1, [&](std::size_t c, std::int64_t v) { entries.emplace_back(c, v); });
  EXPECT_EQ(entries, (std::vector<std::pair<std::size_t, std::int64_t>>{{0, 2}, {1, 3}, {2, 5}}));
}

TEST(IntMatrix, SelectsRowsInTheGivenOrder) {
  SeededRandom random(3);
  for (const Shape& shape : shapes()) {
    if (shape.rows == 0) continue;
    SCOPED_TRACE(name(shape));
    const IntMatrix m = random_matrix(shape, random);
    const auto last = static_cast<std::uint32_t>(m.rows() - 1);
    const Rows rows = {last, 0, last, last, last / 2};
    for (const std::size_t padded : {0, 3, 5, 6, 11}) {
      const IntMatrix selected = m.select_rows(rows, padded);
      EXPECT_EQ(selected.kind(), m.kind());
      EXPECT_EQ(selected.cols(), m.cols());
      EXPECT_EQ(selected.scale(), m.scale());
      EXPECT_EQ(selected.bound(), m.bound());
      ASSERT_EQ(selected.rows(), std::max<std::size_t>(padded, rows.size()));

      const Values all = m.to_dense();
      Values expected;
      for (const std::uint32_t r : rows) {
        for (std::size_t c = 0; c < m.cols(); ++c) expected.push_back(all[r * m.cols() + c]);
      }
      expected.resize(selected.rows() * m.cols());
      EXPECT_EQ(selected.to_dense(), expected) << "padded to " << padded;
      EXPECT_EQ(selected.transpose().transpose().to_dense(), expected) << "padded to " << padded;
    }
  }
}

TEST(IntMatrix, SelectsNoRowsAtAll) {
  for (const IntMatrix& m : {dense_example(), csr_example(), one_hot_example()}) {
    EXPECT_EQ(m.select_rows({}).rows(), 0U);
    EXPECT_EQ(m.select_rows({}).cols(), m.cols());
    EXPECT_EQ(m.select_rows({}, 2).to_dense(), Values(2 * m.cols()));
  }
}

TEST(OneHotMatrix, KeepsRowsWithoutAOneWhenRowsAreSelected) {
  const IntMatrix selected = one_hot_example().select_rows(Rows{1, 3, 1}, 4);
  EXPECT_EQ(selected.to_dense(), (Values{0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(selected.stored(), 1U);
}

TEST(IntMatrix, RefusesToSelectRowsThatDoNotExist) {
  for (const IntMatrix& m : {dense_example(), csr_example()}) {
    EXPECT_THAT(
        [&] {
          (void)m.select_rows(Rows{0, 3});
        },
        ThrowsMessage<InvalidArgument>(AllOf(HasSubstr("row 3"), HasSubstr("of 3"))));
  }
  EXPECT_THROW((void)one_hot_example().select_rows(Rows{kNone}), InvalidArgument);
  EXPECT_THROW((void)IntMatrix().select_rows(Rows{0}), InvalidArgument);
}

TEST(IntMatrix, IsNotTouchedThroughCopiesOrSources) {
  Values values = {1, 2, 3, 4};
  IntMatrix original = IntMatrix::dense(2, 2, values, 0, 10);
  values[0] = 9;
  const IntMatrix copy = original;
  Values dense = copy.to_dense();
  dense[1] = 9;
  original = csr_example();
  EXPECT_EQ(copy.to_dense(), (Values{1, 2, 3, 4}));
  EXPECT_EQ(copy.kind(), Kind::kDense);
  EXPECT_EQ(original.kind(), Kind::kCsr);
}

TEST(EncodeDense, RoundsEveryValue) {
  const FixedPoint encoding({.scale = 2, .largest = 10});
  const IntMatrix m = encode_dense(encoding, 2, 3, std::vector<double>{0.125, -0.125, 1, 10, -10, 0});
  EXPECT_EQ(m.kind(), Kind::kDense);
  EXPECT_EQ(m.to_dense(), (Values{1, -1, 4, 40, -40, 0}));
  EXPECT_EQ(m.scale(), 2);
  EXPECT_EQ(m.bound(), 40U);
  EXPECT_EQ(encode_dense(encoding, 4, 0, {}).rows(), 4U);
}

TEST(EncodeDense, NamesThePlaceOfABadValue) {
  const FixedPoint encoding({.scale = 2, .largest = 10});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(
      [&] {
        (void)encode_dense(encoding, 2, 3, std::vector<double>{0, 0, 0, 0, 0, 777});
      },
      ThrowsMessage<DataError>(AllOf(HasSubstr("row 1, column 2"), Not(HasSubstr("777")))));
  EXPECT_THAT(
      [&] {
        (void)encode_dense(encoding, 3, 2, std::vector<double>{0, nan, 0, 0, 0, 0});
      },
      ThrowsMessage<DataError>(HasSubstr("row 0, column 1")));
}

TEST(EncodeDense, RefusesPartsThatDoNotFit) {
  const FixedPoint encoding({.scale = 2, .largest = 10});
  EXPECT_THROW((void)encode_dense(encoding, 2, 2, std::vector<double>{1, 2, 3}), InvalidArgument);
  EXPECT_THROW((void)encode_dense(encoding, 2, 0, std::vector<double>{1}), InvalidArgument);
}

TEST(EncodeCsr, RoundsEveryStoredValue) {
  const FixedPoint encoding({.scale = 2, .largest = 10});
  const IntMatrix m = encode_csr(encoding, 3, 3, {0, 2, 2, 3}, {0, 2, 1}, std::vector<double>{0.125, -10, 2});
  EXPECT_EQ(m.kind(), Kind::kCsr);
  EXPECT_EQ(m.to_dense(), (Values{1, 0, -40, 0, 0, 0, 0, 8, 0}));
  EXPECT_EQ(m.scale(), 2);
  EXPECT_EQ(m.bound(), 40U);
}

TEST(EncodeCsr, NamesThePlaceOfABadValue) {
  const FixedPoint encoding({.scale = 2, .largest = 10});
  struct Case {
    std::vector<double> values;
    const char* place;
  };
  const double inf = std::numeric_limits<double>::infinity();
  // Rows 0 and 2 are empty.
  const Starts starts = {0, 0, 2, 2, 3};
  const Columns columns = {4, 6, 5};
  const std::vector<Case> cases = {{{777, 0, 0}, "row 1, column 4"},
                                   {{0, -777, 0}, "row 1, column 6"},
                                   {{0, 0, 777}, "row 3, column 5"},
                                   {{0, 0, inf}, "row 3, column 5"}};
  for (const Case& c : cases) {
    EXPECT_THAT([&] { (void)encode_csr(encoding, 4, 8, starts, columns, c.values); },
                ThrowsMessage<DataError>(AllOf(HasSubstr(c.place), Not(HasSubstr("777")))));
  }
}

TEST(EncodeCsr, RefusesPartsThatDoNotFit) {
  const FixedPoint encoding({.scale = 2, .largest = 10});
  const std::vector<double> one = {1};
  const std::vector<double> two = {1, 2};
  EXPECT_THROW((void)encode_csr(encoding, 1, 3, {0, 2}, {0, 1}, one), InvalidArgument);
  EXPECT_THROW((void)encode_csr(encoding, 1, 3, {0, 1}, {0}, two), InvalidArgument);
  EXPECT_THROW((void)encode_csr(encoding, 1, 3, {}, {0}, one), InvalidArgument);
  EXPECT_THROW((void)encode_csr(encoding, 1, 3, {0, 1}, {3}, one), InvalidArgument);
  EXPECT_THROW((void)encode_csr(encoding, 1, 3, {0}, {0}, one), InvalidArgument);
  EXPECT_THROW((void)encode_csr(encoding, 2, 3, {0, 9, 2}, {0, 1}, two), InvalidArgument);
}

}  // namespace
}  // namespace blindfl::int_matrix_test

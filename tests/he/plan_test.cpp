#include "blindfl/he/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blindfl/base/error.h"
#include "testing/plain/plain_scheme.h"

namespace blindfl::he::plan_test {
namespace {

using ::testing::HasSubstr;

ProductSpec good() {
  return {.rows = 4, .inner = 3, .cols = 2, .left_bound = 100, .left_scale = 8, .right_scale = 32, .right_bits = 128};
}

TEST(ProductSpec, RefusesWhatCouldOverflowOrCannotBe) {
  struct Case {
    const char* name;
    void (*change)(ProductSpec&);
    const char* says;
  };
  const Case cases[] = {
      {"no rows", [](ProductSpec& s) { s.rows = 0; }, "empty matrix"},
      {"no inner dimension", [](ProductSpec& s) { s.inner = 0; }, "empty matrix"},
      {"no columns", [](ProductSpec& s) { s.cols = 0; }, "empty matrix"},
      {"too many values on the left", [](ProductSpec& s) { s.rows = s.inner = std::size_t{1} << 21; }, "2^40"},
      {"too many values in the result", [](ProductSpec& s) { s.rows = s.cols = ~std::size_t{0}; }, "2^40"},
      {"a zero bound", [](ProductSpec& s) { s.left_bound = 0; }, "left bound"},
      {"a bound beyond 2^62", [](ProductSpec& s) { s.left_bound = (std::uint64_t{1} << 62) + 1; }, "left bound"},
      {"no right bits", [](ProductSpec& s) { s.right_bits = 0; }, "1 and 128"},
      {"too many right bits", [](ProductSpec& s) { s.right_bits = 129; }, "1 and 128"},
      {"a negative scale", [](ProductSpec& s) { s.left_scale = -1; }, "scales"},
      {"scales beyond 126", [](ProductSpec& s) { s.left_scale = s.right_scale = 64; }, "scales"},
      {"a bounded product beyond 2^127", [](ProductSpec& s) { s.left_bound = 1 << 20, s.right_bits = 120; },
       "overflow"},
  };
  for (const Case& c : cases) {
    ProductSpec spec = good();
    c.change(spec);
    try {
      (void)testing::PlainScheme().plan(spec);
      ADD_FAILURE() << c.name << " was accepted";
    } catch (const InvalidArgument& error) {
      EXPECT_THAT(error.what(), HasSubstr(c.says)) << c.name;
      EXPECT_THAT(error.what(), HasSubstr(std::to_string(spec.rows) + " x ")) << c.name;
    }
  }
  EXPECT_NO_THROW((void)testing::PlainScheme().plan(good()));
}

TEST(ProductSpec, AcceptsABoundedProductUpToTheLastBit) {
  // 3 terms of 100 and right values up to 2^(b-1): 300 * 2^(b-1) stays below 2^127 up to b = 119, not beyond.
  ProductSpec spec = good();
  spec.right_bits = 119;
  EXPECT_NO_THROW(check_spec(spec));
  spec.right_bits = 120;
  EXPECT_THROW(check_spec(spec), InvalidArgument);
}

TEST(Plan, RefusesOperandsItWasNotMadeFor) {
  const auto plan = testing::PlainScheme().plan(good());
  const auto left = [](std::size_t rows, std::size_t cols, int scale, std::uint64_t bound) {
    return IntMatrix::dense(rows, cols, std::vector<std::int64_t>(rows * cols), scale, bound);
  };
  EXPECT_NO_THROW(check_left(*plan, left(4, 3, 8, 100)));
  EXPECT_THROW(check_left(*plan, left(3, 4, 8, 100)), InvalidArgument);
  EXPECT_THROW(check_left(*plan, left(4, 3, 7, 100)), InvalidArgument);
  EXPECT_THROW(check_left(*plan, left(4, 3, 8, 101)), InvalidArgument);
  EXPECT_NO_THROW(check_right(*plan, ShareMatrix(3, 2, 32)));
  EXPECT_THROW(check_right(*plan, ShareMatrix(2, 3, 32)), InvalidArgument);
  EXPECT_THROW(check_right(*plan, ShareMatrix(3, 2, 31)), InvalidArgument);
}

TEST(Plan, EnforcesTheBitsOfABoundedRightOperand) {
  ProductSpec spec = good();
  spec.right_bits = 16;
  const auto plan = testing::PlainScheme().plan(spec);
  for (const int value : {0, 1, -1, 32767, -32768}) {
    ShareMatrix m(3, 2, 32);
    m.values()[5] = static_cast<UInt128>(static_cast<Int128>(value));
    EXPECT_NO_THROW(check_right(*plan, m)) << value;
  }
  for (const int value : {32768, -32769}) {
    ShareMatrix m(3, 2, 32);
    m.values()[5] = static_cast<UInt128>(static_cast<Int128>(value));
    EXPECT_THROW(check_right(*plan, m), InvalidArgument) << value;
  }
}

}  // namespace
}  // namespace blindfl::he::plan_test

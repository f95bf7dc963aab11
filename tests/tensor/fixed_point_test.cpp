#include "blindfl/tensor/fixed_point.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/base/random.h"

namespace blindfl::fixed_point_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kSmallest = std::numeric_limits<double>::denorm_min();

TEST(FixedPoint, RoundsExactlyAndHalvesAwayFromZero) {
  struct Case {
    int scale;
    double largest;
    double x;
    std::int64_t expected;
  };
  const std::vector<Case> cases = {
      {0, 8, 0, 0},
      {0, 8, 0.25, 0},
      {0, 8, 0.5, 1},
      {0, 8, 0.75, 1},
      {0, 8, 1.5, 2},
      {0, 8, 2.5, 3},
      {0, 8, 2.4999999999999996, 2},
      // Adding a half before flooring would carry this one over.
      {0, 8, 0.49999999999999994, 0},
      // And these are odd integers so large that a half no longer fits.
      {0, 0x1p60, 0x1p52 + 1, (std::int64_t{1} << 52) + 1},
      {0, 0x1p60, 0x1p53 - 1, (std::int64_t{1} << 53) - 1},
      {16, 16, 1, 65536},
      {16, 16, 0x1p-16, 1},
      {16, 16, 0x1p-17, 1},
      {16, 16, 0x1.fffffffffffffp-18, 0},
      {16, 16, 0x1.8p-16, 2},
      {16, 16, 0.1, 6554},
      {20, 1, 1.0 / 3, 349525},
      {60, 4, 1, std::int64_t{1} << 60},
      {60, 4, 0x1p-60, 1},
      {60, 4, 1 + 0x1p-52, (std::int64_t{1} << 60) + (std::int64_t{1} << 8)},
      {60, 4, kSmallest, 0},
      {0, 4, kSmallest, 0},
      {60, 4, std::numeric_limits<double>::min(), 0},
  };
  for (const Case& c : cases) {
    const FixedPoint encoding({.scale = c.scale, .largest = c.largest});
    EXPECT_EQ(encoding.encode(c.x, 0, 0), c.expected) << c.x << " at scale " << c.scale;
    EXPECT_EQ(encoding.encode(-c.x, 0, 0), -c.expected) << -c.x << " at scale " << c.scale;
  }
}

TEST(FixedPoint, TakesValuesUpToTheBound) {
  struct Case {
    int scale;
    double largest;
    std::uint64_t bound;
  };
  const std::vector<Case> cases = {
      {16, 16, std::uint64_t{1} << 20},
      {0, 1, 1},
      {0, 1.75, 2},
      {1, 1.75, 4},
      {2, 1.75, 7},
      {60, 0x1p-60, 1},
      {60, 4, FixedPoint::kMaxBound},
      {0, 0x1p62, FixedPoint::kMaxBound},
      {3, 0.125, 1},
  };
  for (const Case& c : cases) {
    const FixedPoint encoding({.scale = c.scale, .largest = c.largest});
    EXPECT_EQ(encoding.scale(), c.scale);
    EXPECT_EQ(encoding.bound(), c.bound);
    const double edge = c.largest;
    const auto bound = static_cast<std::int64_t>(c.bound);
    EXPECT_EQ(encoding.encode(edge, 0, 0), bound);
    EXPECT_EQ(encoding.encode(-edge, 0, 0), -bound);
    const double beyond = std::nextafter(c.largest, HUGE_VAL);
    EXPECT_THROW((void)encoding.encode(beyond, 0, 0), DataError) << c.largest << " at scale " << c.scale;
    EXPECT_THROW((void)encoding.encode(-beyond, 0, 0), DataError) << c.largest << " at scale " << c.scale;
  }
}

TEST(FixedPoint, RefusesWhatRoundsBeyondTheBound) {
  const FixedPoint encoding({.scale = 16, .largest = 16});
  EXPECT_THROW((void)encoding.encode(16 + 0x1p-17, 0, 0), DataError);
  EXPECT_EQ(encoding.encode(16 - 0x1p-17, 0, 0), 1 << 20);
}

TEST(FixedPoint, NamesThePlaceOfABadValueAndNotTheValue) {
  // Each value has a 7 in every way of writing it; the places and the range have none.
  for (const double x : {777.0, -777.0, 7e77, -7e77, 1.7e308}) {
    const FixedPoint encoding({.scale = 10, .largest = 32});
    EXPECT_THAT([&] { (void)encoding.encode(x, 12, 345); },
                ThrowsMessage<DataError>(AllOf(HasSubstr("row 12, column 345"), HasSubstr("32"), Not(HasSubstr("7")))));
  }
  for (const bool clip : {false, true}) {
    const FixedPoint encoding({.scale = 10, .largest = 32, .clip = clip});
    for (const double x : {kNan, -kNan, kInfinity, -kInfinity}) {
      EXPECT_THAT([&] { (void)encoding.encode(x, 12, 345); },
                  ThrowsMessage<DataError>(AllOf(HasSubstr("row 12, column 345"), HasSubstr("not a finite number"),
                                                 Not(HasSubstr("nan")), Not(HasSubstr("inf,")))));
    }
  }
}

TEST(FixedPoint, ClipsToTheNearestAllowedValueIfAsked) {
  const FixedPoint encoding({.scale = 4, .largest = 2.5, .clip = true});
  for (const double x : {2.5, 2.5625, 3.0, 1e300, std::numeric_limits<double>::max()}) {
    EXPECT_EQ(encoding.encode(x, 0, 0), 40) << x;
    EXPECT_EQ(encoding.encode(-x, 0, 0), -40) << -x;
  }
  EXPECT_EQ(encoding.encode(2.4375, 0, 0), 39);
  EXPECT_EQ(encoding.encode(-2.4375, 0, 0), -39);
}

TEST(FixedPoint, RefusesSpecsThatCannotWork) {
  const std::vector<FixedPointSpec> specs = {
      {.scale = -1},
      {.scale = 61, .largest = 0.5},
      {.scale = std::numeric_limits<int>::min()},
      {.scale = std::numeric_limits<int>::max()},
      {.largest = 0},
      {.largest = -0.0},
      {.largest = -1},
      {.largest = kNan},
      {.largest = kInfinity},
      {.scale = 0, .largest = std::nextafter(0x1p62, kInfinity)},
      {.scale = 1, .largest = 0x1p62},
      {.scale = 60, .largest = std::nextafter(4.0, 5.0)},
      {.scale = 60, .largest = std::numeric_limits<double>::max()},
      // Nothing but zero would fit.
      {.scale = 0, .largest = 0.25},
      {.scale = 16, .largest = 0x1p-18},
      {.scale = 60, .largest = kSmallest},
  };
  for (const FixedPointSpec& spec : specs) {
    EXPECT_THROW(FixedPoint{spec}, InvalidArgument) << spec.largest << " at scale " << spec.scale;
  }
  EXPECT_NO_THROW(FixedPoint{FixedPointSpec{}});
}

TEST(FixedPoint, DecodesToWithinHalfAUnit) {
  SeededRandom random(1);
  for (const int scale : {0, 1, 8, 16, 24, 31, 40}) {
    const FixedPoint encoding({.scale = scale, .largest = 1000});
    const double half_unit = std::ldexp(1.0, -scale - 1);
    for (int i = 0; i < 1000; ++i) {
      const double x = (2 * random.uniform() - 1) * 999;
      ASSERT_LE(std::abs(encoding.decode(encoding.encode(x, 0, 0)) - x), half_unit) << x << " at scale " << scale;
    }
  }
}

TEST(FixedPoint, DecodesExactly) {
  const FixedPoint encoding({.scale = 60, .largest = 4});
  EXPECT_EQ(encoding.decode(1), 0x1p-60);
  EXPECT_EQ(encoding.decode(-(std::int64_t{3} << 60)), -3);
  EXPECT_EQ(encoding.decode(static_cast<std::int64_t>(FixedPoint::kMaxBound)), 4);
  EXPECT_EQ(encoding.decode(0), 0);
}

}  // namespace
}  // namespace blindfl::fixed_point_test

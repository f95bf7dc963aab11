#include "blindfl/base/number_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace blindfl::number_text_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(NumberText, WritesDecimals) {
  EXPECT_EQ(decimal_text(0.90312), "0.9031");
  EXPECT_EQ(decimal_text(0.66), "0.66");
  EXPECT_EQ(decimal_text(0), "0");
  EXPECT_EQ(decimal_text(-12.5), "-12.5");
  EXPECT_EQ(decimal_text(12000, 6), "12000");
  EXPECT_EQ(decimal_text(std::nan("")), "-");
  EXPECT_EQ(decimal_text(kInfinity), "-");
  EXPECT_EQ(fixed_text(12.345, 1), "12.3");
  EXPECT_EQ(fixed_text(1, 2), "1.00");
  EXPECT_EQ(fixed_text(1e308, 1).size(), 311U) << "the longest there is";
  EXPECT_EQ(fixed_text(-kInfinity, 1), "-");
}

TEST(NumberText, WritesTheShortestThatReadsBack) {
  EXPECT_EQ(exact_text(0.1), "0.1");
  EXPECT_EQ(exact_text(0.1F), "0.1");
  EXPECT_EQ(exact_text(1.0), "1");
  EXPECT_EQ(exact_text(1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(exact_text(-std::numeric_limits<double>::denorm_min()), "-5e-324");
  EXPECT_EQ(exact_text(-std::numeric_limits<double>::max()), "-1.7976931348623157e+308") << "the longest there is";
}

TEST(NumberText, WritesAmountsInTheirUnits) {
  EXPECT_EQ(amount_text(1.5e6, Unit::kBytes), "1.5 MB");
  EXPECT_EQ(amount_text(0.35, Unit::kSeconds), "350 ms");
  EXPECT_EQ(amount_text(0.91243, Unit::kNumber), "0.9124");
  EXPECT_EQ(amount_text(1234.5, Unit::kNumber), "1234.5");
  EXPECT_EQ(amount_text(12345, Unit::kNumber), "12,345");
  EXPECT_EQ(amount_text(-12345, Unit::kNumber), "-12345");
}

TEST(NumberText, WritesCounts) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1000), "1,000");
  EXPECT_EQ(count_text(1234567), "1,234,567");
  EXPECT_EQ(count_text(std::numeric_limits<std::uint64_t>::max()), "18,446,744,073,709,551,615");
}

TEST(NumberText, WritesBytes) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(0.04), "< 1 B");
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(1000), "1 kB");
  EXPECT_EQ(bytes_text(20'345'678), "20.3 MB");
  EXPECT_EQ(bytes_text(999'950), "1 MB") << "not 1e+03 kB";
  EXPECT_EQ(bytes_text(6.65e9), "6.65 GB") << "not 6.65e+03 MB";
  EXPECT_EQ(bytes_text(5e12), "5 TB");
  EXPECT_EQ(bytes_text(1.234e19), "12340 PB") << "no exponent, however many";
  EXPECT_EQ(bytes_text(kInfinity), "- PB");
  EXPECT_EQ(memory_text(1), "0.1 GiB");
  EXPECT_EQ(memory_text(std::uint64_t{16} << 30), "16 GiB");
  EXPECT_EQ(link_text(1e9), "1 Gbit/s");
  EXPECT_EQ(link_text(12.5e6), "12.5 Mbit/s");
}

TEST(NumberText, PutsNounsIntoThePlural) {
  EXPECT_EQ(counted(0, "row"), "0 rows");
  EXPECT_EQ(counted(1, "row"), "1 row");
  EXPECT_EQ(counted(12000, "row"), "12,000 rows");
  EXPECT_EQ(counted(1, "category", "categories"), "1 category");
  EXPECT_EQ(counted(2, "category", "categories"), "2 categories");
  EXPECT_EQ(plainly_counted(12000, "row"), "12000 rows");
  EXPECT_EQ(plainly_counted(1, "row"), "1 row");
}

TEST(NumberText, ListsNumbersWithRanges) {
  EXPECT_EQ(ranges_text({3}), "3");
  EXPECT_EQ(ranges_text({0, 2, 3}), "0, 2 and 3") << "two in a row are no range";
  EXPECT_EQ(ranges_text({0, 1, 2, 3, 20}), "0 to 3 and 20");
}

TEST(NumberText, WritesSeconds) {
  EXPECT_EQ(seconds_text(0), "0 ms");
  EXPECT_EQ(seconds_text(5e-7), "< 0.001 ms");
  EXPECT_EQ(seconds_text(5e-5), "0.05 ms") << "not 5e-05 s";
  EXPECT_EQ(seconds_text(0.35), "350 ms");
  EXPECT_EQ(seconds_text(0.9996), "1 s");
  EXPECT_EQ(seconds_text(12.34), "12.3 s");
  EXPECT_EQ(seconds_text(59.97), "1 min 00 s");
  EXPECT_EQ(seconds_text(245), "4 min 05 s");
  EXPECT_EQ(seconds_text(3599.7), "1 h 00 min");
  EXPECT_EQ(seconds_text(7400), "2 h 03 min");
  for (const double bad : {-1.0, kInfinity, std::nan(""), 1e300}) EXPECT_EQ(seconds_text(bad), "-");
}

}  // namespace
}  // namespace blindfl::number_text_test

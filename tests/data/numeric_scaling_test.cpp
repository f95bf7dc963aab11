#include "blindfl/data/numeric_scaling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"
#include "real_frames.h"
#include "testing/frames.h"
#include "testing/ranking.h"
#include "testing/thrown.h"

namespace blindfl::data::numeric_scaling_test {
namespace {

using blindfl::testing::deviation;
using blindfl::testing::fit_scaling;
using blindfl::testing::mean;
using blindfl::testing::message_of;
using blindfl::testing::scaled_table;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<double> column_of(const Table& table, std::size_t column) {
  std::vector<double> values;
  for (std::size_t r = 0; r < table.rows(); ++r) {
    table.for_each_in_row(r, [&](std::size_t c, double value) {
      if (c == column) values.push_back(value);
    });
  }
  return values;
}

/// One column, fitted to some values and applied to others.
std::vector<double> scaled(const std::vector<double>& train, const std::vector<double>& values,
                           const ScalingOptions& options) {
  const std::vector<NumericColumn> columns = {{.name = "x", .values = train}};
  const std::vector<NumericColumn> others = {{.name = "x", .values = values}};
  return column_of(scaled_table(fit_scaling(columns, options), others, values.size()), 0);
}

Bytes saved(const NumericScaling& scaling) {
  return write_to_bytes([&](ByteSink& out) { scaling.save(out); });
}

NumericScaling loaded(ByteView bytes) {
  BufferSource in(bytes);
  return NumericScaling::load(in);
}

TEST(NumericScaling, StandardisesByTheTrainingRows) {
  const std::vector<double> y = scaled({1, 3, 5, 7}, {1, 3, 5, 7}, {});
  EXPECT_NEAR(mean(y), 0, 1e-12);
  EXPECT_NEAR(deviation(y), 1, 1e-12);
  // Other rows by the same mean and deviation: 4 and the root of 5.
  EXPECT_NEAR(scaled({1, 3, 5, 7}, {9}, {}).front(), std::sqrt(5.0), 1e-12);
}

TEST(NumericScaling, MakesConstantColumnsZero) {
  EXPECT_EQ(scaled({0.1, 0.1, 0.1}, {0.1, 7, kNan}, {}), (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(scaled({5e-324, 0}, {5e-324, 0}, {}), (std::vector<double>{0, 0}));
}

TEST(NumericScaling, TakesSignedLogarithms) {
  const ScalingOptions options{.log = true, .standardise = false, .clip = kInfinity};
  const std::vector<double> y = scaled({0, 1}, {0, std::exp(2.0) - 1, 1 - std::exp(2.0), 1e-300}, options);
  EXPECT_EQ(y[0], 0);
  EXPECT_NEAR(y[1], 2, 1e-12);
  EXPECT_NEAR(y[2], -2, 1e-12);
  EXPECT_EQ(y[3], 1e-300);
}

TEST(NumericScaling, ClipsWhatIsTooFarAway) {
  const ScalingOptions options{.clip = 2};
  EXPECT_EQ(scaled({-1, 1}, {-1.5, 3, -1e300, 1e308}, options), (std::vector<double>{-1.5, 2, -2, 2}));
  // Mean 10, deviation 1, not standardised.
  EXPECT_EQ(scaled({9, 11}, {11.5, 100, -100}, {.standardise = false, .clip = 2}), (std::vector<double>{11.5, 12, 8}));
  EXPECT_EQ(scaled({-1, 1}, {1e6}, {.clip = kInfinity}), std::vector<double>{1e6});
}

TEST(NumericScaling, BoundsWhatItMakes) {
  const std::vector<NumericColumn> columns = {{.name = "x", .values = {9, 11}}, {.name = "y", .values = {0, 0}}};
  EXPECT_EQ(fit_scaling(columns).largest(), 8);
  EXPECT_EQ(fit_scaling(columns, ScalingOptions{.standardise = false, .clip = 2}).largest(), 12);
  EXPECT_EQ(fit_scaling(columns, ScalingOptions{.clip = kInfinity}).largest(), kInfinity);
}

TEST(NumericScaling, FillsWhatIsMissing) {
  EXPECT_EQ(scaled({-1, 1, kNan}, {kNan, 1}, {.missing = Missing::kMean}), (std::vector<double>{0, 1}));
  const ScalingOptions plain{.missing = Missing::kConstant, .standardise = false, .clip = kInfinity};
  EXPECT_EQ(scaled({4, kNan}, {kNan, 4}, plain), (std::vector<double>{0, 4}));
  // The constant takes part in the fit: 3, 7 and 5 twice.
  const ScalingOptions five{.missing = Missing::kConstant, .constant = 5};
  EXPECT_NEAR(scaled({3, 7, kNan, kNan}, {7}, five).front(), std::sqrt(2.0), 1e-12);
  ScalingOptions log = plain;
  log.constant = std::exp(1.0) - 1;
  log.log = true;
  EXPECT_NEAR(scaled({4, 5}, {kNan}, log).front(), 1, 1e-12);
}

TEST(NumericScaling, NamesTheRowOfAMissingNumber) {
  const ScalingOptions options{.missing = Missing::kError};
  const std::string fit = message_of<DataError>([&] { (void)scaled({1, kNan}, {1}, options); });
  EXPECT_EQ(fit, "column 'x': row 1 has no number, and missing ones are not allowed here");
  const std::string apply = message_of<DataError>([&] { (void)scaled({1, 2}, {1, 1, kNan}, options); });
  EXPECT_EQ(apply, "column 'x': row 2 has no number, and missing ones are not allowed here");
}

TEST(NumericScaling, RefusesWhatCannotBeFitted) {
  EXPECT_THROW((void)scaled({kNan, kNan}, {}, {}), DataError);
  EXPECT_THROW((void)scaled({}, {}, {}), DataError);
  EXPECT_THROW((void)scaled({1e308, -1e308}, {}, {}), DataError);
  EXPECT_NO_THROW((void)scaled({1e308, -1e308}, {0}, {.log = true}));
  EXPECT_THROW((void)scaled({-1e307, 1e-7}, {1e308}, {.clip = kInfinity}), DataError);
}

TEST(NumericScaling, RefusesOptionsThatMakeNoSense) {
  EXPECT_THROW((void)scaled({1, 2}, {1}, {.clip = 0}), InvalidArgument);
  EXPECT_THROW((void)scaled({1, 2}, {1}, {.clip = kNan}), InvalidArgument);
  EXPECT_THROW((void)scaled({1, 2}, {1}, {.missing = Missing::kConstant, .constant = kInfinity}), InvalidArgument);
  const std::vector<NumericColumn> columns(3, {.name = "x", .values = {1, 2}});
  const std::vector<ScalingOptions> two(2);
  EXPECT_THROW((void)fit_scaling(columns, two), InvalidArgument);
}

TEST(NumericScaling, ScalesEachColumnByItsOwnOptions) {
  const std::vector<NumericColumn> columns = {{.name = "x", .values = {-1, 1}}, {.name = "y", .values = {0, 4}}};
  const std::vector<ScalingOptions> options = {{}, {.standardise = false}};
  const NumericScaling scaling = fit_scaling(columns, options);
  EXPECT_EQ(scaling.apply(1, 0, 0), 1);
  EXPECT_EQ(scaling.apply(3, 1, 0), 3);
}

TEST(NumericScaling, ComesBackFromWhatWasSaved) {
  const std::vector<NumericColumn> columns = {{.name = "x", .values = {-1, 1, 5, kNan}},
                                              {.name = "", .values = {0, 4, 4, 4}}};
  const std::vector<ScalingOptions> options = {{.log = true}, {.missing = Missing::kError, .clip = kInfinity}};
  const NumericScaling scaling = fit_scaling(columns, options);
  const Bytes bytes = saved(scaling);
  const NumericScaling back = loaded(bytes);
  EXPECT_EQ(saved(back), bytes);
  EXPECT_EQ(back.cols(), 2U);
  EXPECT_EQ(scaled_table(back, columns, 4).to_dense(), scaled_table(scaling, columns, 4).to_dense());
  EXPECT_THROW((void)back.apply(kNan, 1, 0), DataError);
  EXPECT_EQ(loaded(saved(fit_scaling({}))).cols(), 0U);
}

TEST(NumericScaling, RefusesEveryCutOfWhatWasSaved) {
  const std::vector<NumericColumn> columns = {{.name = "xyz", .values = {-1, 1}}};
  const Bytes whole = saved(fit_scaling(columns));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW((void)loaded(ByteView(whole).first(size)), DataError) << "cut at " << size;
  }
}

TEST(NumericScaling, RefusesSavedStateThatCannotBe) {
  const std::vector<NumericColumn> columns = {{.name = "x", .values = {-1, 1}}};
  const Bytes whole = saved(fit_scaling(columns));
  // Mark, version, count, length, name, log, then what is missing, centre, factor, low, high.
  constexpr std::size_t kReals = 22;
  const auto with_real = [&](std::size_t which, double x) {
    const Bytes real = write_to_bytes([&](ByteSink& out) { out.write_u64(std::bit_cast<std::uint64_t>(x)); });
    Bytes bytes = whole;
    std::ranges::copy(real, bytes.begin() + static_cast<std::ptrdiff_t>(kReals + 8 * which));
    return bytes;
  };
  const auto with_byte = [&](std::size_t at, int value) {
    Bytes bytes = whole;
    bytes.at(at) = static_cast<std::byte>(value);
    return bytes;
  };
  ASSERT_EQ(whole.size(), kReals + 40);
  const std::vector<std::pair<std::string, Bytes>> cases = {
      {"another mark", with_byte(0, 0)},
      {"another version", with_byte(4, 2)},
      {"too many columns", with_byte(15, 255)},
      {"a long name", with_byte(19, 255)},
      {"a name beyond the end", with_byte(16, 60)},
      {"neither logarithm nor none", with_byte(21, 2)},
      {"what is missing is infinite", with_real(0, kInfinity)},
      {"a centre that is no number", with_real(1, kNan)},
      {"a negative factor", with_real(2, -1)},
      {"an infinite factor", with_real(2, kInfinity)},
      {"low above high", with_real(3, 9)},
      {"high that is no number", with_real(4, kNan)},
  };
  for (const auto& [what, bytes] : cases) EXPECT_THROW((void)loaded(bytes), DataError) << what;
  EXPECT_NO_THROW((void)loaded(with_real(0, kNan)));
}

TEST(NumericScaling, ScalesAdult) {
  BLINDFL_NEEDS_DATA("adult.data.xz");
  const Frame train = read_frame(blindfl::testing::real_data("adult.data.xz"), testing::adult_spec());
  const Table table = scaled_table(fit_scaling(train.numeric), train.numeric, train.rows);
  ASSERT_EQ(table.cols(), 6U);
  // Age and hours: few beyond 8 deviations, so that clipping changes little.
  for (const std::size_t column : {0U, 5U}) {
    EXPECT_NEAR(mean(column_of(table, column)), 0, 0.01);
    EXPECT_NEAR(deviation(column_of(table, column)), 1, 0.01);
  }
}

TEST(NumericScaling, ScalesCriteosTestRowsByItsTrainingRows) {
  BLINDFL_NEEDS_DATA("criteo-mini.va.libsvm.xz");
  const auto train =
      blindfl::testing::read_libsvm_fields(blindfl::testing::real_data("criteo-mini.tr.libsvm.xz"), 13, 26);
  const auto test =
      blindfl::testing::read_libsvm_fields(blindfl::testing::real_data("criteo-mini.va.libsvm.xz"), 13, 26);
  const NumericScaling scaling = fit_scaling(train.numeric, ScalingOptions{.log = true});
  const Table table = scaled_table(scaling, test.numeric, test.rows);
  EXPECT_EQ(table.rows(), 10'000U);
  EXPECT_EQ(scaling.largest(), 8);
  for (std::size_t c = 0; c < 13; ++c) EXPECT_NEAR(mean(column_of(table, c)), 0, 0.2);
}

TEST(ScalingFit, SeesRowsInPieces) {
  const std::vector<NumericColumn> whole = {{.name = "x", .values = {1, kNan, 5, 9, -3}},
                                            {.name = "y", .values = {0, 1, 1e6, 7, 7}}};
  const std::vector<ScalingOptions> options = {{}, {.log = true, .clip = 3}};
  ScalingFit seen({"x", "y"}, options);
  seen.add(std::vector<NumericColumn>{{.name = "x", .values = {1, kNan}}, {.name = "y", .values = {0, 1}}});
  seen.add(std::vector<NumericColumn>{{.name = "x", .values = {5, 9, -3}}, {.name = "y", .values = {1e6, 7, 7}}});
  EXPECT_EQ(saved(NumericScaling::fit(seen)), saved(fit_scaling(whole, options))) << "bit for bit";
}

TEST(ScalingFit, RefusesOtherColumnsAndCountsRowsThroughPieces) {
  const std::vector<ScalingOptions> options = {{.missing = Missing::kError}};
  ScalingFit seen({"x"}, options);
  EXPECT_THROW(seen.add(std::vector<NumericColumn>{{.name = "y", .values = {1}}}), InvalidArgument);
  EXPECT_THROW(seen.add({}), InvalidArgument);
  seen.add(std::vector<NumericColumn>{{.name = "x", .values = {1, 2}}});
  const std::string message = message_of<DataError>([&] {
    seen.add(std::vector<NumericColumn>{{.name = "x", .values = {1, kNan}}});
  });
  EXPECT_EQ(message, "column 'x': row 3 has no number, and missing ones are not allowed here");
}

TEST(NumericScaling, LeavesAloneWhatIsNeitherStandardisedNorClipped) {
  EXPECT_EQ(scaled({5, 5}, {5, 7}, {.standardise = false, .clip = kInfinity}), (std::vector<double>{5, 7}));
}

}  // namespace
}  // namespace blindfl::data::numeric_scaling_test

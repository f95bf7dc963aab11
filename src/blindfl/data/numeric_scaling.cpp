#include "blindfl/data/numeric_scaling.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/base/saved_state.h"

namespace blindfl::data {

namespace {

constexpr std::uint32_t kMark = 0x534E4642;  // "BFNS"
constexpr std::uint32_t kStateVersion = 1;
constexpr std::size_t kMaxNameBytes = std::size_t{1} << 16;

double signed_log(double x) {
  return std::copysign(std::log1p(std::abs(x)), x);
}

/// What a missing number becomes before it is transformed, unless it is the mean or an error.
std::optional<double> filling(const ScalingOptions& options) {
  if (options.missing == Missing::kZero) return 0;
  return options.missing == Missing::kConstant ? std::optional(options.constant) : std::nullopt;
}

void check(const ScalingOptions& options) {
  require<InvalidArgument>(std::isfinite(options.constant), "scaling: what replaces a missing number is finite");
  require<InvalidArgument>(options.clip > 0,
                           "scaling: columns are clipped to a positive number of standard deviations");
}

}  // namespace

void ScalingFit::Moments::add(double x) {
  ++count_;
  const double before = x - mean_;
  mean_ += before / static_cast<double>(count_);
  squares_ += before * (x - mean_);
}

double ScalingFit::Moments::deviation() const {
  const double deviation = empty() ? 0 : std::sqrt(squares_ / static_cast<double>(count_));
  return deviation < std::numeric_limits<double>::min() ? 0 : deviation;
}

ScalingFit::ScalingFit(std::vector<std::string> names, std::span<const ScalingOptions> options) {
  require<InvalidArgument>(options.size() == 1 || options.size() == names.size(), "scaling: ", options.size(),
                           " options for ", names.size(), " columns");
  std::ranges::for_each(options, check);
  columns_.reserve(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    require<DataError>(names[i].size() <= kMaxNameBytes, "a numeric column has a name of more than ", kMaxNameBytes,
                       " bytes; this is not a header");
    columns_.push_back({.name = std::move(names[i]), .options = options[options.size() == 1 ? 0 : i]});
  }
}

void ScalingFit::add(std::span<const NumericColumn> columns) {
  require<InvalidArgument>(std::ranges::equal(columns, columns_, {}, &NumericColumn::name, &Column::name),
                           "scaling: these are not the columns that are being fitted to");
  for (std::size_t i = 0; i < columns.size(); ++i) columns_[i].add(columns[i], rows_);
  if (!columns.empty()) rows_ += columns.front().values.size();
}

void ScalingFit::Column::add(const NumericColumn& piece, std::size_t rows_before) {
  for (std::size_t r = 0; r < piece.values.size(); ++r) {
    const double x = piece.values[r];
    if (!std::isnan(x)) {
      moments.add(transformed(x));
    } else if (const std::optional<double> instead = filling(options)) {
      moments.add(transformed(*instead));
    } else {
      require<DataError>(options.missing == Missing::kMean, "column '", name, "': row ", rows_before + r,
                         " has no number, and missing ones are not allowed here");
    }
  }
}

double ScalingFit::Column::transformed(double x) const {
  return options.log ? signed_log(x) : x;
}

NumericScaling::Column NumericScaling::fit_column(const ScalingFit& seen, std::size_t index) {
  const auto& [name, options, moments] = seen.columns_[index];
  require<DataError>(!moments.empty(), "column '", name, "': has no number to learn from; leave it out");
  const double mean = moments.mean();
  const double deviation = moments.deviation();
  require<DataError>(std::isfinite(mean) && std::isfinite(deviation), "column '", name,
                     "': the numbers are too large to be added up; take their logarithm");

  Column to{.name = name, .log = options.log};
  if (options.missing == Missing::kMean) to.missing = mean;
  if (const auto instead = filling(options)) to.missing = seen.columns_[index].transformed(*instead);
  // Where all rows are the same there is nothing that a model could learn from, however far other rows are from these.
  const double width = deviation == 0 ? 0 : options.clip * (options.standardise ? 1 : deviation);
  const double reach = std::isinf(options.clip) ? options.clip : width;
  if (options.standardise) {
    to.centre = mean;
    to.factor = deviation == 0 ? 0 : 1 / deviation;
  }
  to.low = (options.standardise ? 0 : mean) - reach;
  to.high = (options.standardise ? 0 : mean) + reach;
  return to;
}

NumericScaling NumericScaling::fit(const ScalingFit& seen) {
  NumericScaling scaling;
  scaling.columns_.reserve(seen.columns_.size());
  for (std::size_t i = 0; i < seen.columns_.size(); ++i) {
    scaling.columns_.push_back(fit_column(seen, i));
    if (seen.columns_[i].moments.deviation() == 0) scaling.constant_.push_back(seen.columns_[i].name);
  }
  return scaling;
}

double NumericScaling::Column::apply(double x, std::size_t row) const {
  require<DataError>(!std::isnan(x) || !std::isnan(missing), "column '", name, "': row ", row,
                     " has no number, and missing ones are not allowed here");
  const double y = std::isnan(x) ? missing : log ? signed_log(x) : x;
  const double scaled = std::clamp((y - centre) * factor, low, high);
  require<DataError>(std::isfinite(scaled), "column '", name, "': the number of row ", row, " is too large");
  return scaled;
}

double NumericScaling::largest() const {
  double largest = 0;
  for (const Column& column : columns_) largest = std::max({largest, std::abs(column.low), std::abs(column.high)});
  return largest;
}

void NumericScaling::save(ByteSink& out) const {
  out.write_u32(kMark);
  out.write_u32(kStateVersion);
  out.write_u64(columns_.size());
  for (const Column& column : columns_) {
    out.write_text(column.name);
    out.write_u8(column.log ? 1 : 0);
    for (const double x : {column.missing, column.centre, column.factor, column.low, column.high}) out.write_real(x);
  }
}

NumericScaling NumericScaling::load(ByteSource& in) {
  NumericScaling scaling;
  reading_state([&] {
    require<DataError>(in.read_u32() == kMark && in.read_u32() == kStateVersion,
                       "the saved state is not a scaling of columns, or of another version");
    const std::uint64_t count = in.read_u64();
    // Columns are read one by one, and each takes some of what is left: no count makes this allocate.
    for (std::uint64_t i = 0; i < count; ++i) scaling.columns_.push_back(load_column(in));
  });
  return scaling;
}

NumericScaling::Column NumericScaling::load_column(ByteSource& in) {
  Column column;
  column.name = in.read_text(kMaxNameBytes);
  column.log = in.read_flag();
  for (double* x : {&column.missing, &column.centre, &column.factor, &column.low, &column.high}) *x = in.read_real();
  require<DataError>(!std::isinf(column.missing) && std::isfinite(column.centre) && std::isfinite(column.factor) &&
                         column.factor >= 0 && column.low <= column.high,
                     "the saved scaling has numbers that cannot be");
  return column;
}

}  // namespace blindfl::data

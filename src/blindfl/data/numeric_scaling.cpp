#include "blindfl/data/numeric_scaling.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
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

/// Mean and deviation of numbers that come one by one. Exact for numbers that are all the same.
class Moments {
 public:
  void add(double x) {
    ++count_;
    const double before = x - mean_;
    mean_ += before / static_cast<double>(count_);
    squares_ += before * (x - mean_);
  }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] double mean() const { return mean_; }
  /// 0 rather than something whose inverse is infinite.
  [[nodiscard]] double deviation() const {
    const double deviation = empty() ? 0 : std::sqrt(squares_ / static_cast<double>(count_));
    return deviation < std::numeric_limits<double>::min() ? 0 : deviation;
  }

 private:
  std::size_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;
};

void check(const ScalingOptions& options) {
  require<InvalidArgument>(std::isfinite(options.constant), "scaling: what stands in for a missing number is finite");
  require<InvalidArgument>(options.clip > 0, "scaling: columns are clipped to a positive number of deviations");
}

void write_real(ByteSink& out, double x) {
  out.write_u64(std::bit_cast<std::uint64_t>(x));
}

double read_real(ByteSource& in) {
  return std::bit_cast<double>(in.read_u64());
}

}  // namespace

NumericScaling NumericScaling::fit(std::span<const NumericColumn> columns, std::span<const ScalingOptions> options) {
  require<InvalidArgument>(options.size() == 1 || options.size() == columns.size(), "scaling: ", options.size(),
                           " options for ", columns.size(), " columns");
  std::ranges::for_each(options, check);
  NumericScaling scaling;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    scaling.columns_.push_back(fit_column(columns[i], options[options.size() == 1 ? 0 : i]));
  }
  return scaling;
}

NumericScaling::Column NumericScaling::fit_column(const NumericColumn& column, const ScalingOptions& options) {
  require<DataError>(column.name.size() <= kMaxNameBytes, "a numeric column has a name of more than ", kMaxNameBytes,
                     " bytes; this is not a header");
  const auto transformed = [&](double x) { return options.log ? signed_log(x) : x; };
  Moments moments;
  for (std::size_t r = 0; r < column.values.size(); ++r) {
    const double x = column.values[r];
    if (!std::isnan(x)) {
      moments.add(transformed(x));
    } else if (options.missing == Missing::kConstant) {
      moments.add(transformed(options.constant));
    } else {
      require<DataError>(options.missing == Missing::kMean, "column '", column.name, "': row ", r,
                         " has no number, and missing ones are not allowed here");
    }
  }
  require<DataError>(!moments.empty(), "column '", column.name, "': has no number to learn from; leave it out");
  const double mean = moments.mean();
  const double deviation = moments.deviation();
  require<DataError>(std::isfinite(mean) && std::isfinite(deviation), "column '", column.name,
                     "': the numbers are too large to be added up; take their logarithm");

  Column to{.name = column.name, .log = options.log};
  if (options.missing == Missing::kMean) to.missing = mean;
  if (options.missing == Missing::kConstant) to.missing = transformed(options.constant);
  // Without any deviation there is nothing that a model could learn from, however far other rows are from these.
  const double reach = deviation == 0 ? 0 : options.clip * (options.standardise ? 1 : deviation);
  if (options.standardise) {
    to.centre = mean;
    to.factor = deviation == 0 ? 0 : 1 / deviation;
  }
  to.low = (options.standardise ? 0 : mean) - reach;
  to.high = (options.standardise ? 0 : mean) + reach;
  return to;
}

double NumericScaling::Column::apply(double x, std::size_t row) const {
  require<DataError>(!std::isnan(x) || !std::isnan(missing), "column '", name, "': row ", row,
                     " has no number, and missing ones are not allowed here");
  const double y = std::isnan(x) ? missing : log ? signed_log(x) : x;
  const double scaled = std::clamp((y - centre) * factor, low, high);
  require<DataError>(std::isfinite(scaled), "column '", name, "': the number of row ", row, " is too large");
  return scaled;
}

Table NumericScaling::apply(const Frame& frame) const {
  std::vector<double> values(frame.rows * columns_.size());
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const auto from = std::ranges::find(frame.numeric, columns_[c].name, &NumericColumn::name);
    require<DataError>(from != frame.numeric.end(), "the data has no numeric column '", columns_[c].name,
                       "', which the model was trained with");
    for (std::size_t r = 0; r < frame.rows; ++r) {
      values[r * columns_.size() + c] = columns_[c].apply(from->values.at(r), r);
    }
  }
  return Table::dense(frame.rows, columns_.size(), std::move(values), frame.labels);
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
    out.write_u32(static_cast<std::uint32_t>(column.name.size()));
    out.write(as_bytes(column.name));
    out.write_u8(column.log ? 1 : 0);
    for (const double x : {column.missing, column.centre, column.factor, column.low, column.high}) write_real(out, x);
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
  const std::uint32_t length = in.read_u32();
  require<DataError>(length <= kMaxNameBytes && length <= in.remaining(),
                     "the saved scaling has a name that is too long");
  column.name.resize(length);
  in.read(std::as_writable_bytes(std::span(column.name)));
  const std::uint8_t log = in.read_u8();
  column.log = log == 1;
  for (double* x : {&column.missing, &column.centre, &column.factor, &column.low, &column.high}) *x = read_real(in);
  require<DataError>(log <= 1 && !std::isinf(column.missing) && std::isfinite(column.centre) &&
                         std::isfinite(column.factor) && column.factor >= 0 && column.low <= column.high,
                     "the saved scaling has numbers that cannot be");
  return column;
}

}  // namespace blindfl::data

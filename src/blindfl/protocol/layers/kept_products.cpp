#include "blindfl/protocol/layers/kept_products.h"

#include <algorithm>
#include <limits>

#include "blindfl/base/bytes.h"
#include "blindfl/base/error.h"

namespace blindfl::protocol {

namespace {

/// Rows of a product that are tried beside those of a batch: few replies are not full then, and none is so large that a
/// party waits long for it.
constexpr std::size_t kTriedRows[] = {1024, 2048, 4096};

/// Features of a chunk that are not 0: 32 MiB, if they are dense.
constexpr std::size_t kMostValues = std::size_t{1} << 22;

double seconds_of(const MatMulParams& params, const he::Plan& plan, std::size_t count) {
  constexpr double kByte = 8e-9;
  const double nonzeros = static_cast<double>(plan.spec().rows) * static_cast<double>(params.most_nonzeros(Party::kB));
  const he::ProductTimes times = plan.times(nonzeros);
  return times.encrypt + times.load + static_cast<double>(plan.operand_bytes()) * kByte +
         static_cast<double>(count) * (times.multiply + times.open + static_cast<double>(plan.reply_bytes()) * kByte);
}

/// Of the features of a row that are not 0.
std::uint64_t mark_of(const IntMatrix& x, std::size_t row) {
  std::uint64_t mark = 0;
  const auto mix = [&](std::uint64_t value) {  // as splitmix64 does
    mark += value + 0x9E3779B97F4A7C15;
    mark = (mark ^ (mark >> 30)) * 0xBF58476D1CE4E5B9;
    mark = (mark ^ (mark >> 27)) * 0x94D049BB133111EB;
    mark ^= mark >> 31;
  };
  x.for_each_in_row(row, [&](std::size_t col, std::int64_t value) {
    if (value == 0) return;
    mix(col);
    mix(static_cast<std::uint64_t>(value));
  });
  return mark;
}

}  // namespace

he::ProductSpec product_of_rows(const MatMulParams& params, std::size_t rows) {
  he::ProductSpec spec = params.forward(Party::kB, params.spec().batch);
  spec.rows = rows;
  return spec;
}

RowChunks chunks_of(const MatMulParams& params, const he::Scheme& scheme, std::size_t rows) {
  require<InvalidArgument>(rows > 0 && rows <= std::numeric_limits<std::uint32_t>::max(), "layer '", params.spec().name,
                           "' cannot keep products of ", rows, " rows");
  // As large as a batch, what is encrypted for it serves validation and scoring too.
  RowChunks best{.rows = rows, .chunk = params.spec().batch};
  double least = seconds_of(params, *scheme.plan(product_of_rows(params, best.chunk)), best.count());
  for (const std::size_t most : kTriedRows) {
    if (most <= params.spec().batch || most > kMostValues / params.most_nonzeros(Party::kB)) continue;
    const std::size_t count = (rows + most - 1) / most;
    const RowChunks tried{.rows = rows, .chunk = (rows + count - 1) / count};  // of one size, so that little is padded
    const auto plan = scheme.plan(product_of_rows(params, tried.chunk));
    const double needs = seconds_of(params, *plan, tried.count());
    if (needs >= least) continue;
    best = tried;
    least = needs;
  }
  return best;
}

KeptProducts::KeptProducts(std::size_t rows, std::size_t cols, std::uint64_t version, const KeepOptions& options)
    : rows_(rows), cols_(cols), version_(version) {
  if (static_cast<UInt128>(rows) * cols * sizeof(UInt128) <= options.most_memory) {
    values_.reserve(rows * cols);
    return;
  }
  file_.emplace(
      DiskFile::create_unnamed(options.folder.empty() ? std::filesystem::temp_directory_path() : options.folder));
}

void KeptProducts::append(const ShareMatrix& shares) {
  require<InvalidArgument>(shares.cols() == cols_ && appended_ < rows_ &&
                               (appended_ == 0 || (shares.scale() == scale_ && shares.ring_bits() == ring_bits_)),
                           "kept products: these shares are not those of the next rows");
  scale_ = shares.scale();
  ring_bits_ = shares.ring_bits();
  const std::size_t count = std::min(shares.rows(), rows_ - appended_);
  const auto values = shares.values().first(count * cols_);
  if (file_) {
    file_->write(std::as_bytes(values));
  } else {
    values_.insert(values_.end(), values.begin(), values.end());
  }
  appended_ += count;
}

void KeptProducts::append_features(const IntMatrix& x) {
  for (std::size_t r = 0; r < x.rows() && marks_.size() < rows_; ++r) marks_.push_back(mark_of(x, r));
}

void KeptProducts::check_numbers(std::span<const std::uint32_t> numbers, std::size_t padded_rows) const {
  require<InvalidArgument>(numbers.size() <= padded_rows, "kept products: ", numbers.size(),
                           " row numbers for a batch of ", padded_rows, " rows");
  for (const std::uint32_t number : numbers) {
    require<InvalidArgument>(number < appended_, "kept products: there is no row ", number, " among the ", appended_,
                             " that products are kept of");
  }
}

ShareMatrix KeptProducts::pick(std::span<const std::uint32_t> numbers, std::size_t padded_rows) const {
  check_numbers(numbers, padded_rows);
  ShareMatrix picked(padded_rows, cols_, scale_, ring_bits_);
  for (std::size_t r = 0; r < numbers.size(); ++r) {
    const std::size_t first = std::size_t{numbers[r]} * cols_;
    if (file_) {
      file_->read_at(first * sizeof(UInt128), std::as_writable_bytes(picked.row(r)));
    } else {
      std::ranges::copy(std::span<const UInt128>(values_).subspan(first, cols_), picked.row(r).begin());
    }
  }
  return picked;
}

void KeptProducts::check_features(const IntMatrix& x, std::span<const std::uint32_t> numbers) const {
  check_numbers(numbers, x.rows());
  for (std::size_t r = 0; r < x.rows(); ++r) {
    const bool is_real = r < numbers.size();
    require<InvalidArgument>(mark_of(x, r) == (is_real ? marks_.at(numbers[r]) : 0), "kept products: row ", r,
                             " of the batch does not have the features of ",
                             is_real ? "the training row that it is said to be" : "padding, which are 0");
  }
}

}  // namespace blindfl::protocol

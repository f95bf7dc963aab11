#include "blindfl/lab/secureml/words.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "blindfl/base/error.h"

namespace blindfl::lab::secureml {

namespace {

constexpr double kLargestReal = 0x1p32;
/// Rows and columns of a block that is transposed at a time.
constexpr std::size_t kBlock = 16;

/// sum[i] += factor * row[i]
void add_multiple(std::uint64_t factor, std::span<const std::uint64_t> row, std::span<std::uint64_t> sum) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += factor * row[i];
}

std::span<const std::uint64_t> checked_row(const RowsOf& a, std::size_t i) {
  require<InvalidArgument>(a.rows[i] < a.m.rows(), "row ", a.rows[i], " of a matrix of ", a.m.rows(), " rows");
  return a.m.row(a.rows[i]);
}

std::uint64_t dot_product(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

Words Words::from_bytes(std::size_t rows, std::size_t cols, ByteView bytes) {
  Words m(rows, cols);
  require<InvalidArgument>(bytes.size() == m.bytes().size(), "matrix of ", rows, " x ", cols, " words: ", bytes.size(),
                           " bytes");
  if (!bytes.empty()) std::memcpy(m.values_.data(), bytes.data(), bytes.size());
  return m;
}

void Words::require_shape(const Words& other) const {
  require<InvalidArgument>(rows_ == other.rows_ && cols_ == other.cols_, "matrices of ", rows_, " x ", cols_, " and ",
                           other.rows_, " x ", other.cols_, " words cannot be added");
}

Words& Words::operator+=(const Words& other) {
  require_shape(other);
  for (std::size_t i = 0; i < values_.size(); ++i) values_[i] += other.values_[i];
  return *this;
}

Words& Words::operator-=(const Words& other) {
  require_shape(other);
  for (std::size_t i = 0; i < values_.size(); ++i) values_[i] -= other.values_[i];
  return *this;
}

Words random_words(std::size_t rows, std::size_t cols, Random& random) {
  Words m(rows, cols);
  random.fill_integers(m.values());
  return m;
}

Words transpose(const Words& m) {
  Words t(m.cols(), m.rows());
  for (std::size_t r0 = 0; r0 < m.rows(); r0 += kBlock) {
    const std::size_t rows = std::min(r0 + kBlock, m.rows());
    for (std::size_t c = 0; c < m.cols(); ++c) {
      for (std::size_t r = r0; r < rows; ++r) t.values()[c * m.rows() + r] = m.values()[r * m.cols() + c];
    }
  }
  return t;
}

Words select_rows(const Words& m, std::span<const std::uint32_t> rows) {
  Words chosen(rows.size(), m.cols());
  for (std::size_t i = 0; i < rows.size(); ++i) std::ranges::copy(checked_row({m, rows}, i), chosen.row(i).begin());
  return chosen;
}

std::vector<std::uint32_t> all_rows(std::size_t rows) {
  std::vector<std::uint32_t> numbers(rows);
  std::iota(numbers.begin(), numbers.end(), 0U);
  return numbers;
}

Words stacked(const Words& above, const Words& below) {
  require<InvalidArgument>(above.cols() == below.cols(), "matrices of ", above.cols(), " and ", below.cols(),
                           " columns cannot be stacked");
  Words both(above.rows() + below.rows(), above.cols());
  std::ranges::copy(above.values(), both.values().begin());
  std::ranges::copy(below.values(), both.values().subspan(above.values().size()).begin());
  return both;
}

Words multiply(const RowsOf& a, const Words& b) {
  require<InvalidArgument>(a.m.cols() == b.rows(), "product of ", a.rows.size(), " x ", a.m.cols(), " and ", b.rows(),
                           " x ", b.cols(), " words");
  Words product(a.rows.size(), b.cols());
  for (std::size_t r = 0; r < a.rows.size(); ++r) {
    const std::span<const std::uint64_t> row = checked_row(a, r);
    if (b.cols() == 1) {
      product.row(r)[0] = dot_product(row, b.values());
      continue;
    }
    for (std::size_t j = 0; j < row.size(); ++j) add_multiple(row[j], b.row(j), product.row(r));
  }
  return product;
}

Words multiply_transposed(const RowsOf& a, const Words& b) {
  require<InvalidArgument>(a.rows.size() == b.rows(), "product of a transposed ", a.rows.size(), " x ", a.m.cols(),
                           " and ", b.rows(), " x ", b.cols(), " words");
  Words product(a.m.cols(), b.cols());
  for (std::size_t r = 0; r < a.rows.size(); ++r) {
    const std::span<const std::uint64_t> row = checked_row(a, r);
    if (b.cols() == 1) {
      add_multiple(b.row(r)[0], row, product.values());
      continue;
    }
    for (std::size_t j = 0; j < row.size(); ++j) add_multiple(row[j], b.row(r), product.row(j));
  }
  return product;
}

Words multiply_transposed(const Words& a, const Words& b) {
  const std::vector<std::uint32_t> rows = all_rows(a.rows());
  return multiply_transposed(RowsOf{a, rows}, b);
}

Words truncated(Words share, int bits, Party party) {
  require<InvalidArgument>(bits >= 0 && bits < 64, "truncation: ", bits, " bits of 64");
  for (std::uint64_t& v : share.values()) v = party == Party::kA ? v >> bits : 0 - ((0 - v) >> bits);
  return share;
}

Words encode(std::size_t rows, std::size_t cols, std::span<const double> reals) {
  Words m(rows, cols);
  require<InvalidArgument>(reals.size() == m.values().size(), "matrix of ", rows, " x ", cols,
                           " numbers: ", reals.size(), " of them");
  for (std::size_t i = 0; i < reals.size(); ++i) {
    require<DataError>(std::isfinite(reals[i]) && std::abs(reals[i]) <= kLargestReal, "row ", i / cols, ", column ",
                       i % cols, ": a number is not finite, or beyond 2^32");
    m.values()[i] = static_cast<std::uint64_t>(std::llround(std::ldexp(reals[i], kFractionBits)));
  }
  return m;
}

std::vector<double> decode(const Words& m) {
  std::vector<double> reals;
  reals.reserve(m.values().size());
  for (const std::uint64_t v : m.values()) {
    reals.push_back(std::ldexp(static_cast<double>(static_cast<std::int64_t>(v)), -kFractionBits));
  }
  return reals;
}

std::pair<Words, Words> split(const Words& m, Random& random) {
  Words first = random_words(m.rows(), m.cols(), random);
  Words second = m - first;
  return {std::move(first), std::move(second)};
}

ShareMatrix to_shares(const Words& m, int scale) {
  ShareMatrix share(m.rows(), m.cols(), scale, 64);
  std::ranges::copy(m.values(), share.values().begin());
  return share;
}

Words to_words(const ShareMatrix& m) {
  require<InvalidArgument>(m.ring_bits() >= 64, "shares modulo 2^", m.ring_bits(), " are no words");
  Words words(m.rows(), m.cols());
  std::ranges::transform(m.values(), words.values().begin(), [](UInt128 v) { return static_cast<std::uint64_t>(v); });
  return words;
}

}  // namespace blindfl::lab::secureml

#include "blindfl/he/paillier/crypto_tensor.h"

#include <algorithm>
#include <numeric>

#include "blindfl/base/error.h"
#include "blindfl/base/int128.h"
#include "blindfl/he/paillier/scalar_products.h"

namespace blindfl::he::paillier {

CryptoTensor::CryptoTensor(std::shared_ptr<const PublicKey> key, const CryptoShape& shape)
    : key_(std::move(key)), shape_(shape) {
  require<InvalidArgument>(shape.rows < std::size_t{1} << 31 && shape.cols > 0, "an encrypted matrix of ", shape.rows,
                           " x ", shape.cols, " is not possible");
  // A slot holds what is below 2^(width - 1), and 2^bits itself is a value.
  require<InvalidArgument>(shape.bits + 1 < shape.slots.width(), "encrypted values of ", shape.bits,
                           " bits do not fit in slots of ", shape.slots.width());
  position_.resize(shape.rows);
}

Limb* CryptoTensor::at(std::uint32_t position) const {
  const std::size_t i = position - 1;
  return blocks_[i / kBlockRows].data() + (i % kBlockRows) * row_limbs();
}

const Limb* CryptoTensor::find(std::size_t row) const {
  return position_[row] == 0 ? nullptr : at(position_[row]);
}

Limb* CryptoTensor::touch(std::size_t row) {
  if (position_[row] != 0) return at(position_[row]);
  if (written_.size() % kBlockRows == 0) {
    // A small matrix gets no more than it can need.
    const std::size_t rows = std::min(kBlockRows, shape_.rows - written_.size());
    blocks_.emplace_back(rows * row_limbs());
  }
  written_.push_back(static_cast<std::uint32_t>(row));
  position_[row] = static_cast<std::uint32_t>(written_.size());
  Limb* limbs = at(position_[row]);
  const Ring& ring = key_->ring();
  for (std::size_t g = 0; g < shape_.groups(); ++g) std::copy_n(ring.one(), ring.stride(), limbs + g * ring.stride());
  return limbs;
}

std::size_t CryptoTensor::memory() const {
  std::size_t limbs = 0;
  for (const auto& block : blocks_) limbs += block.size();
  return limbs * sizeof(Limb) + position_.size() * sizeof(std::uint32_t);
}

namespace {

void check_alike(const CryptoTensor& a, const CryptoTensor& b) {
  require<InvalidArgument>(a.key().id() == b.key().id(), "encrypted matrices under different keys cannot be added");
  require<InvalidArgument>(a.shape().cols == b.shape().cols && a.shape().slots == b.shape().slots,
                           "encrypted matrices of different columns or slots cannot be added");
}

/// Pointers to the ciphertexts of several rows, row after row.
template <class Pointer, class Tensor, class Find>
std::vector<Pointer> pointers(Tensor& m, std::size_t count, const Find& find) {
  const std::size_t groups = m.shape().groups();
  const std::size_t stride = m.key().ring().stride();
  std::vector<Pointer> result;
  result.reserve(count * groups);
  for (std::size_t i = 0; i < count; ++i) {
    const Pointer row = find(i);
    for (std::size_t g = 0; g < groups; ++g) result.push_back(row + g * stride);
  }
  return result;
}

std::vector<Limb*> touch_all(CryptoTensor& m, std::span<const std::uint32_t> rows) {
  return pointers<Limb*>(m, rows.size(), [&](std::size_t i) { return m.touch(rows[i]); });
}

std::vector<std::uint32_t> all_rows(std::size_t count) {
  std::vector<std::uint32_t> rows(count);
  std::iota(rows.begin(), rows.end(), std::uint32_t{0});
  return rows;
}

struct Entry {
  std::uint32_t row;
  std::uint32_t col;
  std::int64_t value;
};

/// The entries of x that are not 0 and whose column `wanted` says yes to.
template <class Wanted>
std::vector<Entry> entries_of(const IntMatrix& x, const Wanted& wanted) {
  std::vector<Entry> entries;
  for (std::size_t r = 0; r < x.rows(); ++r) {
    x.for_each_in_row(r, [&](std::size_t c, std::int64_t value) {
      if (value != 0 && wanted(c)) {
        entries.push_back({static_cast<std::uint32_t>(r), static_cast<std::uint32_t>(c), value});
      }
    });
  }
  return entries;
}

/// The distinct columns, ascending.
std::vector<std::uint32_t> columns_of(const std::vector<Entry>& entries) {
  std::vector<std::uint32_t> columns;
  columns.reserve(entries.size());
  for (const Entry& e : entries) columns.push_back(e.col);
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  return columns;
}

std::uint32_t index_of(const std::vector<std::uint32_t>& columns, std::uint32_t column) {
  return static_cast<std::uint32_t>(std::lower_bound(columns.begin(), columns.end(), column) - columns.begin());
}

}  // namespace

CryptoTensor multiply(const IntMatrix& x, const CryptoTensor& m, std::size_t most_terms, ThreadPool& pool) {
  require<InvalidArgument>(x.cols() == m.shape().rows, "a matrix of ", x.cols(),
                           " columns cannot be multiplied with an encrypted one of ", m.shape().rows, " rows");
  CryptoShape shape = m.shape();
  shape.rows = x.rows();
  shape.scale += x.scale();
  shape.bits += bit_length(x.bound()) + bit_length(most_terms);
  CryptoTensor result(m.shared_key(), shape);

  const std::vector<Entry> entries = entries_of(x, [&](std::size_t c) { return m.find(c) != nullptr; });
  const std::vector<std::uint32_t> columns = columns_of(entries);
  Scalars scalars;
  scalars.bases = columns.size();
  scalars.row_starts.assign(x.rows() + 1, 0);
  scalars.entries.reserve(entries.size());
  for (const Entry& e : entries) {
    scalars.entries.push_back({index_of(columns, e.col), e.value});
    ++scalars.row_starts[e.row + 1];
  }
  std::partial_sum(scalars.row_starts.begin(), scalars.row_starts.end(), scalars.row_starts.begin());
  for (std::size_t r = 0; r < x.rows(); ++r) {
    require<InvalidArgument>(scalars.row_starts[r + 1] - scalars.row_starts[r] <= most_terms, "row ", r, " has ",
                             scalars.row_starts[r + 1] - scalars.row_starts[r], " non-zero features, and no more than ",
                             most_terms, " were declared");
  }
  const auto bases = pointers<const Limb*>(m, columns.size(), [&](std::size_t i) { return m.find(columns[i]); });
  const std::vector<std::uint32_t> rows = all_rows(x.rows());
  const auto outputs = touch_all(result, rows);
  multiply_scalars(m.key().ring(), scalars, bases.data(), m.shape().groups(), outputs.data(), /*accumulate=*/false,
                   pool);
  return result;
}

void add_transposed_product(CryptoTensor& to, const IntMatrix& x, const CryptoTensor& m, ThreadPool& pool) {
  check_alike(to, m);
  require<InvalidArgument>(
      x.rows() == m.shape().rows && x.cols() == to.shape().rows && to.shape().scale == m.shape().scale + x.scale(),
      "the transposed product does not have the shape or scale of what it is added to");
  std::vector<Entry> entries = entries_of(x, [](std::size_t) { return true; });
  const std::vector<std::uint32_t> columns = columns_of(entries);
  Scalars scalars;
  scalars.bases = x.rows();
  scalars.row_starts.assign(columns.size() + 1, 0);
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.col < b.col; });
  for (const Entry& e : entries) {
    scalars.entries.push_back({e.row, e.value});
    ++scalars.row_starts[index_of(columns, e.col) + 1];
  }
  std::partial_sum(scalars.row_starts.begin(), scalars.row_starts.end(), scalars.row_starts.begin());
  const auto bases = pointers<const Limb*>(m, x.rows(), [&](std::size_t r) {
    const Limb* row = m.find(r);
    require<InvalidArgument>(row != nullptr, "an encrypted derivative lacks a row");
    return row;
  });
  const auto outputs = touch_all(to, columns);
  multiply_scalars(to.key().ring(), scalars, bases.data(), to.shape().groups(), outputs.data(), /*accumulate=*/true,
                   pool);
}

CryptoTensor read_tensor(std::shared_ptr<const PublicKey> key, const CryptoShape& shape, ByteSource& in,
                         ThreadPool& pool) {
  CryptoTensor m(std::move(key), shape);
  // In pieces: memory beyond the ciphertexts themselves stays small.
  constexpr std::size_t kRows = 4096;
  for (std::size_t first = 0; first < shape.rows; first += kRows) {
    std::vector<std::uint32_t> rows = all_rows(std::min(kRows, shape.rows - first));
    for (std::uint32_t& row : rows) row += static_cast<std::uint32_t>(first);
    m.key().read(touch_all(m, rows), in, pool);
  }
  return m;
}

}  // namespace blindfl::he::paillier

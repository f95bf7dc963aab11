#include "blindfl/share/share_matrix.h"

#include <algorithm>
#include <cmath>

#include "blindfl/base/error.h"

namespace blindfl {

namespace {

void check_alike(const ShareMatrix& a, const ShareMatrix& b) {
  require<InvalidArgument>(a.rows() == b.rows() && a.cols() == b.cols(), "shares of ", a.rows(), " x ", a.cols(),
                           " and ", b.rows(), " x ", b.cols(), " cannot be added");
  require<InvalidArgument>(a.scale() == b.scale(), "shares at scales ", a.scale(), " and ", b.scale(),
                           " cannot be added: bring them to one scale first");
  require<InvalidArgument>(a.ring_bits() == b.ring_bits(), "shares modulo 2^", a.ring_bits(), " and modulo 2^",
                           b.ring_bits(), " cannot be added: bring them to one ring first");
}

// Reads the share as signed and divides by 2^k, halves upwards: the two parties' errors then cancel on average.
// Written so that adding the half cannot overflow.
UInt128 rounded_shift(UInt128 x, int k) {
  const auto s = static_cast<Int128>(x);
  return static_cast<UInt128>(s >> k) + (static_cast<UInt128>(s >> (k - 1)) & 1);
}

// Divides by 2^k modulo 2^ring_bits, halves upwards: what is lost above the ring is a multiple of the result's ring, so
// that shares need not be read as signed, and nothing goes wrong.
UInt128 rounded_shift_in_ring(UInt128 x, int k, int ring_bits) {
  return low_bits(x + (static_cast<UInt128>(1) << (k - 1)), ring_bits) >> k;
}

UInt128 shifted(UInt128 x, int k) {
  if (k > 0) return rounded_shift(x, k);
  return x << -k;
}

void check_shift(int from, int to) {
  require<InvalidArgument>(from - to < 128 && to - from < 128, "rescale: from scale ", from, " to ", to, " is too far");
}

}  // namespace

std::size_t ShareMatrix::checked_count(std::size_t rows, std::size_t cols) {
  constexpr std::size_t kMost = std::size_t{1} << 56;
  require<InvalidArgument>(cols == 0 || rows <= kMost / cols, "a matrix of ", rows, " x ", cols, " is too large");
  return rows * cols;
}

int ShareMatrix::checked_ring(int ring_bits) {
  require<InvalidArgument>(ring_bits >= 1 && ring_bits <= kMostRingBits, "a ring of ", ring_bits,
                           " bits: it must have from 1 to ", kMostRingBits);
  return ring_bits;
}

void ShareMatrix::reduce() {
  for (UInt128& v : values_) v = low_bits(v, ring_bits_);
}

ShareMatrix& ShareMatrix::operator+=(const ShareMatrix& other) {
  check_alike(*this, other);
  for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = low_bits(values_[i] + other.values_[i], ring_bits_);
  return *this;
}

ShareMatrix& ShareMatrix::operator-=(const ShareMatrix& other) {
  check_alike(*this, other);
  for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = low_bits(values_[i] - other.values_[i], ring_bits_);
  return *this;
}

ShareMatrix random_share(std::size_t rows, std::size_t cols, int scale, Random& random, int ring_bits) {
  ShareMatrix share(rows, cols, scale, ring_bits);
  random.fill_integers(share.values());
  share.reduce();
  return share;
}

std::pair<ShareMatrix, ShareMatrix> split(const ShareMatrix& value, Random& random) {
  ShareMatrix mask = random_share(value.rows(), value.cols(), value.scale(), random, value.ring_bits());
  ShareMatrix rest = value - mask;
  return {std::move(mask), std::move(rest)};
}

ShareMatrix open(const ShareMatrix& a, const ShareMatrix& b) {
  return a + b;
}

ShareMatrix transpose(const ShareMatrix& m) {
  ShareMatrix transposed(m.cols(), m.rows(), m.scale(), m.ring_bits());
  for (std::size_t r = 0; r < m.rows(); ++r) {
    for (std::size_t c = 0; c < m.cols(); ++c) transposed.row(c)[r] = m.row(r)[c];
  }
  return transposed;
}

ShareMatrix select_columns(const ShareMatrix& m, std::size_t first, std::size_t count) {
  require<InvalidArgument>(first <= m.cols() && count <= m.cols() - first, "select_columns: ", count, " columns from ",
                           first, " on, of ", m.cols());
  ShareMatrix selected(m.rows(), count, m.scale(), m.ring_bits());
  for (std::size_t r = 0; r < m.rows(); ++r) std::ranges::copy(m.row(r).subspan(first, count), selected.row(r).begin());
  return selected;
}

void place_columns(ShareMatrix& to, std::size_t first, const ShareMatrix& from) {
  require<InvalidArgument>(
      first <= to.cols() && from.cols() <= to.cols() - first && from.rows() == to.rows() && from.scale() == to.scale(),
      "place_columns: ", from.rows(), " x ", from.cols(), " at scale ", from.scale(), " does not fit at column ", first,
      " of ", to.rows(), " x ", to.cols(), " at scale ", to.scale());
  require<InvalidArgument>(from.ring_bits() == to.ring_bits(), "place_columns: shares modulo 2^", from.ring_bits(),
                           " do not fit among shares modulo 2^", to.ring_bits());
  for (std::size_t r = 0; r < to.rows(); ++r) std::ranges::copy(from.row(r), to.row(r).subspan(first).begin());
}

ShareMatrix narrowed(const ShareMatrix& share, int ring_bits) {
  require<InvalidArgument>(ring_bits <= share.ring_bits(), "shares modulo 2^", share.ring_bits(),
                           " cannot be narrowed to 2^", ring_bits);
  ShareMatrix result(share.rows(), share.cols(), share.scale(), ring_bits);
  std::ranges::copy(share.values(), result.values().begin());
  result.reduce();
  return result;
}

ShareMatrix lifted(const ShareMatrix& share) {
  ShareMatrix result(share.rows(), share.cols(), share.scale());
  std::ranges::transform(share.values(), result.values().begin(),
                         [&](UInt128 v) { return static_cast<UInt128>(signed_low_bits(v, share.ring_bits())); });
  return result;
}

ShareMatrix rescale(const ShareMatrix& share, int scale) {
  check_shift(share.scale(), scale);
  const int k = share.scale() - scale;
  const int ring_bits = share.ring_bits();
  const bool in_ring = ring_bits < ShareMatrix::kMostRingBits;
  require<InvalidArgument>(!in_ring || k < ring_bits, "rescale: from scale ", share.scale(), " to ", scale,
                           " leaves nothing of shares modulo 2^", ring_bits);
  const int new_ring = in_ring ? std::min(ring_bits - k, ShareMatrix::kMostRingBits) : ring_bits;
  ShareMatrix result(share.rows(), share.cols(), scale, new_ring);
  const auto from = share.values();
  const auto to = result.values();
  for (std::size_t i = 0; i < from.size(); ++i) {
    to[i] = in_ring && k > 0 ? rounded_shift_in_ring(from[i], k, ring_bits) : shifted(from[i], k);
  }
  return result;
}

PublicFactor::PublicFactor(double x) {
  require<InvalidArgument>(std::isfinite(x) && std::abs(x) <= 0x1p40, "a public factor must be finite and below 2^40");
  if (x == 0) return;
  int binary_exponent = 0;
  const double fraction = std::frexp(x, &binary_exponent);  // in [0.5, 1)
  mantissa = std::llround(std::ldexp(fraction, kBits));
  exponent = kBits - binary_exponent;
  // Fewer bits where the factor needs fewer: powers of two and small integers then cost no rescaling headroom.
  while (mantissa % 2 == 0) {
    mantissa /= 2;
    --exponent;
  }
}

double PublicFactor::value() const {
  return std::ldexp(static_cast<double>(mantissa), -exponent);
}

namespace {

/// x * mantissa / 2^k, x read as signed, rounded as `rounded_shift` does: the product is exact, in 192 bits, and only
/// what is left of it is taken modulo 2^128.
UInt128 product_shifted(UInt128 x, std::int64_t mantissa, int k) {
  const Int128 low_part = static_cast<Int128>(low64(x)) * mantissa;
  const Int128 top = static_cast<Int128>(static_cast<std::int64_t>(high64(x))) * mantissa + (low_part >> 64);
  const std::uint64_t low = low64(static_cast<UInt128>(low_part));
  const auto bits = static_cast<UInt128>(top);
  if (k <= 0) return (bits << 64 | low) << -k;
  const std::uint64_t round = k <= 64 ? low >> (k - 1) & 1 : low64(static_cast<UInt128>(top >> (k - 65))) & 1;
  if (k < 64) return (bits << (64 - k) | low >> k) + round;
  return static_cast<UInt128>(top >> (k - 64)) + round;
}

}  // namespace

ShareMatrix multiply_public(const ShareMatrix& share, const PublicFactor& factor, int scale) {
  require<InvalidArgument>(share.ring_bits() == ShareMatrix::kMostRingBits, "a public factor of shares modulo 2^",
                           share.ring_bits(), ": lift them first");
  const int k = share.scale() + factor.exponent - scale;
  ShareMatrix result(share.rows(), share.cols(), scale);
  if (k >= 128 + PublicFactor::kBits) return result;  // a factor so small that every share rounds to zero
  require<InvalidArgument>(k > -128, "a public factor of 2^", -factor.exponent, " from scale ", share.scale(), " to ",
                           scale, " shifts everything out");
  const auto from = share.values();
  const auto to = result.values();
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = product_shifted(from[i], factor.mantissa, k);
  return result;
}

ShareMatrix encode_ring(std::size_t rows, std::size_t cols, std::span<const double> reals, int scale, double largest) {
  ShareMatrix encoded(rows, cols, scale);
  require<InvalidArgument>(reals.size() == encoded.values().size(), "encode_ring: ", reals.size(),
                           " values do not make ", rows, " x ", cols);
  require<InvalidArgument>(largest >= 0 && std::ldexp(largest, scale) < 0x1p126, "encode_ring: values up to ", largest,
                           " at ", scale, " fractional bits do not fit in 127 bits");
  for (std::size_t i = 0; i < reals.size(); ++i) {
    require<DataError>(std::isfinite(reals[i]), "row ", i / cols, ", column ", i % cols, ": not a finite number");
    require<DataError>(std::abs(reals[i]) <= largest, "row ", i / cols, ", column ", i % cols,
                       ": outside the agreed range of +-", largest);
    encoded.values()[i] = static_cast<UInt128>(static_cast<Int128>(std::round(std::ldexp(reals[i], scale))));
  }
  return encoded;
}

std::vector<double> decode_ring(const ShareMatrix& opened) {
  std::vector<double> reals;
  reals.reserve(opened.values().size());
  for (const UInt128 v : opened.values()) {
    reals.push_back(std::ldexp(static_cast<double>(signed_low_bits(v, opened.ring_bits())), -opened.scale()));
  }
  return reals;
}

}  // namespace blindfl

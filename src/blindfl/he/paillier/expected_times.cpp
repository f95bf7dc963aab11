#include "blindfl/he/paillier/expected_times.h"

#include <algorithm>
#include <cmath>

#include "blindfl/base/int128.h"

namespace blindfl::he::paillier {

namespace {

constexpr double kMicrosecond = 1e-6;
/// Into and out of Montgomery's form, in products.
constexpr double kConversion = 2.75;
/// Kernels work on this many ciphertexts at once: fewer take as long.
constexpr double kLanes = 8;

double in_lanes(std::size_t count) {
  return std::ceil(static_cast<double>(count) / kLanes) * kLanes;
}

/// Products for an entry, fitted to what `choose` counts for random matrices: the more entries share a row or a base,
/// the more work they share.
double products_per_entry(double per_row, double per_base, std::uint64_t bound) {
  const int bits = bit_length(bound);
  if (bits <= 1) return 1.0;
  const double shared = std::max(1.0, 0.45 * std::log2(per_row) + 0.32 * std::log2(per_base) - 0.9);
  return 0.5 + 0.55 * bits / shared;
}

}  // namespace

double expected_rows(std::size_t rows, double nonzeros) {
  const auto all = static_cast<double>(rows);
  return all * -std::expm1(-nonzeros / all);
}

double ExpectedTimes::encrypt(std::size_t ciphertexts) const {
  return in_lanes(ciphertexts) * (cost_.encrypt + kConversion * cost_.multiply) * kMicrosecond;
}

double ExpectedTimes::load(std::size_t ciphertexts) const {
  return in_lanes(ciphertexts) * kConversion * cost_.multiply * kMicrosecond;
}

double ExpectedTimes::multiply(std::size_t rows, std::size_t bases, std::size_t groups, double nonzeros,
                               std::uint64_t bound) const {
  const double per_row = std::max(1.0, nonzeros / expected_rows(rows, nonzeros));
  const double per_base = std::max(1.0, nonzeros / expected_rows(bases, nonzeros));
  return add(nonzeros * products_per_entry(per_row, per_base, bound) * static_cast<double>(groups));
}

double ExpectedTimes::add(double ciphertexts) const {
  return ciphertexts * cost_.multiply * kMicrosecond;
}

double ExpectedTimes::write_masked(const ReplyLayout& layout) const {
  const double shift =
      cost_.square * static_cast<double>(layout.cols_per_group) * layout.slots.width() + cost_.multiply;
  const double pack = static_cast<double>(layout.rows_per_ciphertext - 1) * shift;
  return in_lanes(layout.ciphertexts()) * (pack + cost_.randomize + kConversion * cost_.multiply) * kMicrosecond;
}

double ExpectedTimes::open_masked(const ReplyLayout& layout) const {
  return in_lanes(layout.ciphertexts()) * cost_.decrypt * kMicrosecond;
}

}  // namespace blindfl::he::paillier

#include "blindfl/share/limbs.h"

#include <utility>
#include <vector>

#include "blindfl/base/error.h"

namespace blindfl {

Limbs Limbs::of(int value_bits, std::size_t count) {
  require<InvalidArgument>(value_bits > 0 && value_bits <= 126 && count > 0, "limbs: ", count, " limbs of numbers of ",
                           value_bits, " bits");
  // A bit for the sign, and with several limbs one for the carry that balanced digits may end with.
  const int bits =
      count == 1 ? value_bits + 1 : (value_bits + 2 + static_cast<int>(count) - 1) / static_cast<int>(count);
  require<InvalidArgument>(bits <= (count == 1 ? 63 : 62), "limbs: numbers of ", value_bits, " bits need more than ",
                           count, " limbs");
  return {bits, count};
}

IntMatrix split_columns(const Limbs& limbs, const ShareMatrix& x) {
  const std::size_t cols = x.cols() * limbs.count;
  const Int128 half = static_cast<Int128>(1) << (limbs.bits - 1);
  const UInt128 low = (static_cast<UInt128>(1) << limbs.bits) - 1;
  std::vector<std::int64_t> values(x.rows() * cols);
  bool too_long = false;
  for (std::size_t r = 0; r < x.rows(); ++r) {
    for (std::size_t c = 0; c < x.cols(); ++c) {
      Int128 rest = signed_low_bits(x.row(r)[c], x.ring_bits());
      for (std::size_t l = 0; l < limbs.count; ++l) {
        // Balanced: between -half and half - 1, so that limbs are as short as they can be.
        const auto digit = static_cast<Int128>(static_cast<UInt128>(rest + half) & low) - half;
        values[r * cols + l * x.cols() + c] = static_cast<std::int64_t>(digit);
        rest = (rest - digit) >> limbs.bits;
      }
      too_long = too_long || rest != 0;
    }
  }
  require<InvalidArgument>(!too_long, "limbs: a number is longer than ", limbs.count, " limbs of ", limbs.bits,
                           " bits");
  return IntMatrix::dense(x.rows(), cols, std::move(values), x.scale(), limbs.bound());
}

ShareMatrix stack_rows(const Limbs& limbs, const ShareMatrix& m) {
  ShareMatrix stacked(m.rows() * limbs.count, m.cols(), m.scale(), m.ring_bits());
  for (std::size_t l = 0; l < limbs.count; ++l) {
    const int shift = limbs.bits * static_cast<int>(l);
    for (std::size_t r = 0; r < m.rows(); ++r) {
      const auto from = m.row(r);
      const auto to = stacked.row(l * m.rows() + r);
      for (std::size_t c = 0; c < from.size(); ++c) to[c] = shift < 128 ? from[c] << shift : 0;
    }
  }
  stacked.reduce();
  return stacked;
}

}  // namespace blindfl

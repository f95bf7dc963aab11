#include "blindfl/share/integer_pieces.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/base/int128.h"

namespace blindfl {

namespace {

// Of sums of four uniform words: Fisher's information, times their variance.
constexpr double kInformation = 1.04;

}  // namespace

ShareMatrix draw_pieces(std::size_t rows, std::size_t cols, int scale, Random& random) {
  constexpr std::uint64_t kMask = (std::uint64_t{1} << kPieceWordBits) - 1;
  ShareMatrix pieces(rows, cols, scale);
  SecretVector<std::uint64_t> words(kPieceWords * pieces.values().size());
  random.fill_integers(std::span(words));
  for (std::size_t i = 0; i < pieces.values().size(); ++i) {
    // Centred: the mean of a word is half its largest value.
    Int128 sum = -static_cast<Int128>(kPieceWords / 2) * static_cast<Int128>(kMask);
    for (std::size_t w = 0; w < kPieceWords; ++w) sum += static_cast<Int128>(words[kPieceWords * i + w] & kMask);
    pieces.values()[i] = static_cast<UInt128>(sum);
  }
  return pieces;
}

SecretVector<std::uint64_t> piece_corrections(const ShareMatrix& share, const ShareMatrix& pieces) {
  const ShareMatrix difference = narrowed(share, kPieceRing) - narrowed(pieces, kPieceRing);
  SecretVector<std::uint64_t> words(difference.values().size());
  std::ranges::transform(difference.values(), words.begin(), low64);
  return words;
}

ShareMatrix corrected_pieces(const ShareMatrix& share, std::span<const std::uint64_t> corrections,
                             std::string_view what) {
  constexpr Int128 kLargest = static_cast<Int128>(1) << kPieceBits;
  ShareMatrix pieces = narrowed(share, kPieceRing);
  require<InvalidArgument>(pieces.values().size() == corrections.size(), "pieces of ", pieces.values().size(),
                           " numbers, and corrections of ", corrections.size());
  bool too_long = false;
  for (std::size_t i = 0; i < corrections.size(); ++i) {
    UInt128& value = pieces.values()[i];
    value = low_bits(value + corrections[i], kPieceRing);
    const Int128 piece = signed_low_bits(value, kPieceRing);
    too_long = too_long || piece >= kLargest || piece < -kLargest;
  }
  require<ProtocolError>(!too_long, what,
                         ": a piece is larger than it can be: training diverged, for which a lower learning rate "
                         "helps, or the parties' shares do not belong together");
  // A number, not an element of a ring: its lift is exact.
  return lifted(pieces);
}

IntMatrix integers_of(const ShareMatrix& pieces) {
  std::vector<std::int64_t> values(pieces.values().size());
  std::ranges::transform(pieces.values(), values.begin(),
                         [](UInt128 v) { return static_cast<std::int64_t>(signed_low_bits(v, kPieceRing)); });
  return IntMatrix::dense(pieces.rows(), pieces.cols(), std::move(values), pieces.scale(),
                          std::uint64_t{1} << kPieceBits);
}

double divergence_of_piece(double largest) {
  const double variance = static_cast<double>(kPieceWords) * std::ldexp(1.0 / 12, 2 * kPieceWordBits);
  return kInformation / 2 * largest * largest / variance;
}

}  // namespace blindfl

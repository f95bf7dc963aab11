#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "blindfl/base/bytes.h"
#include "blindfl/mpc/party_cost.h"
#include "blindfl/share/share_matrix.h"

// The only values that anybody sees of a shared top, and only B: sums over many rows, and finished scores. A rounds its
// share and sends it, B adds its own.

namespace blindfl::mpc {

/// How a sum is opened.
struct SumOpening {
  /// Fractional bits.
  int scale = 10;
  /// A adds the sum of four uniform words of up to 2^noise_bits units of `scale`, around 0: a standard deviation of
  /// 2^noise_bits / sqrt(3) units, and at most 2^(noise_bits + 1).
  int noise_bits = 3;
  /// No sum exceeds this.
  double largest = 0x1p30;
};

/// Local: the sum of all values of a share, 1 x 1.
[[nodiscard]] ShareMatrix sum_of(const ShareMatrix& values);
/// Local, at A: the share with noise, which is added before anything is rounded off, so that also what is below a unit
/// is hidden by it. Throws InvalidArgument if the noise does not fit in words, or is finer than the share.
[[nodiscard]] ShareMatrix with_noise(ShareMatrix share, const SumOpening& opening, Random& random);

/// Local, at B: the values of its rounded share, of at most 64 bits, and A's words, row by row.
/// Throws ProtocolError if bytes are missing, or a value exceeds `largest`.
[[nodiscard]] std::vector<double> opened_values(const ShareMatrix& rounded, ByteSource& theirs, double largest);

/// Opens the sum of all values to B: at B the sum, with A's noise and rounding; at A nothing.
/// Cost: 8 bytes from A to B. Reveals: the sum to B, within noise and rounding. The caller sees to it that it is one of
/// at least a thousand rows or all there are, and is opened once. Throws InvalidArgument as `with_noise`; ProtocolError
/// at B if the sum is larger than it can be.
[[nodiscard]] std::optional<double> open_sum(Session& session, std::uint32_t layer, const ShareMatrix& values,
                                             const SumOpening& opening);
[[nodiscard]] inline PartyCost open_sum_cost() {
  return {.a_bytes = 8, .flights = 1};
}

/// Opens scores to B, each rounded to `score_bits` fractional bits: at B the scores, row by row; at A nothing. What B
/// learns of a score is its value and an error that is uniform over a unit, since A's share is.
/// Cost: 8 bytes for each from A to B. Reveals: the rounded scores to B. The caller sees to it that a row is scored
/// once per model. Throws InvalidArgument if shares have fewer fractional bits, ProtocolError at B if a score exceeds
/// `largest`.
[[nodiscard]] std::optional<std::vector<double>> open_scores(Session& session, std::uint32_t layer,
                                                             const ShareMatrix& scores, int score_bits,
                                                             double largest = 0x1p20);
[[nodiscard]] inline PartyCost open_scores_cost(std::size_t scores) {
  return {.a_bytes = 8 * scores, .flights = 1};
}

}  // namespace blindfl::mpc

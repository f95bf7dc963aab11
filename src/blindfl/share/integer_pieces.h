#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "blindfl/base/random.h"
#include "blindfl/base/secret.h"
#include "blindfl/share/share_matrix.h"
#include "blindfl/tensor/int_matrix.h"

// A shared number as two integers that add up to it, which shares do only modulo a power of 2: what stands on the left
// of a product, and what can be lifted into any ring without ever failing.
//
//   P draws its piece psi, a sum of four uniform words, and sends its share less psi, modulo 2^64.
//   Q adds that to its own share, and has s - psi.
//
// That hides s as smooth noise does: `divergence_of_piece`.

namespace blindfl {

/// Bits of the words, and their number.
constexpr int kPieceWordBits = 60;
constexpr std::size_t kPieceWords = 4;
/// No piece exceeds 2^kPieceBits in magnitude: psi is at most 2^61, and numbers are far below that.
constexpr int kPieceBits = 62;
/// The ring that shares are needed in.
constexpr int kPieceRing = 64;

/// P's pieces, as numbers in the ring of 2^128. `random` must be fresh for each.
[[nodiscard]] ShareMatrix draw_pieces(std::size_t rows, std::size_t cols, int scale, Random& random);
/// What P sends. Reveals: nothing to somebody who has neither share.
[[nodiscard]] SecretVector<std::uint64_t> piece_corrections(const ShareMatrix& share, const ShareMatrix& pieces);
/// Q's pieces, as numbers in the ring of 2^128. Throws ProtocolError, naming `what` they are pieces of, if one is
/// larger than it can be: the parties' shares do not belong together.
[[nodiscard]] ShareMatrix corrected_pieces(const ShareMatrix& share, std::span<const std::uint64_t> corrections,
                                           std::string_view what);

/// Pieces as integers.
[[nodiscard]] IntMatrix integers_of(const ShareMatrix& pieces);

/// Kullback-Leibler divergence, in nats, between the piece of a number of at most `largest` units that Q has, and that
/// of 0. Divergences of a run add up.
[[nodiscard]] double divergence_of_piece(double largest);

}  // namespace blindfl

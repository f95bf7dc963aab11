#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/base/bytes.h"
#include "blindfl/base/party.h"
#include "blindfl/protocol/session/top.h"
#include "blindfl/share/share_matrix.h"
#include "blindfl/tensor/fixed_point.h"
#include "blindfl/tensor/int_matrix.h"

// Between the source layers and the top model: opening Z to B on the way up, taking dZ from B on the way down. Layers
// end with shares and start from a Derivative, so that a secret-shared top can take the place of both steps.

namespace blindfl::protocol {

class Session;
class Sessions;

/// This party's share of Z, or of one layer's part of it.
struct OutputShare {
  ShareMatrix share;
  int bits = 0;  ///< of the largest value that the shares are taken to hide

  /// Shares of the sum. The one with the smaller scale is brought to the larger one, the one in the wider ring then to
  /// the narrower. A ring was chosen for all of Z and not for a part of it, so that `bits` grow no further than it has
  /// room for.
  friend OutputShare operator+(const OutputShare& a, const OutputShare& b);
};

/// The ring of Z has so many bits more than the largest value that is expected: a sign, and four more, so that B
/// notices shares that do not belong together. Of their sums, which are anything, only one in sixteen looks like a
/// value of Z.
constexpr int kOutputHeadroom = 5;

/// Z travels in words of 64 bits, signed, with room for the rounding: what is opened has at most this many bits.
constexpr int kMaxOpenedBits = 62;

/// The ring for shares of Z at `scale`, where no |Z| exceeds `largest`.
[[nodiscard]] int output_ring(double largest, int scale);

/// Z is opened at no more fractional bits than this unless a layer's options say what that gives away.
constexpr int kFinestOutputScale = 20;

/// Throws InvalidArgument, beginning with `where`, if Z cannot be opened at `output_scale` fractional bits: it has only
/// `product_scale` of them, or it would be opened finer than `kFinestOutputScale` and `finer_is_asked_for` is not set.
void check_output_scale(int output_scale, int product_scale, bool finer_is_asked_for, const std::string& where);
/// The same if values of Z as large as `largest` do not fit in the words that they travel in.
void check_largest_output(double largest, int output_scale, int product_scale, const std::string& where);

/// Rounds this party's share to `scale` fractional bits: a local step before opening. More precision would let B work
/// out A's features from Z. In a ring narrower than 2^128 that never fails, and leaves a narrower one.
/// Throws InvalidArgument if the hidden value could have too many bits to be rounded and opened safely.
[[nodiscard]] OutputShare round_output(const OutputShare& output, int scale);

/// This party's share in the session with one peer; `layer` is the number that both know its messages by.
struct SessionShare {
  Session* session = nullptr;
  std::uint32_t layer = 0;
  OutputShare output;
  /// At A: which output it is, in bytes that all A's make alike (`OutputMasks::next`). Not sent.
  Bytes about{};
};

/// Rounds shares before they are opened (`round_output`): of those of several A's B rounds the sum, once.
/// Throws as that does; InvalidArgument if several are not modulo the same power of 2 then.
[[nodiscard]] std::vector<SessionShare> round_outputs(std::span<const SessionShare> shares, int scale);

/// Opens Z, the sum over all sessions, to B. At B: the values of Z, row by row. At A, which has one session: nothing.
/// With several A's each adds its mask (OutputMasks) to its share.
/// Cost: one message of 8 bytes per value and session, A to B. Reveals: Z, rounded, modulo the ring that its shares
/// have, to B; with several A's the sum over all of them, and no part of it. Throws InvalidArgument if there is no
/// share, if the shares differ in shape or scale, if A has several, or if B has not one of each A that agreed on masks,
/// all modulo the same power of 2; ProtocolError at B if a value is larger than it can be: the parties' shares then do
/// not belong together.
[[nodiscard]] std::optional<std::vector<double>> open_output(std::span<const SessionShare> rounded);
/// The same with one session.
[[nodiscard]] std::optional<std::vector<double>> open_output(Session& session, std::uint32_t layer,
                                                             const OutputShare& rounded);

/// At an A that is one of several: what is opened from here on opens to B only if all A's have bound the same `value`
/// under `what` (`OutputMasks::bind`): that they are at the same step, for instance, which each of them knows from B
/// alone. Elsewhere, nothing. After `agree_on_masks`; it holds beyond another one.
void bind_outputs(const Sessions& sessions, std::string_view what, ByteView value);

/// What a backward pass starts from: the derivative dZ of the summed loss. Under an open top B has all of it, as
/// bounded integers, and A nothing. Under a shared top each party has a share, modulo a power of 2 that both know.
struct Derivative {
  std::size_t rows = 0;                 ///< of the batch, padding included
  std::size_t real_rows = 0;            ///< rows with data: public, as all shapes
  std::optional<IntMatrix> share{};     ///< at B under an open top: all of it
  std::optional<ShareMatrix> shared{};  ///< under a shared top: this party's share; padding is 0 in the sum
};

/// At B: dZ as bounded integers, row by row, with rows of zeros up to `rows`.
/// Throws DataError naming row and column if a value is not finite or out of range.
[[nodiscard]] Derivative encode_derivative(const FixedPoint& encoding, std::size_t rows, std::size_t cols,
                                           std::span<const double> dz);
/// At A: nothing but the numbers of rows.
[[nodiscard]] Derivative absent_derivative(std::size_t rows, std::size_t real_rows);

/// Under a shared top: this party's share of dZ, with a row for each row of the batch.
[[nodiscard]] Derivative shared_derivative(std::size_t real_rows, ShareMatrix share);

/// Local step under a shared top: this party's share of dZ at another scale and in a narrower ring, as a product takes
/// it. The peer does the same with its own.
/// Throws InvalidArgument, naming the layer and what it takes, if the share is modulo too small a power of 2: only its
/// owner knows whether a lift is safe.
[[nodiscard]] ShareMatrix derivative_share(const Derivative& derivative, int scale, int ring_bits,
                                           const std::string& layer_name);

/// Local step at B: dZ times a factor, rounded to another scale, as elements of a ring: what is encrypted of it.
[[nodiscard]] ShareMatrix scaled_derivative(const IntMatrix& dz, double factor, int scale, int ring_bits);

/// Local step at B: dZ rounded to a coarser scale, where no value exceeds `bound`.
[[nodiscard]] IntMatrix rounded_derivative(const IntMatrix& dz, int scale, std::uint64_t bound);

/// Layers call it before a backward pass over a batch of `rows` rows. Throws InvalidArgument, naming the layer, if the
/// derivative does not fit the batch, or if this party has not what it has of it under such a top.
void check_derivative(const Derivative& derivative, Party party, std::size_t rows, const std::string& layer_name,
                      Top top = Top::kOpen);

/// Local step: a share of a gradient at `scale`; what a short batch summed over fewer rows, as if it had `batch`.
[[nodiscard]] ShareMatrix finished_gradient(const ShareMatrix& raw, const Derivative& derivative, std::size_t batch,
                                            int scale);

}  // namespace blindfl::protocol

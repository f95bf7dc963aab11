#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>

#include "blindfl/mpc/multiplexer.h"
#include "blindfl/mpc/party_cost.h"
#include "blindfl/share/share_matrix.h"

namespace blindfl::mpc {

/// Of a ReLU of so many values, compared by so many bits, with results modulo 2^ring_bits; and of its derivative.
[[nodiscard]] PartyCost relu_cost(std::size_t values, int compared_bits, int ring_bits);
[[nodiscard]] PartyCost relu_derivative_cost(std::size_t values, int ring_bits);

/// max(z, 0) of a shared matrix, and its derivative: comparison, then selection; on the way back a selection by the
/// bits that were kept. Both parties do the same. Exact, if no bits are dropped.
class SharedRelu {
 public:
  /// What a forward pass keeps.
  enum class Keep { kForBackward, kNothing };

  /// For values that fit in `value_bits` bits, sign included. Results are modulo 2^ring_bits: 128, or up to 64, which
  /// takes half the bytes.
  /// The lowest `dropped_bits` are not compared, which takes fewer random OTs: a value that is not negative, but
  /// smaller than 2^dropped_bits units, may become 0, and its derivative too; one that is less than as much above the
  /// smallest that fits counts as out of range. `session` must outlive it. Throws InvalidArgument for bits that are not
  /// from 2 to 64, or another ring.
  SharedRelu(Session& session, int value_bits, int ring_bits = ShareMatrix::kMostRingBits, int dropped_bits = 0);

  [[nodiscard]] PartyCost forward_cost(std::size_t values) const {
    return relu_cost(values, value_bits_ - dropped_bits_, ring_bits_);
  }
  [[nodiscard]] PartyCost backward_cost(std::size_t values) const { return relu_derivative_cost(values, ring_bits_); }
  /// Random OTs for so many values, ahead of need: see `OtPools::reserve`.
  void expect(std::size_t values) { reserve(session_, forward_cost(values)); }

  /// This party's share of max(z, 0), at the scale of `z`. Cost: `forward_cost`. Reveals: nothing.
  /// Throws InvalidArgument if there are no values, or `z` is in a ring that is narrower than the result's.
  [[nodiscard]] ShareMatrix forward(const ShareMatrix& z, Keep keep = Keep::kForBackward);
  /// This party's share of `d` where the last z was not negative, of 0 elsewhere. Cost: `backward_cost`, one flight and
  /// no OTs. Reveals: nothing. Throws InvalidArgument unless it is the first since `forward`, and of the same shape: a
  /// second one would repeat pads.
  [[nodiscard]] ShareMatrix backward(const ShareMatrix& d);
  /// This party's shares of the bits "not negative" of the last `forward` that kept something.
  [[nodiscard]] const BitShares& bits() const { return bits_; }
  /// Forgets the last forward pass: where a run goes back to an earlier state.
  void forget();

 private:
  template <class Ring>
  [[nodiscard]] ShareMatrix forward_in(const ShareMatrix& z, Keep keep);

  Session& session_;
  std::uint32_t layer_;
  int value_bits_;
  int ring_bits_;
  int dropped_bits_;
  BitShares bits_;
  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
  std::variant<std::monostate, Multiplexer<std::uint64_t>, Multiplexer<UInt128>> kept_;
};

}  // namespace blindfl::mpc

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "blindfl/base/aligned.h"
#include "blindfl/he/lattice/modulus.h"

namespace blindfl::he::lattice {

/// The tables of an inverse transform of which only the coefficients stride - 1, 2 * stride - 1, and so on are wanted:
/// see Kernels::inverse_sparse. Made once for a modulus and a stride, by whoever needs it, and kept beside the modulus.
///
/// A block of `stride` neighbouring values belongs to roots whose powers `stride` are equal. So each block first
/// shrinks to one number, its inner product with weights, and these N / stride numbers go through a transform of their
/// own.
///
/// **Cost**: 8 N bytes and N powers modulo q: about a millisecond for N = 4096.
class SparseInverse {
 public:
  /// The coefficients will come out times `scale`, in [0, q). If `times` are given, N residues in the order that
  /// `Kernels::forward` leaves, values are multiplied by them first: a product that costs nothing. They may be secret.
  /// Throws InvalidArgument unless the stride is a power of two from 8 to N / 8, and `times` are none or N.
  SparseInverse(const Modulus& modulus, std::size_t stride, std::uint64_t scale,
                std::span<const std::uint64_t> times = {});

  [[nodiscard]] std::size_t stride() const { return stride_; }
  /// N / stride: how many coefficients come out.
  [[nodiscard]] std::size_t count() const { return count_; }

  /// What each value is multiplied by, in Montgomery form.
  [[nodiscard]] const AlignedSecret<std::uint64_t>& weights() const { return weights_; }
  /// For the transform of `count` values: its last stage, which divides by nothing; and the roots of its first ones.
  [[nodiscard]] const Modulus::Factors& last_stage() const { return last_stage_; }
  [[nodiscard]] const Modulus::LaneFactors& inverse_lane_roots() const { return inverse_lane_roots_; }
  /// For fewer than 64 values, the transform as a matrix, in Montgomery form: value g's part in coefficient k at
  /// g * count + k. Empty otherwise.
  [[nodiscard]] const AlignedVector<std::uint64_t>& matrix() const { return matrix_; }

 private:
  std::size_t stride_;
  std::size_t count_;
  AlignedSecret<std::uint64_t> weights_;
  Modulus::Factors last_stage_;
  Modulus::LaneFactors inverse_lane_roots_;
  AlignedVector<std::uint64_t> matrix_;
};

}  // namespace blindfl::he::lattice

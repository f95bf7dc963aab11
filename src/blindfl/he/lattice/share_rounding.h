#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "blindfl/he/lattice/fraction.h"
#include "blindfl/he/lattice/kernels.h"
#include "blindfl/he/lattice/lattice_plan.h"
#include "blindfl/he/lattice/scratch.h"
#include "blindfl/he/lattice/share_noise.h"

namespace blindfl::he::lattice {

/// The last step of shares: what a party has of each result, a sum of fractions with the primes as denominators, and
/// its noise, rounded to the result's ring. No branch depends on a value.
class ShareRounding {
 public:
  /// `kernels`, `one_over_modulus` and `noise` must outlive it.
  ShareRounding(const Kernels& kernels, std::span<const Fraction> one_over_modulus, const ShareNoise& noise,
                int ring_bits)
      : kernels_(kernels), one_over_modulus_(one_over_modulus), noise_(noise), ring_bits_(ring_bits) {}

  /// Of results i, from numerators[l * stride + i] over prime l, with the noise of value i, or none: tests do without.
  void shares(std::span<UInt128> out, const std::uint64_t* numerators, std::size_t stride, bool noisy) const {
    if (noise_.places() > kMostPlaces) {
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = long_share(numerators + i, stride, i, noisy);
      return;
    }
    ShareSum sum{.primes = one_over_modulus_.size(),
                 .noise = noisy ? noise_.words().data() : nullptr,
                 .noise_places = noise_.places(),
                 .ring_bits = ring_bits_};
    for (std::size_t l = 0; l < sum.primes; ++l) {
      const Fraction& f = one_over_modulus_[l];
      sum.tops[l] = {high64(f.low()), low64(f.high()), high64(f.high())};
      sum.numerators[l] = numerators + l * stride;
    }
    kernels_.round_shares(out.data(), sum, out.size());
  }

 private:
  /// Of noise, for kernels: see ShareSum.
  static constexpr int kMostPlaces = 128;

  [[nodiscard]] UInt128 long_share(const std::uint64_t* numerators, std::size_t stride, std::size_t value,
                                   bool noisy) const {
    Fraction f;
    for (std::size_t l = 0; l < one_over_modulus_.size(); ++l) {
      f.add_multiple(numerators[l * stride], one_over_modulus_[l]);
    }
    if (noisy) noise_.add_to(f, value);
    return f.rounded(ring_bits_);
  }

  const Kernels& kernels_;
  std::span<const Fraction> one_over_modulus_;
  const ShareNoise& noise_;
  int ring_bits_;
};

/// What a party has of a product's tile: for each prime a polynomial, `stride` apart, whose coefficients where results
/// stand are their numerators.
struct TileParts {
  const std::uint64_t* values;
  std::size_t stride;
};
/// Writes this party's shares of an area's results.
void round_results(const Kernels& kernels, std::span<const Fraction> one_over_modulus, const LatticePlan& plan,
                   const LatticePlan::Area& area, const TileParts& parts, bool noisy, Random& random,
                   ScratchPool& scratch, ShareMatrix& share);

}  // namespace blindfl::he::lattice

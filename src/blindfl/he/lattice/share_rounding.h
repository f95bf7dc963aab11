#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "blindfl/he/lattice/fraction.h"
#include "blindfl/he/lattice/share_noise.h"

namespace blindfl::he::lattice {

/// The last step of a share: what a party has of a result, a sum of fractions with the primes as denominators, and its
/// noise, rounded to the result's ring. No branch depends on a value.
class ShareRounding {
 public:
  /// `one_over_modulus` and `noise` must outlive it.
  ShareRounding(std::span<const Fraction> one_over_modulus, const ShareNoise& noise, int ring_bits)
      : one_over_modulus_(one_over_modulus),
        noise_(noise),
        ring_bits_(ring_bits),
        short_(noise.places() <= kPlaces - 64) {
    if (!short_) return;
    for (const Fraction& f : one_over_modulus) {
      tops_.push_back({high64(f.low()), low64(f.high()), high64(f.high())});
    }
  }

  /// Of `numerators[l * stride]` over prime l, with the noise of `value`, or none: tests do without.
  [[nodiscard]] UInt128 share(const std::uint64_t* numerators, std::size_t stride, std::size_t value,
                              bool noisy) const {
    const Int128 noise = noisy ? noise_.of(value) : 0;
    if (short_) return short_share(numerators, stride, noise);
    Fraction f;
    for (std::size_t l = 0; l < one_over_modulus_.size(); ++l) {
      f.add_multiple(numerators[l * stride], one_over_modulus_[l]);
    }
    f.add_shifted(noise, noise_.places());
    return f.rounded(ring_bits_);
  }

 private:
  /// Binary places of a short sum: what is left out is below 2^-140, where noise ends at 2^-128 or above.
  static constexpr int kPlaces = 192;
  /// 1 / a prime, to so many places.
  struct Top {
    std::uint64_t low;
    std::uint64_t middle;
    std::uint64_t high;
  };

  [[nodiscard]] UInt128 short_share(const std::uint64_t* numerators, std::size_t stride, Int128 noise) const {
    // Half a unit and the noise end within the upper 128 places.
    UInt128 high = UInt128{1} << (127 - ring_bits_);
    high += static_cast<UInt128>(noise) << (128 - noise_.places());
    std::uint64_t low = 0;
    for (std::size_t l = 0; l < tops_.size(); ++l) {
      const UInt128 numerator = numerators[l * stride];
      const UInt128 product = numerator * tops_[l].low + low;
      low = low64(product);
      high += numerator * tops_[l].middle + high64(product) + ((numerator * tops_[l].high) << 64);
    }
    return high >> (128 - ring_bits_);
  }

  std::span<const Fraction> one_over_modulus_;
  const ShareNoise& noise_;
  int ring_bits_;
  bool short_;
  std::vector<Top> tops_;
};

}  // namespace blindfl::he::lattice

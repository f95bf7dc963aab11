#pragma once

#include <array>
#include <cstdint>

#include "blindfl/base/int128.h"

namespace blindfl::he::lattice {

/// A number modulo 1 with 256 binary places: where ciphertexts modulo q meet plaintexts modulo 2^128, the top half.
class Fraction {
 public:
  constexpr Fraction() = default;

  /// floor(2^256 / q) / 2^256.
  static constexpr Fraction one_over(std::uint64_t q) {
    Fraction f;
    std::uint64_t rest = 1;
    for (std::size_t i = 4; i-- > 0;) {
      const UInt128 x = static_cast<UInt128>(rest) << 64;
      f.words_[i] = static_cast<std::uint64_t>(x / q);
      rest = static_cast<std::uint64_t>(x % q);
    }
    return f;
  }
  /// high / 2^128 + low / 2^256.
  static constexpr Fraction of(UInt128 high, UInt128 low) {
    Fraction f;
    f.words_ = {low64(low), high64(low), low64(high), high64(high)};
    return f;
  }

  [[nodiscard]] constexpr UInt128 high() const { return join(words_[3], words_[2]); }
  [[nodiscard]] constexpr UInt128 low() const { return join(words_[1], words_[0]); }

  constexpr Fraction& operator+=(const Fraction& other) {
    UInt128 carry = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      carry += static_cast<UInt128>(words_[i]) + other.words_[i];
      words_[i] = low64(carry);
      carry >>= 64;
    }
    return *this;
  }
  /// Adds factor * f.
  constexpr void add_multiple(std::uint64_t factor, const Fraction& f) {
    UInt128 product = 0;
    UInt128 carry = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      product += static_cast<UInt128>(factor) * f.words_[i];
      carry += static_cast<UInt128>(words_[i]) + low64(product);
      words_[i] = low64(carry);
      product >>= 64;
      carry >>= 64;
    }
  }
  bool operator==(const Fraction&) const = default;

 private:
  static constexpr UInt128 join(std::uint64_t high, std::uint64_t low) {
    return static_cast<UInt128>(high) << 64 | low;
  }
  std::array<std::uint64_t, 4> words_{};
};

}  // namespace blindfl::he::lattice

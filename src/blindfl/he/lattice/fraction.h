#pragma once

#include <array>
#include <cstdint>

#include "blindfl/base/int128.h"

namespace blindfl::he::lattice {

/// A number modulo 1 with 256 binary places: where ciphertexts modulo q meet plaintexts modulo 2^t, the top t
/// places.
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
  /// Adds value / 2^places, for places up to 256.
  constexpr void add_shifted(Int128 value, int places) {
    // The value, with its sign in front, shifted up by 256 - places.
    const int up = 256 - places;
    const std::uint64_t sign = value < 0 ? ~std::uint64_t{0} : 0;
    const auto bits = static_cast<UInt128>(value);
    const auto word = [&](int i) {
      return i < 0 ? std::uint64_t{0} : i == 0 ? low64(bits) : i == 1 ? high64(bits) : sign;
    };
    Fraction f;
    for (int i = 0; i < 4; ++i) {
      const int from = i - up / 64;
      const int rest = up % 64;
      f.words_[static_cast<std::size_t>(i)] = word(from) << rest | (rest == 0 ? 0 : word(from - 1) >> (64 - rest));
    }
    *this += f;
  }
  /// The nearest multiple of 2^-bits, in these units; 1 is 0 again.
  [[nodiscard]] constexpr UInt128 rounded(int bits) const {
    Fraction f = *this;
    f.add_shifted(1, bits + 1);
    return f.high() >> (128 - bits);
  }
  /// The nearest whole number to `t` times this, from 0 to t, but for the lowest 64 places.
  [[nodiscard]] constexpr std::uint64_t rounded_multiple(std::uint64_t t) const {
    UInt128 product = static_cast<UInt128>(t) * words_[1];
    product = static_cast<UInt128>(t) * words_[2] + high64(product);
    product = static_cast<UInt128>(t) * words_[3] + high64(product);
    return high64(product) + (low64(product) >> 63);
  }
  bool operator==(const Fraction&) const = default;

 private:
  static constexpr UInt128 join(std::uint64_t high, std::uint64_t low) {
    return static_cast<UInt128>(high) << 64 | low;
  }
  std::array<std::uint64_t, 4> words_{};
};

}  // namespace blindfl::he::lattice

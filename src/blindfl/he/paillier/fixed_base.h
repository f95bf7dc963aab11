#pragma once

#include <memory>
#include <span>
#include <vector>

#include "blindfl/he/paillier/ring.h"

namespace blindfl::he::paillier {

/// Powers of one base that is known long before: a table of its powers turns an exponentiation into a few products.
///
/// Table rows are looked up by the exponent's digits: the exponents are one-time randomness, never a key.
class FixedBase {
 public:
  /// For exponents below 2^exponent_bits. `ring` must outlive this.
  /// Cost: 2^window products for each `window` bits; memory for as many rows.
  FixedBase(const Ring& ring, const BigInt& base, std::size_t exponent_bits, std::size_t window);

  [[nodiscard]] std::size_t exponent_bits() const { return exponent_bits_; }
  [[nodiscard]] std::size_t exponent_limbs() const { return (exponent_bits_ + 63) / 64; }

  /// to[i] = base^exponents[i], where `exponents` holds `exponent_limbs()` limbs for each, little-endian.
  /// Cost: exponent_bits / window products each.
  void power(std::span<Limb* const> to, std::span<const Limb> exponents) const;

 private:
  [[nodiscard]] std::size_t digit(const Limb* exponent, std::size_t index) const;
  [[nodiscard]] const Limb* entry(std::size_t index, std::size_t digit) const {
    return digit == 0 ? ring_.one() : table_[(index << window_) + digit];
  }

  const Ring& ring_;
  std::size_t exponent_bits_;
  std::size_t window_;
  std::size_t digits_;
  Rows table_;
};

}  // namespace blindfl::he::paillier

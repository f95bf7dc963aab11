#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "blindfl/base/int128.h"
#include "blindfl/he/paillier/big_int.h"

namespace blindfl::he::paillier {

/// Several signed numbers side by side in one plaintext: the sum of v_i 2^(width i), |v_i| < 2^(width - 1).
///
/// Adding plaintexts adds slot by slot, and multiplying by an integer multiplies each slot, as long as no slot outgrows
/// its width: who computes keeps the books.
class Slots {
 public:
  Slots() = default;
  /// As many slots of `width` bits as signed plaintexts of `plaintext_bits` bits hold.
  /// Throws InvalidArgument if not even one fits.
  Slots(int plaintext_bits, int width);

  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] std::size_t count() const { return count_; }

  /// The signed plaintext of up to `count()` values, slot 0 first.
  [[nodiscard]] BigInt pack(std::span<const Int128> values) const;
  [[nodiscard]] BigInt pack(std::span<const BigInt> values) const;
  /// The first `values.size()` slots of a signed plaintext. Returns false if it is not a sum of that many slots.
  [[nodiscard]] bool unpack(const BigInt& plaintext, std::span<BigInt> values) const;

  bool operator==(const Slots& other) const = default;

 private:
  int width_ = 0;
  std::size_t count_ = 0;
};

[[nodiscard]] BigInt to_big(Int128 x);
/// Modulo 2^128.
[[nodiscard]] UInt128 low128(const BigInt& x);

}  // namespace blindfl::he::paillier

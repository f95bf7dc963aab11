#include "blindfl/he/paillier/slots.h"

#include "blindfl/base/error.h"

namespace blindfl::he::paillier {

Slots::Slots(int plaintext_bits, int width) : width_(width) {
  require<InvalidArgument>(width > 1 && width <= plaintext_bits, "a slot of ", width,
                           " bits does not fit in plaintexts of ", plaintext_bits);
  count_ = static_cast<std::size_t>(plaintext_bits / width);
}

BigInt to_big(Int128 x) {
  const bool negative = x < 0;
  const UInt128 magnitude = negative ? -static_cast<UInt128>(x) : static_cast<UInt128>(x);
  BigInt big;
  mpz_set_ui(big, high64(magnitude));
  mpz_mul_2exp(big, big, 64);
  mpz_add_ui(big, big, low64(magnitude));
  if (negative) mpz_neg(big, big);
  return big;
}

UInt128 low128(const BigInt& x) {
  BigInt low;
  mpz_fdiv_r_2exp(low, x, 128);
  UInt128 result = static_cast<UInt128>(mpz_getlimbn(low, 1)) << 64;
  result |= mpz_getlimbn(low, 0);
  return result;
}

BigInt Slots::pack(std::span<const BigInt> values) const {
  require<InvalidArgument>(values.size() <= count_, "more values than slots");
  BigInt packed;
  for (std::size_t i = values.size(); i-- > 0;) {
    require<InvalidArgument>(values[i].bits() < static_cast<std::size_t>(width_), "a value outgrew its slot of ",
                             width_, " bits");
    mpz_mul_2exp(packed, packed, static_cast<mp_bitcnt_t>(width_));
    mpz_add(packed, packed, values[i]);
  }
  return packed;
}

BigInt Slots::pack(std::span<const Int128> values) const {
  std::vector<BigInt> big;
  big.reserve(values.size());
  for (const Int128 x : values) big.push_back(to_big(x));
  return pack(big);
}

bool Slots::unpack(const BigInt& plaintext, std::span<BigInt> values) const {
  const auto width = static_cast<mp_bitcnt_t>(width_);
  const BigInt half = BigInt::power_of_two(width - 1);
  // With half a slot added to each, all digits are positive, and none borrows from the next.
  BigInt rest = plaintext;
  BigInt offset;
  for (std::size_t i = 0; i < values.size(); ++i) {
    mpz_mul_2exp(offset, half, width * i);
    mpz_add(rest, rest, offset);
  }
  for (BigInt& value : values) {
    mpz_fdiv_r_2exp(value, rest, width);
    mpz_sub(value, value, half);
    mpz_fdiv_q_2exp(rest, rest, width);
  }
  return mpz_sgn(static_cast<mpz_srcptr>(rest)) == 0;
}

}  // namespace blindfl::he::paillier

#include "blindfl/he/lattice/element_cipher.h"

#include <algorithm>

namespace blindfl::he::lattice {

namespace {

/// All ones where a > b, else 0; both below 2^63.
std::uint64_t mask_above(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(b - a) >> 63);
}

std::uint64_t product_modulo(const Params& params, const Modulus& t) {
  std::uint64_t product = 1;
  for (const Modulus& m : params.moduli()) product = t.multiply(product, m.value() % t.value());
  return product;
}

}  // namespace

ElementCipher::ElementCipher(const LatticeElementPlan& plan, const Kernels& kernels)
    : Polynomials(plan.shared_params(), kernels) {
  for (const std::uint64_t t : plan.primes()) plaintexts_.emplace_back(t, degree());
  for (std::size_t k = 0; k < plaintexts_.size(); ++k) {
    const Modulus& t = plaintexts_[k];
    Plaintext constants;
    const std::uint64_t q = product_modulo(params(), t);
    constants.times_q = t.factors({t.multiply(t.last_stage().value[0], q), t.multiply(t.last_stage().value[1], q)});
    for (const Modulus& m : params().moduli()) {
      constants.minus_one_over_t.push_back(m.to_montgomery(m.value() - m.inverse(t.value() % m.value())));
    }
    for (std::size_t j = 0; j < k; ++j) {
      constants.one_over_radix.push_back(t.to_montgomery(t.inverse(plaintexts_[j].value() % t.value())));
    }
    constants_.push_back(std::move(constants));
  }
  for (std::size_t l = 0; l < moduli(); ++l) {
    const std::uint64_t q = params().moduli()[l].value();
    crt_.push_back(params().one_over_others(l));
    crt_quotient_.push_back(static_cast<std::uint64_t>((static_cast<UInt128>(crt_.back()) << 64) / q));
    one_over_modulus_.push_back(Fraction::one_over(q));
  }
}

void ElementCipher::encode_right(std::size_t prime, std::span<const std::int64_t> slots, std::uint64_t* r) const {
  const Modulus& t = plaintexts_[prime];
  kernels().lift_wide(r, slots.data(), degree(), t);
  kernels().inverse(r, t, constants_[prime].times_q);
}

void ElementCipher::add_above_half(std::size_t prime, const std::uint64_t* r, std::span<std::int64_t> error) const {
  const std::uint64_t half = plaintexts_[prime].value() / 2;
  for (std::size_t i = 0; i < error.size(); ++i) error[i] -= static_cast<std::int64_t>(mask_above(r[i], half));
}

void ElementCipher::transform_right(std::size_t prime, std::size_t modulus, const std::uint64_t* r,
                                    std::span<const std::int64_t> error, std::uint64_t* out) const {
  const Modulus& m = params().moduli()[modulus];
  const std::size_t n = degree();
  kernels().lift(out, error.data(), n, m);
  kernels().accumulate(out, {&constants_[prime].minus_one_over_t[modulus], 1, n, r, n, 1, prime_bits()}, n, m);
  kernels().forward(out, m);
}

void ElementCipher::encode_left(std::size_t prime, std::span<const std::int64_t> slots,
                                std::span<std::int64_t> out) const {
  const Modulus& t = plaintexts_[prime];
  auto* residues = reinterpret_cast<std::uint64_t*>(out.data());
  kernels().lift_wide(residues, slots.data(), degree(), t);
  kernels().inverse(residues, t, t.last_stage());
  const std::uint64_t half = t.value() / 2;
  for (std::size_t i = 0; i < out.size(); ++i) residues[i] -= t.value() & mask_above(residues[i], half);
}

void ElementCipher::scale_for_fractions(std::uint64_t* polynomial) const {
  for (std::size_t l = 0; l < moduli(); ++l) {
    const std::uint64_t q = params().moduli()[l].value();
    std::uint64_t* part = polynomial + l * degree();
    for (std::size_t i = 0; i < degree(); ++i) {
      const std::uint64_t y = part[i] * crt_[l] - high64(static_cast<UInt128>(part[i]) * crt_quotient_[l]) * q;
      part[i] = std::min(y, y - q);
    }
  }
}

void ElementCipher::round_to_slots(std::size_t prime, const std::uint64_t* numerators, std::uint64_t* slots) const {
  const Modulus& t = plaintexts_[prime];
  for (std::size_t i = 0; i < degree(); ++i) {
    Fraction f;
    for (std::size_t l = 0; l < moduli(); ++l) f.add_multiple(numerators[l * degree() + i], one_over_modulus_[l]);
    const std::uint64_t rounded = f.rounded_multiple(t.value());
    slots[i] = std::min(rounded, rounded - t.value());  // t is 0
  }
  kernels().forward(slots, t);
}

void ElementCipher::add_halves(std::size_t prime, std::uint64_t* slots) const {
  const std::uint64_t t = plaintexts_[prime].value();
  for (std::size_t i = 0; i < degree() / 2; ++i) {
    const std::uint64_t sum = slots[i] + slots[degree() / 2 + i];
    slots[i] = std::min(sum, sum - t);
  }
}

void ElementCipher::join(std::uint64_t* slots, std::span<UInt128> out) const {
  const std::size_t n = degree();
  for (std::size_t k = 1; k < primes(); ++k) {
    for (std::size_t j = 0; j < k; ++j) {
      kernels().subtract_divide(slots + k * n, slots + j * n, constants_[k].one_over_radix[j], n, plaintexts_[k]);
    }
  }
  UInt128 whole = 1;
  for (const Modulus& t : plaintexts_) whole *= t.value();
  for (std::size_t i = 0; i < out.size(); ++i) {
    // Horner's rule; and digit by digit, whether it is above (T - 1) / 2, whose digits are (t - 1) / 2.
    UInt128 value = 0;
    std::uint64_t above = 0;
    for (std::size_t k = 0; k < primes(); ++k) {
      const std::uint64_t half = plaintexts_[k].value() / 2;
      const std::uint64_t digit = slots[k * n + i];
      above = mask_above(digit, half) | (above & ~mask_above(half, digit));
    }
    for (std::size_t k = primes(); k-- > 0;) value = value * plaintexts_[k].value() + slots[k * n + i];
    const auto wide = static_cast<UInt128>(static_cast<Int128>(static_cast<std::int64_t>(above)));
    out[i] = value - (whole & wide);
  }
}

}  // namespace blindfl::he::lattice

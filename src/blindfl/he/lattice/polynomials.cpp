#include "blindfl/he/lattice/polynomials.h"

#include <algorithm>

#include "blindfl/he/lattice/packing.h"
#include "blindfl/he/lattice/sampler.h"

namespace blindfl::he::lattice {

Polynomials::Polynomials(std::shared_ptr<const Params> params, const Kernels& kernels)
    : params_(std::move(params)), kernels_(kernels) {
  for (std::size_t l = 0; l < moduli(); ++l) {
    const Modulus& m = params_->moduli()[l];
    one_over_radix_.emplace_back();
    radix_.emplace_back();
    for (std::size_t k = 0; k < l; ++k) {
      const std::uint64_t other = params_->moduli()[k].value() % m.value();
      one_over_radix_[l].push_back(m.to_montgomery(m.inverse(other)));
      radix_[l].push_back(m.to_montgomery(other));
    }
  }
}

void Polynomials::transform(std::span<const std::int64_t> coefficients, int bits, std::size_t modulus,
                            std::uint64_t* out) const {
  const Modulus& m = params_->moduli()[modulus];
  if (m.bits() > bits) {
    kernels_.lift(out, coefficients.data(), degree(), m);
  } else {
    kernels_.lift_wide(out, coefficients.data(), degree(), m);
  }
  kernels_.forward(out, m);
}

void Polynomials::to_digits(std::uint64_t* polynomial) const {
  for (std::size_t l = 1; l < moduli(); ++l) {
    for (std::size_t k = 0; k < l; ++k) {
      kernels_.subtract_divide(polynomial + l * degree(), polynomial + k * degree(), one_over_radix_[l][k], degree(),
                               params_->moduli()[l]);
    }
  }
}

void Polynomials::from_digits(const std::uint64_t* digits, std::size_t modulus, std::uint64_t* out) const {
  std::copy_n(digits + modulus * degree(), degree(), out);
  // Horner's rule. Digits above this prime's own are multiples of it.
  for (std::size_t k = modulus; k-- > 0;) {
    kernels_.multiply_add(out, radix_[modulus][k], digits + k * degree(), degree(), params_->moduli()[modulus]);
  }
}

void Polynomials::add_fresh_zero(const PublicKey& key, const Sum& sum, Random& random,
                                 std::span<std::uint64_t> out) const {
  const std::size_t n = degree();
  auto lease = scratch_.lease(4 * n, 4);
  const auto small = lease.take_signed(n);
  const auto error = lease.take_signed(n);
  const auto words = lease.take(n);
  const auto u = lease.take(n);
  sample_ternary(kernels_, random, small, words);
  sample_error(kernels_, random, error, words);
  for (std::size_t l = 0; l < moduli(); ++l) {
    const Modulus& m = params_->moduli()[l];
    kernels_.lift(u.data(), small.data(), n, m);
    kernels_.forward(u.data(), m);
    for (std::size_t c = 0; c < 2; ++c) {
      std::uint64_t* to = out.data() + c * size() + l * n;
      kernels_.multiply_accumulate(
          to, u.data(), (c == 0 ? key.b : key.a).data() + l * n,
          {sum.plaintexts + l * n, size(), 1, sum.ciphertexts + c * size() + l * n, 2 * size(), sum.count, 0}, n, m);
      kernels_.inverse(to, m, m.last_stage_times_radix());
      // The error of the first component would never leave this party.
      if (c == 1) kernels_.add_small(to, error.data(), n, m);
    }
  }
}

void Polynomials::load(const std::uint64_t* packed, std::span<const Seed> seeds, std::uint64_t* out,
                       const char* what) const {
  const std::size_t n = degree();
  auto lease = scratch_.lease(n);
  const auto words = lease.take(n);
  for (std::size_t l = 0; l < moduli(); ++l) {
    const Modulus& m = params_->moduli()[l];
    unpack_residues(*params_, l, kernels_, packed, out + l * n, 64, what);
    packed += packed_words(n, m.bits());
    KeyStream stream(seeds[l]);
    sample_uniform(kernels_, stream, m, out + size() + l * n, 64, words);
  }
}

}  // namespace blindfl::he::lattice

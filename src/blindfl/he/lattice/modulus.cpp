#include "blindfl/he/lattice/modulus.h"

#include <array>
#include <bit>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/base/int128.h"

namespace blindfl::he::lattice {

namespace {

std::uint64_t multiply_modulo(std::uint64_t a, std::uint64_t b, std::uint64_t q) {
  return static_cast<std::uint64_t>(static_cast<UInt128>(a) * b % q);
}

std::uint64_t power_modulo(std::uint64_t a, std::uint64_t exponent, std::uint64_t q) {
  std::uint64_t result = 1 % q;
  for (a %= q; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = multiply_modulo(result, a, q);
    a = multiply_modulo(a, a, q);
  }
  return result;
}

std::size_t reversed(std::size_t i, int bits) {
  std::size_t r = 0;
  for (int b = 0; b < bits; ++b) r |= ((i >> b) & 1) << (bits - 1 - b);
  return r;
}

template <std::size_t Lanes, class T>
std::vector<T> arranged_for(const std::vector<T>& values, const std::vector<T>& quotients, std::size_t count) {
  std::vector<T> all;
  all.reserve(count / Lanes * (Lanes - 1) * 2);
  for (std::size_t block = 0; block < count / (Lanes * Lanes); ++block) {
    for (std::size_t stage = 0; stage < std::countr_zero(Lanes); ++stage) {
      for (std::size_t h = 0; h < std::size_t{1} << stage; ++h) {
        for (const auto* table : {&values, &quotients}) {
          for (std::size_t lane = 0; lane < Lanes; ++lane) {
            all.push_back((*table)[((count / Lanes + Lanes * block + lane) << stage) + h]);
          }
        }
      }
    }
  }
  return all;
}

}  // namespace

bool is_prime(std::uint64_t n) {
  // Miller and Rabin's test with these bases makes no mistake below 2^64.
  constexpr std::array<std::uint64_t, 12> kBases{2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
  if (n < 2) return false;
  for (const std::uint64_t p : kBases) {
    if (n % p == 0) return n == p;
  }
  const int twos = std::countr_zero(n - 1);
  const std::uint64_t odd = (n - 1) >> twos;
  for (const std::uint64_t base : kBases) {
    std::uint64_t x = power_modulo(base, odd, n);
    bool composite = x != 1 && x != n - 1;
    for (int i = 1; i < twos && composite; ++i) {
      x = multiply_modulo(x, x, n);
      composite = x != n - 1;
    }
    if (composite) return false;
  }
  return true;
}

std::vector<std::uint64_t> largest_primes(int bits, std::size_t count, std::size_t degree) {
  require<InvalidArgument>(bits >= Modulus::kMinBits && bits <= Modulus::kMaxBits, "a prime of ", bits,
                           " bits is not between ", Modulus::kMinBits, " and ", Modulus::kMaxBits);
  const std::uint64_t step = 2 * degree;
  const std::uint64_t low = std::uint64_t{1} << (bits - 1);
  std::vector<std::uint64_t> primes;
  for (std::uint64_t q = (std::uint64_t{1} << bits) - step + 1; q > low && primes.size() < count; q -= step) {
    if (is_prime(q)) primes.push_back(q);
  }
  require<InvalidArgument>(primes.size() == count, "there are only ", primes.size(), " primes of ", bits,
                           " bits for degree ", degree);
  return primes;
}

Modulus::Modulus(std::uint64_t prime, std::size_t degree)
    : q_(prime), degree_(degree), bits_(static_cast<int>(std::bit_width(prime))) {
  require<InvalidArgument>(std::has_single_bit(degree) && degree >= 64 && degree <= 32768, "a ring of degree ", degree,
                           " is not a power of two between 64 and 32768");
  require<InvalidArgument>(bits_ >= kMinBits && bits_ <= kMaxBits && prime % (2 * degree) == 1 && is_prime(prime),
                           "a modulus must be a prime of ", kMinBits, " to ", kMaxBits, " bits and 1 modulo ",
                           2 * degree);
  // Newton's iteration doubles the correct bits of 1 / q modulo 2^64, from 3 on.
  std::uint64_t inverse_of_q = q_;
  for (int i = 0; i < 5; ++i) inverse_of_q *= 2 - q_ * inverse_of_q;
  negated_inverse_ = (0 - inverse_of_q) & ((std::uint64_t{1} << kRadixBits) - 1);

  const std::uint64_t root = primitive_root();
  const std::uint64_t inverse_root = inverse(root);
  const int log_degree = std::countr_zero(degree);
  std::vector<std::uint64_t> powers(degree);
  std::vector<std::uint64_t> inverse_powers(degree);
  std::uint64_t power = 1;
  std::uint64_t inverse_power = 1;
  for (std::size_t i = 0; i < degree; ++i) {
    powers[reversed(i, log_degree)] = power;
    inverse_powers[reversed(i, log_degree)] = inverse_power;
    power = multiply(power, root);
    inverse_power = multiply(inverse_power, inverse_root);
  }
  const std::uint64_t n_inverse = inverse(degree);
  const std::uint64_t n_inverse_times_root = multiply(n_inverse, inverse_powers[1]);
  last_stage_ = factors({n_inverse, n_inverse_times_root});
  last_stage_times_radix_ = factors({to_montgomery(n_inverse), to_montgomery(n_inverse_times_root)});
  one_over_radix_ = factors({inverse(to_montgomery(1)), inverse(4)});
  roots_ = factors(std::move(powers));
  inverse_roots_ = factors(std::move(inverse_powers));
  lane_roots_ = arranged(roots_, degree_);
  inverse_lane_roots_ = arranged(inverse_roots_, degree_);
}

Modulus::LaneFactors Modulus::arranged(const Factors& roots, std::size_t count) {
  return {arranged_for<8>(roots.value, roots.quotient52, count),
          arranged_for<4>(roots.real, roots.real_quotient, count)};
}

std::uint64_t Modulus::primitive_root() const {
  // An element whose N-th power is -1 has order 2N; every second candidate has.
  for (std::uint64_t candidate = 2;; ++candidate) {
    const std::uint64_t root = power(candidate, (q_ - 1) / (2 * degree_));
    if (power(root, degree_) == q_ - 1) return root;
  }
}

Modulus::Factors Modulus::factors(std::vector<std::uint64_t> values) const {
  Factors f{std::move(values), {}, {}, {}, {}};
  for (const std::uint64_t v : f.value) {
    f.quotient52.push_back(static_cast<std::uint64_t>((static_cast<UInt128>(v) << 52) / q_));
    f.quotient64.push_back(static_cast<std::uint64_t>((static_cast<UInt128>(v) << 64) / q_));
    f.real.push_back(static_cast<double>(v));
    f.real_quotient.push_back(static_cast<double>(v) / static_cast<double>(q_));
  }
  return f;
}

std::uint64_t Modulus::add(std::uint64_t a, std::uint64_t b) const {
  return (a + b) % q_;
}
std::uint64_t Modulus::multiply(std::uint64_t a, std::uint64_t b) const {
  return multiply_modulo(a, b, q_);
}
std::uint64_t Modulus::power(std::uint64_t a, std::uint64_t exponent) const {
  return power_modulo(a, exponent, q_);
}
std::uint64_t Modulus::inverse(std::uint64_t a) const {
  return power(a, q_ - 2);
}

std::uint64_t Modulus::to_montgomery(std::uint64_t a) const {
  return static_cast<std::uint64_t>((static_cast<UInt128>(a) << kRadixBits) % q_);
}

}  // namespace blindfl::he::lattice

#include "blindfl/he/lattice/params.h"

#include <locale>
#include <map>
#include <numeric>
#include <sstream>

#include "blindfl/base/error.h"
#include "blindfl/he/lattice/kernels.h"
#include "blindfl/he/lattice/packing.h"

namespace blindfl::he::lattice {

const std::vector<ParamsSpec>& parameter_sets() {
  static const std::vector<ParamsSpec> sets{{4096, {50, 50}},     {4096, {35, 35, 35}},     {8192, {44, 44, 44}},
                                            {8192, {50, 50, 50}}, {8192, {44, 44, 44, 44}}, {8192, {50, 50, 50, 50}}};
  return sets;
}

int Params::largest_log_q(std::size_t degree) {
  switch (degree) {
    case 4096:
      return 106;
    case 8192:
      return 214;
    default:
      return 0;
  }
}

Params::Params(const ParamsSpec& spec) : Params(spec, Floor::kEnforced) {}

Params::Params(const ParamsSpec& spec, Floor floor)
    : degree_(spec.degree), log_q_(std::accumulate(spec.prime_bits.begin(), spec.prime_bits.end(), 0)) {
  require<InvalidArgument>(!spec.prime_bits.empty(), "lattice: a modulus needs at least one prime");
  require<InvalidArgument>(spec.degree % kPackedBlock == 0, "lattice: a degree of ", spec.degree,
                           " is not a multiple of ", kPackedBlock);
  name_ = std::to_string(degree_) + "/" + std::to_string(log_q_);

  std::map<int, std::size_t> wanted;
  for (const int bits : spec.prime_bits) ++wanted[bits];
  std::map<int, std::vector<std::uint64_t>> primes;
  for (const auto& [bits, count] : wanted) primes[bits] = largest_primes(bits, count, spec.degree);
  for (const int bits : spec.prime_bits) {
    auto& left = primes[bits];
    const std::uint64_t prime = left.front();
    // Bounds count with powers of two.
    require<InvalidArgument>((std::uint64_t{1} << bits) - prime < prime >> 10, "lattice: no prime of ", bits,
                             " bits for degree ", spec.degree, " is close enough to a power of two");
    moduli_.emplace_back(prime, spec.degree);
    left.erase(left.begin());
  }
  require<InvalidArgument>(floor == Floor::kIgnored || log_q_ <= largest_log_q(spec.degree), "lattice: a modulus of ",
                           log_q_, " bits at degree ", spec.degree, " is below 128-bit security, which allows ",
                           largest_log_q(spec.degree));
  require<InvalidArgument>(spec.prime_bits.size() <= ShareSum::kMostPrimes, "lattice: a modulus has at most ",
                           ShareSum::kMostPrimes, " primes, not ", spec.prime_bits.size());
}

std::uint64_t Params::one_over_others(std::size_t l) const {
  const Modulus& m = moduli_[l];
  std::uint64_t others = 1;
  for (std::size_t k = 0; k < moduli_.size(); ++k) {
    if (k != l) others = m.multiply(others, moduli_[k].value() % m.value());
  }
  return m.inverse(others);
}

std::string Params::describe() const {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << "degree " << degree_ << ", primes";
  for (const Modulus& m : moduli_) text << " " << m.value();
  return text.str();
}

}  // namespace blindfl::he::lattice

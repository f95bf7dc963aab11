#include "blindfl/he/lattice/params.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <locale>
#include <map>
#include <sstream>

#include "blindfl/base/error.h"
#include "blindfl/he/lattice/packing.h"

namespace blindfl::he::lattice {

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
    : degree_(spec.degree), kept_(spec.prime_bits.size() - std::min(spec.dropped_primes, spec.prime_bits.size())) {
  require<InvalidArgument>(!spec.prime_bits.empty() && kept_ > 0, "lattice: a reply must keep at least one prime");

  require<InvalidArgument>(std::ranges::is_sorted(spec.prime_bits, std::greater<>()),
                           "lattice: primes must come largest first; the smallest are dropped from a reply");
  require<InvalidArgument>(spec.degree % kPackedBlock == 0, "lattice: a degree of ", spec.degree,
                           " is not a multiple of ", kPackedBlock);

  std::map<int, std::size_t> wanted;
  for (const int bits : spec.prime_bits) ++wanted[bits];
  std::map<int, std::vector<std::uint64_t>> primes;
  for (const auto& [bits, count] : wanted) primes[bits] = largest_primes(bits, count, spec.degree);
  double log_q = 0;
  double log_kept = 0;
  for (const int bits : spec.prime_bits) {
    auto& left = primes[bits];
    moduli_.emplace_back(left.front(), spec.degree);
    left.erase(left.begin());
    log_q += std::log2(static_cast<double>(moduli_.back().value()));
    if (moduli_.size() <= kept_) log_kept = log_q;
  }
  log_q_ = static_cast<int>(std::ceil(log_q));

  // Rounding a reply to the kept primes costs at most (N / 2) / q': it must stay well below half a plaintext's unit,
  // 2^-129, beside the flooding of 2^-130. See docs/protocols.md.
  const double rounding = std::log2(static_cast<double>(spec.degree) / 2) - log_kept;
  require<InvalidArgument>(rounding <= -131.9, "lattice: the primes kept in a reply have ", log_kept,
                           " bits, too few to decrypt");
  require<InvalidArgument>(floor == Floor::kIgnored || log_q_ <= largest_log_q(spec.degree), "lattice: a modulus of ",
                           log_q_, " bits at degree ", spec.degree, " is below 128-bit security, which allows ",
                           largest_log_q(spec.degree));
}

std::uint64_t Params::one_over_others(std::size_t l, std::size_t count) const {
  const Modulus& m = moduli_[l];
  std::uint64_t others = 1;
  for (std::size_t k = 0; k < count; ++k) {
    if (k != l) others = m.multiply(others, moduli_[k].value() % m.value());
  }
  return m.inverse(others);
}

std::string Params::describe() const {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << "lattice, degree " << degree_ << ", primes";
  for (const Modulus& m : moduli_) text << " " << m.value();
  text << ", " << moduli_.size() - kept_ << " dropped, plaintexts modulo 2^128";
  return text.str();
}

}  // namespace blindfl::he::lattice

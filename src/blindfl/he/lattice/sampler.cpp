#include "blindfl/he/lattice/sampler.h"

#include <bit>

#include "blindfl/he/lattice/params.h"

namespace blindfl::he::lattice {

void sample_uniform(KeyStream& stream, const Modulus& modulus, std::span<std::uint64_t> out) {
  const std::uint64_t mask = (std::uint64_t{1} << modulus.bits()) - 1;
  stream.fill(std::as_writable_bytes(out));
  std::uint64_t beyond = 0;
  for (std::uint64_t& x : out) {
    x &= mask;
    beyond |= static_cast<std::uint64_t>(x >= modulus.value());
  }
  if (beyond == 0) return;
  for (std::uint64_t& x : out) {
    while (x >= modulus.value()) {
      stream.fill(std::as_writable_bytes(std::span(&x, 1)));
      x &= mask;
    }
  }
}

void sample_ternary(Random& random, std::span<std::int64_t> out) {
  random.fill_integers(out);
  // 3 * (a 32-bit number) / 2^32: 0, 1 or 2, with a bias below 2^-31.
  for (std::int64_t& x : out) {
    x = static_cast<std::int64_t>((static_cast<std::uint64_t>(x) >> 32) * 3 >> 32) - 1;
  }
}

void sample_error(Random& random, std::span<std::int64_t> out) {
  constexpr std::uint64_t kCoins = (std::uint64_t{1} << Params::kErrorBound) - 1;
  random.fill_integers(out);
  for (std::int64_t& x : out) {
    const auto bits = static_cast<std::uint64_t>(x);
    x = std::popcount(bits & kCoins) - std::popcount(bits >> Params::kErrorBound & kCoins);
  }
}

void lift(std::span<const std::int64_t> small, const Modulus& modulus, std::span<std::uint64_t> out) {
  for (std::size_t i = 0; i < small.size(); ++i) {
    out[i] = static_cast<std::uint64_t>(small[i]) + (static_cast<std::uint64_t>(small[i] >> 63) & modulus.value());
  }
}

}  // namespace blindfl::he::lattice

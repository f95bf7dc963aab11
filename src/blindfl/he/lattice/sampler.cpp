#include "blindfl/he/lattice/sampler.h"

#include "blindfl/he/lattice/packing.h"
#include "blindfl/he/lattice/params.h"

namespace blindfl::he::lattice {

void sample_uniform(const Kernels& kernels, KeyStream& stream, const Modulus& modulus, std::uint64_t* out,
                    std::size_t stride, std::span<std::uint64_t> words) {
  const std::size_t n = words.size();
  stream.fill(std::as_writable_bytes(words.first(packed_words(n, modulus.bits()))));
  if (kernels.unpack(out, stride, words.data(), n, modulus.bits(), modulus.value())) return;
  for (std::size_t i = 0; i < n; ++i) {
    std::uint64_t& x = out[i / 64 * stride + i % 64];
    while (x >= modulus.value()) {
      stream.fill(std::as_writable_bytes(std::span(&x, 1)));
      x &= (std::uint64_t{1} << modulus.bits()) - 1;
    }
  }
}

void sample_ternary(const Kernels& kernels, Random& random, std::span<std::int64_t> out,
                    std::span<std::uint64_t> words) {
  random.fill(std::as_writable_bytes(words.first(out.size() / 2)));
  kernels.ternary(out.data(), words.data(), out.size());
}

void sample_error(const Kernels& kernels, Random& random, std::span<std::int64_t> out, std::span<std::uint64_t> words) {
  constexpr int kCoins = 2 * Params::kErrorBound;
  auto* bits = reinterpret_cast<std::uint64_t*>(out.data());
  random.fill(std::as_writable_bytes(words.first(packed_words(out.size(), kCoins))));
  kernels.unpack(bits, 64, words.data(), out.size(), kCoins, std::uint64_t{1} << kCoins);
  kernels.centred_binomial(bits, out.size());
}

}  // namespace blindfl::he::lattice

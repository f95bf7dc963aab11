#include "blindfl/he/lattice/share_rounding.h"

#include <algorithm>

#include "blindfl/base/secret.h"

namespace blindfl::he::lattice {

// Noise comes before rounding: what is rounded depends on nothing but their sum.
void round_results(const Kernels& kernels, std::span<const Fraction> one_over_modulus, const LatticePlan& plan,
                   const LatticePlan::Area& area, const TileParts& parts, bool noisy, Random& random,
                   ScratchPool& scratch, ShareMatrix& share) {
  const Tiling& t = plan.tiling();
  const bool sparse = t.sparse_results(plan.params().degree());
  const std::size_t count = area.size();
  auto lease = scratch.lease(one_over_modulus.size() * count);
  const auto numerators = lease.take(one_over_modulus.size() * count);
  for (std::size_t l = 0; l < one_over_modulus.size(); ++l) {
    const std::uint64_t* from = parts.values + l * parts.stride;
    std::uint64_t* to = numerators.data() + l * count;
    if (sparse) {
      std::copy_n(from, count, to);
      continue;
    }
    for (std::size_t r = 0; r < area.rows; ++r, to += area.cols) {
      std::copy_n(from + t.result_position(r, 0), area.cols, to);
    }
  }
  const ShareNoise noise(count, plan.budget().noise_word, plan.spec().ring_bits, random);
  SecretVector<UInt128> shares(count);
  ShareRounding(kernels, one_over_modulus, noise, plan.spec().ring_bits)
      .shares(shares, numerators.data(), count, noisy);
  for (std::size_t r = 0; r < area.rows; ++r) {
    std::copy_n(shares.begin() + static_cast<std::ptrdiff_t>(r * area.cols), area.cols,
                share.row(area.first_row + r).subspan(area.first_col).begin());
  }
}

}  // namespace blindfl::he::lattice

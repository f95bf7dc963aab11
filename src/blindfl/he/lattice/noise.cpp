#include "blindfl/he/lattice/noise.h"

#include <algorithm>
#include <cmath>

#include "blindfl/base/int128.h"
#include "blindfl/he/lattice/share_noise.h"

namespace blindfl::he::lattice {

namespace {

/// What the divergence of noise and shifted noise is, in units of (shift / deviation)^2 / 2: the Fisher information of
/// a sum of four uniform words times its variance, rounded up.
constexpr double kShape = 1.04;

/// Variance of an error, 10.5, with what the rounding of a uniform plaintext adds.
constexpr double kErrorVariance = 10.5 + 1.0 / 12;
constexpr UInt128 kErrorVarianceBound = 11;

/// Coefficients of the left tiles that meet the errors at one result.
std::size_t left_values(const Tiling& t, const ProductSpec& spec) {
  return t.rows * std::min(t.inner * t.inner_tiles, spec.inner);
}

/// log2 of the variance of nu, in units of 1 / q, rounded up: errors at random, roundings of the plaintext as large as
/// they can be, because equal plaintexts are rounded alike.
int variance_bits(const Params& params, const Tiling& t, const ProductSpec& spec) {
  const int shift = std::max(0, bit_length(spec.left_bound) - 24);
  const UInt128 left = (spec.left_bound >> shift) + (shift > 0 ? 1 : 0);
  const UInt128 inner = spec.inner;
  const UInt128 per_left = kErrorVarianceBound * left_values(t, spec) + inner * inner / 4 + 1;
  const UInt128 fresh = (kErrorVarianceBound * 4 * params.degree() / 3 >> (2 * std::min(shift, 40))) + 1;
  return bit_length(per_left * left * left + fresh) + 2 * shift;
}

/// log2 of the largest nu that can be, in units of 1 / q, rounded up.
int largest_bits(const Params& params, const Tiling& t, const ProductSpec& spec) {
  const int shift = std::max(0, bit_length(spec.left_bound) - 24);
  const UInt128 left = (spec.left_bound >> shift) + (shift > 0 ? 1 : 0);
  const UInt128 fresh = (UInt128{2 * Params::kErrorBound + 1} * params.degree() >> shift) + 1;
  return bit_length((Params::kErrorBound + 1) * left * left_values(t, spec) + fresh) + shift;
}

/// The most bits up to `room` that can be cut off a reply, of whose digits none is left with few.
int cut_within(const Params& params, int room) {
  constexpr int kLeastLeft = 8;
  const int lowest = params.moduli()[0].bits();
  if (params.moduli().size() < 2 || room <= lowest) return std::min(room, lowest - kLeastLeft);
  return std::min(room, lowest + params.moduli()[1].bits() - kLeastLeft);
}

/// log2 of N / 18, rounded up: the variance of a uniform rounding of 1 times a ternary secret.
int cut_variance_bits(const Params& params) {
  return bit_length(params.degree() / 18);
}

}  // namespace

// With noise of variance 4^J / 3 the divergence of a value is kShape * 3 / 2 < 2 times the variance of what is hidden,
// over 4^J.
bool find_budget(const Params& params, const Tiling& tiling, const ProductSpec& spec, NoiseBudget& budget) {
  // Both parties' noise, 2^(J + 2), and all errors stay below 2^noise_bits.
  budget.noise_word = std::min(spec.noise_bits - 3, ShareNoise::kLargestWord);
  if (budget.noise_word < 1) return false;
  const int run = spec.wanted_hiding() - kHidingOfRun;
  const int to_units = spec.ring_bits - params.log_q();
  if (largest_bits(params, tiling, spec) + to_units > spec.noise_bits - 2) return false;
  const int of_one = run + 1 + 2 * (to_units - budget.noise_word);
  const int nu = variance_bits(params, tiling, spec);
  budget.multiplier_divergence = of_one + nu;
  if (budget.multiplier_divergence > -kHidingOfRun) return false;
  budget.cut = 0;
  budget.owner_divergence = budget.multiplier_divergence;
  // What is cut may take what is left, but for two bits, so that together they stay below. Where nothing is left,
  // nothing is cut.
  const int room = -kHidingOfRun - 2 - of_one - cut_variance_bits(params);
  if (room < 2 || budget.multiplier_divergence > -kHidingOfRun - 1) return true;
  budget.cut = cut_within(params, room / 2);
  budget.owner_divergence = of_one + std::max(nu, cut_variance_bits(params) + 2 * budget.cut) + 1;
  return true;
}

double nu_deviation(const Params& params, const Tiling& tiling, const ProductSpec& spec) {
  const auto left = static_cast<double>(spec.left_bound);
  const auto inner = static_cast<double>(spec.inner);
  const double errors = kErrorVariance * (static_cast<double>(left_values(tiling, spec)) * left * left +
                                          4.0 / 3 * static_cast<double>(params.degree()));
  return std::ldexp(std::sqrt(errors + inner * inner / 4 * left * left), spec.ring_bits - params.log_q());
}

double cut_deviation(const Params& params, const ProductSpec& spec, int cut) {
  if (cut == 0) return 0;
  return std::ldexp(std::sqrt(static_cast<double>(params.degree()) / 18), cut + spec.ring_bits - params.log_q());
}

double noise_deviation(int noise_word) {
  return std::ldexp(1 / std::sqrt(3.0), noise_word);
}

double divergence(double shift, int noise_word) {
  const double ratio = shift / noise_deviation(noise_word);
  return kShape * ratio * ratio / 2;
}

double largest_error(const Params& params, const Tiling& tiling, const ProductSpec& spec, const NoiseBudget& budget) {
  const auto n = static_cast<double>(params.degree());
  const double nu = (Params::kErrorBound + 0.5) * static_cast<double>(left_values(tiling, spec)) *
                        static_cast<double>(spec.left_bound) +
                    2 * n * Params::kErrorBound;
  const double cut = budget.cut == 0 ? 0 : n * std::ldexp(1.0, budget.cut - 1);
  // A hundredth for moduli that are a little less than a power of two.
  return 1.01 * std::ldexp(nu + cut, spec.ring_bits - params.log_q()) + std::ldexp(1.0, budget.noise_word + 2) + 1;
}

}  // namespace blindfl::he::lattice

// How much noise hides how much, by formula: every bound is worked out here once more.

#include "blindfl/he/lattice/noise.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/he/lattice/share_noise.h"
#include "blindfl/he/lattice/share_rounding.h"
#include "he/lattice/probes.h"

namespace blindfl::he::lattice::noise_test {
namespace {

/// log2 of the product of all primes, which is less than log_q().
double log2_of_modulus(const Params& params) {
  double log_q = 0;
  for (const Modulus& m : params.moduli()) log_q += std::log2(static_cast<double>(m.value()));
  return log_q;
}

/// Variances of what is hidden, in units of the result: of errors that are 21 coins' worth, each met by a left value as
/// large as may be, of roundings as large as may be, and of two fresh errors times ternary secrets; and of what was cut
/// off, a uniform number of that many bits, times a ternary secret.
struct Hidden {
  double nu;
  double cut;
};
Hidden hidden_by(const LatticePlan& plan) {
  const Tiling& t = plan.tiling();
  const ProductSpec& spec = plan.spec();
  const auto n = static_cast<double>(plan.params().degree());
  const auto left = static_cast<double>(spec.left_bound);
  const double errors = 10.5 * static_cast<double>(t.rows * spec.inner) * left * left;
  const double roundings = 0.5 * static_cast<double>(spec.inner) * left;
  const double fresh = 2 * n * 10.5 * 2 / 3;
  const double unit = std::exp2(2 * (spec.ring_bits - log2_of_modulus(plan.params())));
  const double width = std::exp2(plan.budget().cut);
  return {unit * (errors + roundings * roundings + fresh),
          plan.budget().cut == 0 ? 0 : unit * n * 2 / 3 * width * width / 12};
}

/// The divergence of a whole run, of both directions. 1.0386 is the Fisher information of a sum of four uniform words
/// times its variance, 4 / 12 of a word's square.
Hidden run_divergence(const LatticePlan& plan) {
  const Hidden hidden = hidden_by(plan);
  const double noise = std::exp2(2 * plan.budget().noise_word) / 3;
  const double values = std::max(1.0, static_cast<double>(plan.spec().run_values));
  return {values * 1.0386 / 2 * hidden.nu / noise, values * 1.0386 / 2 * (hidden.nu + hidden.cut) / noise};
}

TEST(NoiseBudget, HidesEveryRunOrIsRefused) {
  const LatticeScheme scheme;
  std::size_t made = 0;
  std::size_t refused = 0;
  std::size_t cut = 0;
  std::size_t digits_cut = 0;
  const std::size_t shapes[][3] = {{1, 1, 1},    {128, 62, 1},   {62, 128, 1},  {128, 392, 64},
                                   {8000, 3, 1}, {1, 100000, 1}, {40, 3000, 20}};
  for (const auto& [rows, inner, cols] : shapes) {
    for (const int log_bound : {0, 1, 16, 20, 40, 62}) {
      for (const int ring_bits : {5, 20, 48, 64, 80, 97, 128}) {
        for (const int noise_bits : {0, 3, 4, 10, 16, 30, 47, 64, 67, 68, 90, 127}) {
          for (const double run : {0.0, 1.0, 0x1p18, 0x1p40}) {
            if (noise_bits >= ring_bits) continue;
            const ProductSpec spec{.rows = rows,
                                   .inner = inner,
                                   .cols = cols,
                                   .left_bound = std::uint64_t{1} << log_bound,
                                   .run_values = static_cast<std::uint64_t>(run),
                                   .ring_bits = ring_bits,
                                   .noise_bits = noise_bits};
            std::shared_ptr<const Plan> plan;
            try {
              plan = scheme.plan(spec);
            } catch (const InvalidArgument&) {
              ++refused;
              continue;
            }
            ++made;
            const auto& own = dynamic_cast<const LatticePlan&>(*plan);
            const Hidden divergence = run_divergence(own);
            ASSERT_LE(divergence.nu, 0x1p-40) << spec.describe();
            ASSERT_LE(divergence.cut, 0x1p-40) << spec.describe();
            // What it says of itself is not too little, and not a fantasy.
            const double said = plan->exposure_of_value().divergence * std::max(1.0, run);
            ASSERT_GE(said, divergence.cut * 0.99) << spec.describe();
            ASSERT_LE(said, divergence.cut * 1.03) << spec.describe();
            ASSERT_LE(said, 0x1p-40) << spec.describe();
            ASSERT_LE(divergence.nu, std::exp2(own.budget().multiplier_divergence)) << spec.describe();
            ASSERT_LE(divergence.cut, std::exp2(own.budget().owner_divergence)) << spec.describe();
            ASSERT_LT(plan->largest_error(), std::exp2(noise_bits)) << spec.describe();
            // Words of 64 bits have their lowest bit below a unit.
            ASSERT_LE(own.budget().noise_word, 60) << spec.describe();
            ASSERT_GE(own.budget().cut, 0);
            ASSERT_GE(own.reply_bits(1), 8);
            ASSERT_TRUE(own.reply_bits(0) == 0 ? own.cut_of(1) > 0 : own.reply_bits(0) >= 8 && own.cut_of(1) == 0);
            cut += own.budget().cut > 0 ? 1 : 0;
            digits_cut += own.reply_bits(0) == 0 ? 1 : 0;
          }
        }
      }
    }
  }
  EXPECT_GT(made, 500U);
  EXPECT_GT(refused, 500U);
  EXPECT_GT(cut, made / 2) << "replies are cut where hiding allows";
  EXPECT_GT(digits_cut, 10U) << "by more than a digit, too";
}

// Noise one bit narrower, or a run twice as long twice over, would not do.
TEST(NoiseBudget, IsNotRefusedForWantOfMoreThanABit) {
  const auto params = std::make_shared<const Params>(parameter_sets()[0]);
  ProductSpec spec{
      .rows = 128, .inner = 62, .cols = 1, .left_bound = 1, .run_values = 1 << 20, .ring_bits = 64, .noise_bits = 16};
  for (; spec.noise_bits > 0; --spec.noise_bits) {
    NoiseBudget budget;
    const Tiling tiling = tilings(params->degree(), spec).back();
    if (find_budget(*params, tiling, spec, budget)) continue;
    // What is refused would have come within a factor of 8, twice of which come from rounding up to whole bits.
    const LatticePlan plan(params, spec, tiling, {.noise_word = spec.noise_bits - 3});
    EXPECT_GE(run_divergence(plan).nu, 0x1p-43);
    break;
  }
  EXPECT_GT(spec.noise_bits, 3);
  // Every divergence from far below the bound to the bound itself gives a plan: none is lost in between.
  for (int log_run = 0; log_run < 60; ++log_run) {
    spec = {.rows = 128, .inner = 62, .cols = 1, .left_bound = 1, .ring_bits = 64, .noise_bits = 17};
    spec.run_values = std::uint64_t{1} << log_run;
    NoiseBudget budget;
    const Tiling tiling = tilings(params->degree(), spec).back();
    const bool found = find_budget(*params, tiling, spec, budget);
    EXPECT_EQ(found, budget.multiplier_divergence <= -40) << log_run;
    if (found) {
      EXPECT_LE(budget.owner_divergence, -40) << log_run;
    }
  }
}

TEST(NoiseBudget, RefusesErrorsThatCouldExceedTheNoiseThatWasAllowed) {
  const auto params = std::make_shared<const Params>(parameter_sets()[4]);
  // 2^39 left values meet at one result: rare errors hide well behind noise that the worst ones exceed.
  const ProductSpec spec{
      .rows = 8192, .inner = std::size_t{1} << 26, .cols = 1, .left_bound = 1 << 20, .ring_bits = 128, .noise_bits = 4};
  for (const Tiling& tiling : tilings(params->degree(), spec)) {
    for (int noise_bits = 4; noise_bits < 40; ++noise_bits) {
      ProductSpec wider = spec;
      wider.noise_bits = noise_bits;
      NoiseBudget budget;
      if (!find_budget(*params, tiling, wider, budget)) continue;
      EXPECT_LT(largest_error(*params, tiling, wider, budget), std::exp2(noise_bits)) << tiling.rows;
    }
  }
}

TEST(NoiseBudget, CountsInWholeNumbersWithoutOverflow) {
  const auto params = std::make_shared<const Params>(parameter_sets()[4]);
  for (const std::uint64_t bound : {std::uint64_t{1} << 24, std::uint64_t{1} << 61, std::uint64_t{1} << 62}) {
    for (const std::size_t rows : {std::size_t{1}, std::size_t{1} << 13}) {
      const ProductSpec spec{.rows = rows,
                             .inner = (std::size_t{1} << 40) / rows,
                             .cols = 1,
                             .left_bound = bound,
                             .ring_bits = 128,
                             .noise_bits = 127};
      for (const Tiling& tiling : tilings(params->degree(), spec)) {
        NoiseBudget budget;
        (void)find_budget(*params, tiling, spec, budget);
        const LatticePlan plan(params, spec, tiling, budget);
        // Before what is rounded up: a hundredth for the modulus, and whole bits.
        EXPECT_GE(budget.multiplier_divergence + 0.01, std::log2(run_divergence(plan).nu));
        EXPECT_LE(budget.multiplier_divergence, std::log2(run_divergence(plan).nu) + 4);
      }
    }
  }
}

TEST(Divergence, IsThatOfFourUniformWords) {
  // Kullback and Leibler's, by the rule of midpoints, of the density and itself shifted; edges beyond it are left out.
  for (const double shift : {0.3, 0.1, 0.01}) {
    constexpr int kSteps = 400000;
    double sum = 0;
    for (int i = 0; i < kSteps; ++i) {
      const double x = -2 + 4 * (i + 0.5) / kSteps;
      const double here = noise_density(x);
      const double there = noise_density(x - shift);
      if (there > 0) sum += here * std::log(here / there) * 4 / kSteps;
    }
    const int word = 7;
    EXPECT_NEAR(divergence(std::ldexp(shift, word), word) / sum, 1, 0.02) << shift;
  }
  EXPECT_NEAR(noise_deviation(10), 1024 / std::sqrt(3.0), 1e-9);
}

TEST(ShareNoise, IsASumOfFourUniformWordsFinerThanAUnit) {
  constexpr std::size_t kValues = 20000;
  Random random;
  for (const int word : {1, 5, 30, 60}) {
    for (const int ring_bits : {word + 4, 100, 128}) {
      const ShareNoise noise(kValues, word, ring_bits, random);
      std::vector<double> values;
      std::vector<double> below;  // a unit
      for (std::size_t i = 0; i < kValues; ++i) {
        Fraction f;
        noise.add_to(f, i);
        values.push_back(
            std::ldexp(static_cast<double>(static_cast<Int128>(f.high())) + static_cast<double>(f.low()) * 0x1p-128,
                       ring_bits - 128));
        const UInt128 low = ring_bits == 128 ? f.low() : f.high() << ring_bits;
        below.push_back(static_cast<double>(low) * 0x1p-128);
      }
      EXPECT_LT(distance_from_noise(values, word), kFar) << word;
      // 2^(64 - word) different values below a unit: at 60, sixteen.
      if (word <= 30) {
        EXPECT_LT(distance_from_uniform(below, 0, 1), kFar) << word << " of " << ring_bits;
      }
      EXPECT_GT(deviation(below), 0.4);
    }
  }
}

/// Numerators of results, one after the other for each prime.
std::vector<std::uint64_t> numerators_of(const Params& params, std::size_t values, SeededRandom& random) {
  std::vector<std::uint64_t> numerators;
  for (const Modulus& m : params.moduli()) {
    for (std::size_t i = 0; i < values; ++i) {
      numerators.push_back(i == 0 ? 0 : i == 1 ? m.value() - 1 : random.below(m.value()));
    }
  }
  return numerators;
}

// In every set of kernels, and also where noise is finer than these take.
TEST(ShareRounding, RoundsTheWholeSumOfFractionsAndNoise) {
  SeededRandom random(11);
  for (const ParamsSpec& set : parameter_sets()) {
    const Params params(set);
    std::vector<Fraction> one_over;
    for (const Modulus& m : params.moduli()) one_over.push_back(Fraction::one_over(m.value()));
    for (const int ring_bits : {5, 38, 58, 64, 65, 100, 124, 128}) {
      for (const int word : {1, 16, 60}) {
        for (const std::size_t values : {1U, 7U, 8U, 101U}) {
          Random fresh;
          const ShareNoise noise(values, word, ring_bits, fresh);
          const std::vector<std::uint64_t> numerators = numerators_of(params, values, random);
          for (const Kernels* kernels : available_kernels()) {
            const ShareRounding rounding(*kernels, one_over, noise, ring_bits);
            for (const bool noisy : {true, false}) {
              std::vector<UInt128> shares(values);
              rounding.shares(shares, numerators.data(), values, noisy);
              // Half a unit without noise is a matter of the last place.
              for (std::size_t i = noisy ? 0 : 2; i < values; ++i) {
                Fraction whole;
                for (std::size_t l = 0; l < one_over.size(); ++l) {
                  whole.add_multiple(numerators[l * values + i], one_over[l]);
                }
                if (noisy) noise.add_to(whole, i);
                ASSERT_TRUE(shares[i] == whole.rounded(ring_bits))
                    << kernels->name << ", " << params.name() << ", ring " << ring_bits << ", word " << word;
              }
            }
          }
        }
      }
    }
  }
}

/// Shares of results without numerators: their noise alone, from words of the caller's choice.
std::vector<UInt128> shares_of(const Kernels& kernels, const std::vector<std::uint64_t>& words, int places, int ring) {
  const std::vector<std::uint64_t> zeros(words.size() / 4);
  const ShareSum sum{.primes = 1,
                     .tops = {{1, 1, 1}},
                     .numerators = {zeros.data()},
                     .noise = words.data(),
                     .noise_places = places,
                     .ring_bits = ring};
  std::vector<UInt128> shares(zeros.size());
  kernels.round_shares(shares.data(), sum, shares.size());
  return shares;
}

// Words at their ends, whose sums carry, and are negative or not.
TEST(ShareRounding, AddsTheLargestAndSmallestNoise) {
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  constexpr std::uint64_t kTop = std::uint64_t{1} << 63;
  std::vector<std::uint64_t> words;
  for (std::size_t i = 0; i < 256; ++i) {
    for (std::size_t w = 0; w < 4; ++w)
      words.push_back(std::array{std::uint64_t{0}, kAll, kTop, kTop - 1}[i >> 2 * w & 3]);
  }
  for (const auto& [ring, places] :
       {std::pair{5, 9}, {12, 60}, {38, 86}, {58, 106}, {64, 128}, {100, 124}, {124, 128}}) {
    for (const Kernels* kernels : available_kernels()) {
      const std::vector<UInt128> shares = shares_of(*kernels, words, places, ring);
      for (std::size_t i = 0; i < shares.size(); ++i) {
        Int128 noise = -(static_cast<Int128>(1) << 65);
        for (std::size_t w = 0; w < 4; ++w) noise += static_cast<Int128>(words[4 * i + w]);
        Fraction whole;
        whole.add_shifted(noise, places);
        ASSERT_TRUE(shares[i] == whole.rounded(ring)) << kernels->name << ", ring " << ring << ", value " << i;
      }
    }
  }
}

}  // namespace
}  // namespace blindfl::he::lattice::noise_test

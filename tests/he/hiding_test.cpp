// What hides a value is made for all values of a run. Every bound here is computed anew, from keys, layouts and the
// largest values that can be, and not taken from what plans say of themselves.

#include <gtest/gtest.h>

#include <cmath>

#include "blindfl/base/error.h"
#include "blindfl/he/lattice/lattice_plan.h"
#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/he/paillier/paillier_plan.h"
#include "blindfl/he/paillier/paillier_scheme.h"
#include "testing/plain/plain_scheme.h"

namespace blindfl::he::hiding_test {
namespace {

constexpr std::uint64_t kReal = std::uint64_t{1} << 20;  // 16 fractional bits, up to 16

ProductSpec product(std::size_t rows, std::size_t inner, std::size_t cols, std::uint64_t bound, double run_values) {
  return {.rows = rows,
          .inner = inner,
          .cols = cols,
          .left_bound = bound,
          .left_scale = 0,
          .right_scale = 32,
          .right_bits = 128,
          .run_values = static_cast<std::uint64_t>(run_values)};
}

/// By how many bits a plan says that one value is hidden.
double hiding_bits(const Plan& plan) {
  return -std::log2(plan.exposure_of_value().distance);
}

/// The bits that are left for the run, or, where its values were not said, for one reply.
double hiding_of_run(const Plan& plan) {
  const ProductSpec& spec = plan.spec();
  const std::uint64_t values = spec.run_values > 0 ? spec.run_values : spec.rows * spec.cols;
  return hiding_bits(plan) - std::log2(static_cast<double>(values));
}

/// By how many bits masks exceed the largest value of a plan.
double paillier_hiding(const Plan& plan) {
  const ProductSpec& spec = plan.spec();
  const double largest = std::log2(static_cast<double>(spec.inner)) + std::log2(static_cast<double>(spec.left_bound)) +
                         spec.right_bits - 1;
  return dynamic_cast<const paillier::PaillierPlan&>(plan).reply().mask_bits - largest;
}

TEST(Hiding, OfPaillierIsMadeForTheWholeRun) {
  const PaillierScheme schemes[] = {PaillierScheme(),
                                    {paillier::Params({.key_bits = 3072}), PaillierScheme::Options{}}};
  for (const PaillierScheme& scheme : schemes) {
    for (const double log_values : {0.0, 1.0, 10.0, 24.0, 25.0, 31.3, 45.0}) {
      for (const std::uint64_t bound : {std::uint64_t{1}, kReal}) {
        const auto plan = scheme.plan(product(128, 392, 64, bound, std::exp2(log_values)));
        EXPECT_GE(paillier_hiding(*plan), std::max(64.0, 40 + log_values)) << log_values;
        EXPECT_LE(hiding_bits(*plan), paillier_hiding(*plan)) << "what it says of itself is not too much";
        EXPECT_GE(hiding_of_run(*plan), 40 - 1e-6) << log_values;
      }
    }
  }
}

TEST(Hiding, OfPaillierCostsNothingForRunsOfLessThan16MillionValues) {
  const PaillierScheme scheme;
  const auto unsaid = scheme.plan(product(128, 392, 64, kReal, 0));
  const auto said = scheme.plan(product(128, 392, 64, kReal, 0x1p24));
  EXPECT_EQ(unsaid->operand_layout(), said->operand_layout());
  EXPECT_EQ(hiding_bits(*unsaid), 64);
  const auto longer = scheme.plan(product(128, 392, 64, kReal, 0x1p25));
  EXPECT_EQ(hiding_bits(*longer), 65);
}

/// The variance of what a lattice product carries beside the result, in units of the result: errors of 42 coins, each
/// met by a left value as large as may be, roundings as large as may be, two fresh errors times ternary secrets, and
/// what was cut off, uniform, times a ternary secret.
double lattice_variance(const lattice::LatticePlan& plan, bool with_cut) {
  double log_q = 0;
  for (const lattice::Modulus& m : plan.params().moduli()) log_q += std::log2(static_cast<double>(m.value()));
  const lattice::Tiling& t = plan.tiling();
  const auto left = static_cast<double>(plan.spec().left_bound);
  const auto inner = static_cast<double>(plan.spec().inner);
  const auto n = static_cast<double>(plan.params().degree());
  const double cut = with_cut && plan.budget().cut > 0 ? n / 18 * std::exp2(2 * plan.budget().cut) : 0;
  const double all =
      10.5 * (static_cast<double>(t.rows) * inner * left * left + 4.0 / 3 * n) + inner * inner * left * left / 4 + cut;
  return all * std::exp2(2 * (plan.spec().ring_bits - log_q));
}

/// Kullback and Leibler's divergence of a whole run: 1.0386 is the Fisher information of a sum of four uniform words
/// times its variance, which is 4 / 12 of a word's square.
double lattice_divergence(const lattice::LatticePlan& plan, bool with_cut) {
  const double noise = std::exp2(2 * plan.budget().noise_word) / 3;
  return static_cast<double>(plan.spec().run_values) * 1.0386 / 2 * lattice_variance(plan, with_cut) / noise;
}

TEST(Hiding, OfTheLatticeIsMadeForTheWholeRun) {
  const LatticeScheme scheme;
  std::size_t plans = 0;
  for (const double log_values : {0.0, 1.0, 10.0, 18.3, 24.0, 31.3, 45.0}) {
    for (const std::uint64_t bound : {std::uint64_t{1}, kReal, std::uint64_t{1} << 62}) {
      for (const int ring_bits : {48, 64, 97, 128}) {
        for (const int noise_bits : {14, 30, 46}) {
          ProductSpec spec = product(128, 392, 64, bound, std::exp2(log_values));
          spec.ring_bits = ring_bits;
          spec.noise_bits = noise_bits;
          std::shared_ptr<const Plan> plan;
          try {
            plan = scheme.plan(spec);
          } catch (const InvalidArgument&) {
            continue;
          }
          ++plans;
          const auto& own = dynamic_cast<const lattice::LatticePlan&>(*plan);
          EXPECT_LE(lattice_divergence(own, false), 0x1p-40) << spec.describe();
          EXPECT_LE(lattice_divergence(own, true), 0x1p-40) << spec.describe();
          const double said = plan->exposure_of_value().divergence * static_cast<double>(spec.run_values);
          EXPECT_LE(said, 0x1p-40) << spec.describe();
          EXPECT_GE(said, lattice_divergence(own, true) * 0.99) << "what it says of itself is not too little";
          EXPECT_LT(plan->largest_error(), std::exp2(noise_bits)) << spec.describe();
          EXPECT_EQ(plan->exposure_of_value().distance, 0);
        }
      }
    }
  }
  EXPECT_GT(plans, 60U);
}

TEST(Hiding, OfTheLatticeIsRefusedWhereThereIsNoRoom) {
  const LatticeScheme scheme;
  ProductSpec spec = product(128, 392, 64, kReal, 0x1p30);
  spec.ring_bits = 128;
  spec.noise_bits = 8;
  EXPECT_NO_THROW((void)scheme.plan(spec));
  spec.run_values = std::uint64_t{1} << 62;
  EXPECT_THROW((void)scheme.plan(spec), InvalidArgument) << "a longer run";
  spec.noise_bits = 40;
  EXPECT_NO_THROW((void)scheme.plan(spec)) << "behind more noise";
}

TEST(Hiding, WithoutANumberIsThatOfOneReply) {
  const PaillierScheme paillier;
  const auto plan = paillier.plan(product(128, 62, 4, kReal, 0));
  EXPECT_NEAR(hiding_of_run(*plan), hiding_bits(*plan) - 9, 1e-9);
  EXPECT_NEAR(plan->exposure_of_product().distance, std::exp2(9 - hiding_bits(*plan)), 1e-30);
  const LatticeScheme lattice;
  ProductSpec spec = product(128, 62, 4, kReal, 0);
  spec.noise_bits = 30;
  const auto own = lattice.plan(spec);
  EXPECT_NEAR(own->exposure_of_product().divergence / own->exposure_of_value().divergence, 512, 1e-9);
}

TEST(SecurityBits, AreThoseOfTheParameters) {
  EXPECT_EQ(LatticeScheme().security_bits(), 128);
  EXPECT_EQ(PaillierScheme().security_bits(), 112);
  EXPECT_EQ(PaillierScheme(paillier::Params({.key_bits = 3072}), PaillierScheme::Options{}).security_bits(), 128);
  EXPECT_EQ(testing::PlainScheme().security_bits(), 0);
}

}  // namespace
}  // namespace blindfl::he::hiding_test

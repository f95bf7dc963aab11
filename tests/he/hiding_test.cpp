// What hides a value is made for all values of a run. Every bound here is computed anew, from keys, layouts and the
// largest values that can be, and not taken from what plans say of themselves.

#include <gtest/gtest.h>

#include <cmath>

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

/// The bits that are left for the run, or, where its values were not said, for one reply.
double hiding_of_run(const Plan& plan) {
  const ProductSpec& spec = plan.spec();
  const std::uint64_t values = spec.run_values > 0 ? spec.run_values : spec.rows * spec.cols;
  return plan.hiding_bits() - std::log2(static_cast<double>(values));
}

/// By how many bits flooding exceeds the largest noise of a plan.
double lattice_hiding(const Plan& plan) {
  const lattice::Params params{lattice::ParamsSpec{}};
  double log_q = 0;
  for (const lattice::Modulus& m : params.moduli()) log_q += std::log2(static_cast<double>(m.value()));
  const lattice::Tiling& t = lattice::LatticePlan::of(plan).tiling();
  const double digit = t.limbs == 1 ? static_cast<double>(plan.spec().left_bound) : std::exp2(t.limb_bits - 1) + 1;
  const auto left = static_cast<double>(t.rows * t.inner * t.inner_tiles);
  // Errors are 21 at most, and rounding is one more; a fresh encryption has two errors for each coefficient.
  const double noise = left * digit * 22 + 2.0 * 8192 * 21;
  return log_q - 130 - std::log2(noise);
}

/// By how many bits masks exceed the largest value of a plan.
double paillier_hiding(const Plan& plan) {
  const ProductSpec& spec = plan.spec();
  const double largest = std::log2(static_cast<double>(spec.inner)) + std::log2(static_cast<double>(spec.left_bound)) +
                         spec.right_bits - 1;
  return dynamic_cast<const paillier::PaillierPlan&>(plan).reply().mask_bits - largest;
}

double bytes_of(const Plan& plan) {
  return static_cast<double>(plan.operand_bytes() + plan.reply_bytes());
}

TEST(Hiding, OfPaillierIsMadeForTheWholeRun) {
  const PaillierScheme schemes[] = {PaillierScheme(),
                                    {paillier::Params({.key_bits = 3072}), PaillierScheme::Options{}}};
  for (const PaillierScheme& scheme : schemes) {
    for (const double log_values : {0.0, 1.0, 10.0, 24.0, 25.0, 31.3, 45.0}) {
      for (const std::uint64_t bound : {std::uint64_t{1}, kReal}) {
        const auto plan = scheme.plan(product(128, 392, 64, bound, std::exp2(log_values)));
        EXPECT_GE(paillier_hiding(*plan), std::max(64.0, 40 + log_values)) << log_values;
        EXPECT_LE(plan->hiding_bits(), paillier_hiding(*plan)) << "what it says of itself is not too much";
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
  EXPECT_EQ(unsaid->hiding_bits(), 64);
  const auto longer = scheme.plan(product(128, 392, 64, kReal, 0x1p25));
  EXPECT_EQ(longer->hiding_bits(), 65);
}

TEST(Hiding, OfTheLatticeIsMadeForTheWholeRunWhereThereIsRoom) {
  const LatticeScheme scheme;
  struct Case {
    std::size_t rows, inner, cols;
    std::uint64_t bound;
    double log_values;
  };
  for (const Case& c : {Case{128, 123, 64, 1, 24}, Case{123, 128, 64, 1, 24}, Case{128, 10000, 64, 1, 23},
                        Case{128, 30, 1, kReal, 22}, Case{128, 100, 1, kReal, 20}, Case{100, 128, 1, kReal, 20},
                        Case{128, 392, 64, kReal, 21}, Case{392, 128, 64, kReal, 21}, Case{128, 13, 64, kReal, 22}}) {
    const auto spec = product(c.rows, c.inner, c.cols, c.bound, std::exp2(c.log_values));
    const auto plan = scheme.plan(spec);
    EXPECT_GE(lattice_hiding(*plan), 40 + c.log_values) << spec.describe();
    EXPECT_LE(plan->hiding_bits(), lattice_hiding(*plan)) << spec.describe();
    EXPECT_GE(hiding_of_run(*plan), 40) << spec.describe();
    const auto unsaid = scheme.plan(product(c.rows, c.inner, c.cols, c.bound, 0));
    EXPECT_LE(bytes_of(*plan), 4.4 * bytes_of(*unsaid)) << "for at most about four times the cost";
  }
}

// The review's example, and more: the plan is not refused, costs no more, and says what is left.
TEST(Hiding, OfTheLatticeIsStatedWhereThereIsNoRoom) {
  const LatticeScheme scheme;
  for (const double log_values : {26.0, 31.3, 40.0}) {
    for (const std::uint64_t bound : {std::uint64_t{1}, kReal}) {
      const auto plan = scheme.plan(product(128, 392, 64, bound, std::exp2(log_values)));
      EXPECT_LT(hiding_of_run(*plan), 40) << log_values;
      EXPECT_LE(hiding_of_run(*plan), lattice_hiding(*plan) - log_values + 1e-6) << "and not more than there is";
      EXPECT_GE(lattice_hiding(*plan), 40) << "of each value, as ever";
      const auto unsaid = scheme.plan(product(128, 392, 64, bound, 0));
      EXPECT_GE(plan->hiding_bits(), unsaid->hiding_bits());
      EXPECT_EQ(bytes_of(*plan), bytes_of(*unsaid)) << "nothing is paid for what cannot be had";
    }
  }
}

TEST(Hiding, WithoutANumberIsThatOfOneReply) {
  const LatticeScheme lattice;
  const PaillierScheme paillier;
  for (const Scheme* scheme : {static_cast<const Scheme*>(&lattice), static_cast<const Scheme*>(&paillier)}) {
    const auto plan = scheme->plan(product(128, 62, 4, kReal, 0));
    EXPECT_NEAR(hiding_of_run(*plan), plan->hiding_bits() - 9, 1e-9);
    EXPECT_NEAR(plan->exposure_of_reply(), std::exp2(9 - plan->hiding_bits()), 1e-30);
  }
}

TEST(SecurityBits, AreThoseOfTheParameters) {
  EXPECT_EQ(LatticeScheme().security_bits(), 128);
  EXPECT_EQ(PaillierScheme().security_bits(), 112);
  EXPECT_EQ(PaillierScheme(paillier::Params({.key_bits = 3072}), PaillierScheme::Options{}).security_bits(), 128);
  EXPECT_EQ(testing::PlainScheme().security_bits(), 0);
}

}  // namespace
}  // namespace blindfl::he::hiding_test

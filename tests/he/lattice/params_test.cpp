#include "blindfl/he/lattice/params.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "blindfl/base/error.h"
#include "blindfl/he/lattice/lattice_scheme.h"
#include "he/lattice/probes.h"
#include "testing/thrown.h"

namespace blindfl::he::lattice::params_test {
namespace {

using ::testing::HasSubstr;

// The limits of eprint 2024/463 for 128 bits, classical, ternary secrets: written down a second time.
int allowed(std::size_t degree) {
  return degree == 4096 ? 106 : degree == 8192 ? 214 : 0;
}

TEST(LatticeParams, OfEverySetAreWithin128BitSecurity) {
  std::set<std::string> names;
  std::set<std::string> descriptions;
  for (const ParamsSpec& spec : parameter_sets()) {
    const Params params(spec);
    EXPECT_LE(params.log_q(), allowed(params.degree())) << params.name();
    EXPECT_EQ(params.security_bits(), 128);
    double log_q = 0;
    std::set<std::uint64_t> primes;
    for (const Modulus& m : params.moduli()) {
      log_q += std::log2(static_cast<double>(m.value()));
      primes.insert(m.value());
      EXPECT_TRUE(is_prime(m.value()));
      EXPECT_EQ(m.value() % (2 * params.degree()), 1U);
      EXPECT_LE(m.bits(), 50);
    }
    EXPECT_EQ(primes.size(), spec.prime_bits.size()) << "each once";
    // Bounds count with 2^log_q, and allow a hundredth for what the modulus is less.
    EXPECT_LT(log_q, params.log_q());
    EXPECT_GT(log_q, params.log_q() + std::log2(0.99));
    EXPECT_EQ(params.name(), std::to_string(spec.degree) + "/" + std::to_string(params.log_q()));
    names.insert(params.name());
    descriptions.insert(params.describe());
  }
  EXPECT_EQ(names.size(), parameter_sets().size());
  EXPECT_EQ(descriptions.size(), parameter_sets().size());
  EXPECT_EQ(LatticeScheme().security_bits(), 128);
  EXPECT_EQ(LatticeScheme().key_sets().size(), parameter_sets().size());
}

TEST(LatticeParams, RefuseLessThan128BitSecurity) {
  for (const ParamsSpec& spec :
       {ParamsSpec{8192, {50, 50, 50, 35, 30}}, ParamsSpec{4096, {40, 35, 32}}, ParamsSpec{2048, {48}}}) {
    try {
      const Params params(spec);
      ADD_FAILURE() << "accepted degree " << spec.degree;
    } catch (const InvalidArgument& error) {
      EXPECT_THAT(error.what(), HasSubstr("128-bit security"));
    }
  }
  EXPECT_THAT(blindfl::testing::message_of<InvalidArgument>([] {
                const Params params({8192, {40, 40, 40, 40, 40}});
              }),
              HasSubstr("at most 4 primes"));
  EXPECT_EQ(InsecureParams::make({512, {50, 50}}).security_bits(), 0);
  EXPECT_EQ(InsecureParams::make({4096, {50, 50, 50}}).security_bits(), 0);
  std::vector<Params> sets;
  sets.emplace_back(parameter_sets()[0]);
  sets.push_back(InsecureParams::make({512, {50, 50}}));
  EXPECT_EQ(LatticeScheme(sets, {}).security_bits(), 0) << "that of the weakest set";
}

TEST(LatticeParams, RefuseWhatCannotBe) {
  EXPECT_THROW(Params(ParamsSpec{8192, {}}), InvalidArgument);
  EXPECT_THROW(Params(ParamsSpec{8192, {51}}), InvalidArgument);
  EXPECT_THROW(Params(ParamsSpec{8192, {19}}), InvalidArgument);
  EXPECT_THROW(Params(ParamsSpec{8192, {20, 20, 20}}), InvalidArgument) << "too far below a power of two, or too few";
  EXPECT_THROW(Params(ParamsSpec{100, {50}}), InvalidArgument);
  EXPECT_THROW(LatticeScheme({}, {}), InvalidArgument);
}

TEST(LatticeParams, DescribeEverythingTheOtherPartyMustShare) {
  const Params params{parameter_sets()[1]};
  const std::string text = params.describe();
  EXPECT_THAT(text, HasSubstr("degree 4096"));
  for (const Modulus& m : params.moduli()) EXPECT_THAT(text, HasSubstr(std::to_string(m.value())));
  const std::string all = LatticeScheme().parameters();
  for (const ParamsSpec& spec : parameter_sets()) EXPECT_THAT(all, HasSubstr(Params(spec).describe()));
}

TEST(LatticeParams, OfOneSchemeHaveNamesOfTheirOwn) {
  std::vector<Params> sets;
  sets.emplace_back(ParamsSpec{8192, {50, 50, 50}});
  sets.emplace_back(ParamsSpec{8192, {48, 42, 30, 30}});  // 150 bits, too
  EXPECT_THROW(LatticeScheme(sets, {}), InvalidArgument);
}

}  // namespace
}  // namespace blindfl::he::lattice::params_test

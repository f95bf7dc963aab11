#include "blindfl/he/lattice/params.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blindfl/base/error.h"

namespace blindfl::he::lattice::params_test {
namespace {

using ::testing::HasSubstr;

TEST(LatticeParams, AreByDefaultAtTheLimitOf128BitSecurity) {
  const Params params{ParamsSpec{}};
  EXPECT_EQ(params.degree(), 8192U);
  EXPECT_EQ(params.moduli().size(), 5U);
  EXPECT_EQ(params.kept(), 3U);
  EXPECT_EQ(params.log_q(), 214);
  EXPECT_EQ(Params::largest_log_q(8192), 214);
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t j = i + 1; j < 5; ++j) EXPECT_NE(params.moduli()[i].value(), params.moduli()[j].value());
  }
}

TEST(LatticeParams, RefuseLessThan128BitSecurity) {
  for (const ParamsSpec& spec : {ParamsSpec{8192, {48, 48, 48, 36, 35}, 2}, ParamsSpec{4096, {48, 48, 48, 35, 35}, 2},
                                 ParamsSpec{2048, {48, 48, 48}, 0}}) {
    try {
      const Params params(spec);
      ADD_FAILURE() << "accepted degree " << spec.degree;
    } catch (const InvalidArgument& error) {
      EXPECT_THAT(error.what(), HasSubstr("128-bit security"));
    }
  }
}

TEST(LatticeParams, RefuseWhatCouldNotBeDecrypted) {
  EXPECT_THROW(Params(ParamsSpec{8192, {48, 48, 35, 35, 35}, 3}), InvalidArgument);
  EXPECT_THROW(Params(ParamsSpec{8192, {48, 48, 48}, 3}), InvalidArgument);
  EXPECT_THROW(Params(ParamsSpec{8192, {}, 0}), InvalidArgument);
}

TEST(LatticeParams, DescribeEverythingTheOtherPartyMustShare) {
  const Params params{ParamsSpec{}};
  const std::string text = params.describe();
  EXPECT_THAT(text, HasSubstr("degree 8192"));
  for (const Modulus& m : params.moduli()) EXPECT_THAT(text, HasSubstr(std::to_string(m.value())));
  EXPECT_NE(text, (Params{ParamsSpec{8192, {48, 48, 48, 35}, 1}}.describe()));
}

}  // namespace
}  // namespace blindfl::he::lattice::params_test

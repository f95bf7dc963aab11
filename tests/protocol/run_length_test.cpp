// How long a run is: what hides its values is made for all of them, and both parties must say the same.

#include "blindfl/protocol/layers/run_length.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "blindfl/base/error.h"
#include "blindfl/protocol/plan/embed_cost.h"
#include "blindfl/protocol/plan/layer_cost.h"
#include "protocol/embed_fixture.h"
#include "protocol/matmul_fixture.h"
#include "testing/thrown.h"

namespace blindfl::protocol::run_length_test {
namespace {

using ::testing::HasSubstr;

TEST(RunLength, IsTwiceTheStepsWhereNobodySaysIt) {
  EXPECT_EQ(counted_passes({}, {}), kPassesIfUndeclared);
  EXPECT_EQ(counted_passes({}, {.steps = 500}), 1000U);
  EXPECT_EQ(counted_passes({}, {.steps = 500, .passes_per_step = 3}), 3000U);
  EXPECT_EQ(counted_passes({.passes = 7}, {.steps = 500}), 7U);
}

TEST(RunLength, CountsValuesOfAllPassesProductsAndLayers) {
  EXPECT_EQ(run_values({.passes = 1, .layers = 1}, 10, 128, 3), 3840U);
  EXPECT_EQ(run_values({.passes = 1, .layers = 2}, 10, 128, 3), 7680U);
  EXPECT_EQ(run_values({}, std::uint64_t{1} << 40, 0x1p40, 3), std::uint64_t{1} << 62) << "and does not wrap around";
}

TEST(RunLength, ThatCannotBeIsRefused) {
  MatMulSpec spec = small_spec(3, 2, 1, 8);
  spec.run.layers = 0;
  EXPECT_THAT(testing::message_of<InvalidArgument>([&] { (void)MatMulParams(spec); }), HasSubstr("run.layers"));
  spec.run = {.passes = std::uint64_t{1} << 41, .layers = 1};
  EXPECT_THAT(testing::message_of<InvalidArgument>([&] { (void)MatMulParams(spec); }), HasSubstr("run.passes"));
}

/// The worst of what a run gives away.
double most_of(const he::Exposure& exposure) {
  return std::max({exposure.distance, exposure.divergence, exposure.lift_failure});
}

/// The same for a run of a layer with these parts.
double exposure_of(const MatMulParams& params, const he::Scheme& a, const he::Scheme& b) {
  return most_of(cost_of(params, Party::kA, a).exposure + cost_of(params, Party::kB, b).exposure);
}

TEST(RunLength, OfALayerLeavesFortyBitsWhereTheSchemeHasRoom) {
  const he::LatticeScheme lattice;
  const he::PaillierScheme paillier;
  for (const std::uint64_t passes : {10, 1000, 100000}) {
    for (const std::size_t layers : {1, 2}) {
      MatMulSpec spec = small_spec(123, 61, 1, 128);
      spec.features_a = spec.features_b = {.scale = 0, .largest = 1.0, .clip = false};
      spec.sgd = {.learning_rate = 0.1, .momentum = 0.9, .steps = 1000};
      spec.run = {.passes = passes, .layers = layers};
      // Each of `layers` layers may give away its part.
      const double allowed = std::ldexp(1.0, -40) / static_cast<double>(layers);
      EXPECT_LE(exposure_of(MatMulParams(spec), paillier, paillier), allowed) << passes;
      if (passes <= 1000) {
        EXPECT_LE(exposure_of(MatMulParams(spec), lattice, lattice), allowed) << passes;
      }
      spec.update = Update::kEncrypted;
      EXPECT_LE(exposure_of(MatMulParams(spec), paillier, paillier), allowed) << passes;
    }
  }
}

TEST(RunLength, OfEmbeddingsLeavesFortyBitsUnderPaillier) {
  const he::PaillierScheme paillier;
  EmbedMatMulSpec spec;
  spec.fields_a = {{{.name = "a", .categories = 1000}}, {{.name = "b", .categories = 20}}};
  spec.fields_b = {{{.name = "c", .categories = 300}}};
  spec.out = 4;
  spec.batch = 128;
  spec.run = {.passes = 20000, .layers = 2};
  spec.sgd.steps = 1000;
  const EmbedMatMulParams params(spec);
  for (const Update update : {Update::kExchanged, Update::kEncrypted}) {
    he::Exposure exposure = cost_of_weights(params, paillier).exposure;
    for (const Party party : {Party::kA, Party::kB}) {
      for (EmbedField field : params.fields(party)) {
        field.update = update;
        exposure += cost_of_field(params, party, field, paillier).exposure;
      }
    }
    EXPECT_GT(exposure.distance, 0);
    EXPECT_GT(exposure.divergence, 0);
    EXPECT_GT(exposure.lift_failure, 0);
    EXPECT_LE(most_of(exposure), std::ldexp(1.0, -41)) << "two layers share 2^-40";
  }
}

TEST(RunLength, ThatDiffersBetweenThePartiesIsFoundBeforeAnythingIsOpened) {
  const testing::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  const MatMulSpec spec = small_spec(3, 2, 1, 8);
  const auto with = [&](std::uint64_t passes) {
    return [&, passes](Session& session) {
      MatMulSpec mine = spec;
      mine.run.passes = passes;
      const MatMul layer(session, mine);
      return testing::message_of<ConfigError>([&] { session.settle(); });
    };
  };
  const auto [a, b] = parties.run(with(5), with(6));
  EXPECT_THAT(a, HasSubstr("run.passes is 5 here and 6 at the peer"));
  EXPECT_THAT(b, HasSubstr("run.passes is 6 here and 5 at the peer"));
}

}  // namespace
}  // namespace blindfl::protocol::run_length_test

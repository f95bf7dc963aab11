#include "blindfl/nn/source_output.h"

#include <gtest/gtest.h>

#include "blindfl/base/error.h"
#include "nn/vertical_fixture.h"
#include "testing/steps.h"

namespace blindfl::nn {
namespace {

class Sum : public ::testing::Test {
 protected:
  he::PlainScheme scheme_;
  testing::TwoParties parties_{scheme_};
  VerticalData data_{rounded(data::make_synthetic({.rows = 16, .columns_a = 4, .columns_b = 3}).joined, 16), 4, 16};

  [[nodiscard]] data::Batch batch(Party party) const {
    std::vector<std::uint32_t> rows(16);
    for (std::uint32_t i = 0; i < 16; ++i) rows[i] = i;
    return data::make_batch(data_.at(party), rows, 16);
  }
};

TEST_F(Sum, OfTwoSourceLayersIsOpenedOnceAndSendsTheDerivativeToBoth) {
  struct Result {
    Pieces first;
    Pieces second;
    torch::Tensor z;
    std::vector<ShareMatrix> gradients;
  };
  torch::manual_seed(2);
  const torch::Tensor dz = torch::randn({16, 2}) / 16;
  const auto [a, b] = parties_.run([&](Session& s) {
    MatMul first(s, data_.shape, std::size_t{2});
    MatMul second(s, data_.shape, std::size_t{2});
    const torch::Tensor z = open(first->shares(batch(s.party())) + second->shares(batch(s.party())));
    z.backward(s.party() == Party::kA ? torch::zeros_like(z) : dz);
    return Result{pieces_of(first), pieces_of(second), z, {*first->weight_a().grad(), *second->weight_a().grad()}};
  });
  const torch::Tensor x = lab::features_tensor(data_.joined);
  const torch::Tensor expected = torch::mm(x, joined_weight(a.first, b.first) + joined_weight(a.second, b.second));
  EXPECT_LE(largest_difference(b.z, expected), 3e-5);
  // One opening, not two: B never sees the parts.
  EXPECT_EQ(parties_.recording(Party::kB).received().at(protocol::steps::kOutputShare), (net::Traffic{1, 256}));

  const torch::Tensor gradient = torch::mm(x.slice(1, 0, 4).t(), dz) * 16;
  for (std::size_t i = 0; i < 2; ++i) {
    const ShareMatrix opened = blindfl::open(a.gradients[i], b.gradients[i]);
    EXPECT_LE(largest_difference(to_tensor(decode_ring(opened), 4, 2), gradient), 1e-5);
  }
}

TEST_F(Sum, OfLayersThatCannotBeOpenedTogetherIsRefused) {
  parties_.run([&](Session& s) {
    MatMulOptions finer;
    finer.output_scale = 20;
    MatMul one(s, data_.shape, std::size_t{2});
    MatMul other_scale(s, data_.shape, std::size_t{2}, finer);
    MatMul other_width(s, data_.shape, std::size_t{3});
    const SourceOutput x = one->shares(batch(s.party()));
    EXPECT_THROW((void)(x + other_scale->shares(batch(s.party()))), InvalidArgument);
    EXPECT_THROW((void)(x + other_width->shares(batch(s.party()))), InvalidArgument);
  });
}

TEST_F(Sum, ABackwardPassWorksAfterTheModuleIsGone) {
  parties_.run([&](Session& s) {
    torch::Tensor z;
    {
      MatMul source(s, data_.shape, std::size_t{1});
      z = source(batch(s.party()));
    }
    EXPECT_NO_THROW(z.sum().backward());
  });
}

}  // namespace
}  // namespace blindfl::nn

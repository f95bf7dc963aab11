#include "blindfl/nn/source_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blindfl/base/error.h"
#include "blindfl/nn/federated_optimizer.h"
#include "nn/vertical_fixture.h"
#include "testing/several_parties.h"
#include "testing/steps.h"

namespace blindfl::nn::source_output_test {
namespace {

class Sum : public ::testing::Test {
 protected:
  testing::PlainScheme scheme_;
  testing::TwoParties parties_{scheme_};
  VerticalData data_{rounded(made_up::make_synthetic({.rows = 16, .columns_a = 4, .columns_b = 3}).joined, 16), 4, 16};

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

// Two layers with each of two A's, one output, one derivative.
TEST_F(Sum, OfLayersWithTwoPeersIsOpenedAsOneAndTrainedWithBoth) {
  testing::SeveralParties parties(2, scheme_, testing::Record::kYes);
  FeatureShape shape = data_.shape;
  shape.in_others = shape.in_a;
  torch::manual_seed(3);
  const torch::Tensor dz = torch::randn({16, 2}) / 16;
  struct Result {
    std::vector<Pieces> first;
    std::vector<Pieces> second;
    torch::Tensor z;
    std::vector<ShareMatrix> gradients;
  };
  const auto at_both = [&](const protocol::Sessions& sessions, Party party) {
    MatMul first(sessions, shape, std::size_t{2});
    MatMul second(sessions, shape, std::size_t{2});
    Result result{all_pieces_of(first), all_pieces_of(second), {}, {}};
    result.z = open(first->shares(batch(party)) + second->shares(batch(party)));
    result.z.backward(party == Party::kA ? torch::zeros_like(result.z) : dz);
    for (std::size_t i = 0; i < sessions.size(); ++i) result.gradients.push_back(*second->weight_a(i).grad());
    EXPECT_EQ(sessions_of(std::vector{second->weight_a()}).size(), 1U);
    return result;
  };
  const auto [a, b] = parties.run([&](std::size_t, Session& s) { return at_both(s, Party::kA); },
                                  [&](const protocol::Sessions& all) { return at_both(all, Party::kB); });
  // Both A's have the same features here.
  torch::Tensor weight = torch::zeros({7, 2});
  for (std::size_t i = 0; i < 2; ++i) {
    weight += joined_weight(a[i].first[0], b.first[i]) + joined_weight(a[i].second[0], b.second[i]);
    EXPECT_EQ(parties.recording(Party::kB, i).received().at(protocol::steps::kMaskedOutputShare),
              (net::Traffic{1, 256}));
  }
  const torch::Tensor x = lab::features_tensor(data_.joined);
  EXPECT_LE(largest_difference(b.z, torch::mm(x, weight)), 6e-5);
  const torch::Tensor gradient = torch::mm(x.slice(1, 0, 4).t(), dz) * 16;
  for (std::size_t i = 0; i < 2; ++i) {
    const ShareMatrix opened = blindfl::open(a[i].gradients[0], b.gradients[i]);
    EXPECT_LE(largest_difference(to_tensor(decode_ring(opened), 4, 2), gradient), 1e-5);
  }
}

TEST_F(Sum, OverSeveralPeersTakesMasks) {
  testing::SeveralParties parties(2, scheme_, testing::Record::kNo, testing::SeveralParties::Masks::kNone);
  try {
    (void)MatMul(parties.b(), data_.shape, std::size_t{2});
    FAIL() << "B would see the part of each";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("agree on masks before B makes a layer"));
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
}  // namespace blindfl::nn::source_output_test

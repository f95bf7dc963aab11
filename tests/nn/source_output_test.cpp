#include "blindfl/nn/source_output.h"

#include <gtest/gtest.h>

#include <future>

#include "blindfl/base/error.h"
#include "blindfl/nn/federated_optimizer.h"
#include "nn/vertical_fixture.h"
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

// B with two A's: a session with each, one output, one derivative, one optimizer.
TEST_F(Sum, OverTwoSessionsIsOpenedAsOneAndTrainedWithBothPeers) {
  struct Result {
    std::vector<Pieces> weights;
    std::vector<torch::Tensor> z;
  };
  testing::TwoParties other(scheme_);
  torch::manual_seed(3);
  const torch::Tensor dz = torch::randn({16, 2}) / 16;
  const SgdOptions sgd{.learning_rate = 0.5};

  const auto at_a = [&](Session& s) {
    MatMul layer(s, data_.shape, std::size_t{2});
    FederatedOptimizer optimizer({layer->weight_a(), layer->weight_b()}, sgd);
    Result result{{pieces_of(layer)}, {}};
    for (int step = 0; step < 2; ++step) {
      optimizer.zero_grad();
      const torch::Tensor z = open(layer->shares(batch(Party::kA)));
      z.backward(torch::zeros_like(z));
      optimizer.step();
    }
    return result;
  };
  auto first = std::async(std::launch::async, [&] { return at_a(parties_.session(Party::kA)); });
  auto second = std::async(std::launch::async, [&] { return at_a(other.session(Party::kA)); });

  MatMul to_first(parties_.session(Party::kB), data_.shape, std::size_t{2});
  MatMul to_second(other.session(Party::kB), data_.shape, std::size_t{2});
  const std::vector<FederatedParameter> parameters = {to_first->weight_a(), to_first->weight_b(), to_second->weight_a(),
                                                      to_second->weight_b()};
  EXPECT_EQ(sessions_of(parameters), (std::vector<Session*>{&parties_.session(Party::kB), &other.session(Party::kB)}));
  FederatedOptimizer optimizer(parameters, sgd);
  Result b{{pieces_of(to_first), pieces_of(to_second)}, {}};
  for (int step = 0; step < 2; ++step) {
    optimizer.zero_grad();
    b.z.push_back(open(to_first->shares(batch(Party::kB)) + to_second->shares(batch(Party::kB))));
    b.z.back().backward(dz);
    optimizer.step();
  }

  const torch::Tensor x = lab::features_tensor(data_.joined);
  torch::Tensor weight = joined_weight(first.get().weights[0], b.weights[0]);
  weight += joined_weight(second.get().weights[0], b.weights[1]);
  EXPECT_LE(largest_difference(b.z[0], torch::mm(x, weight)), 6e-5);
  // Each of the two layers takes the whole step.
  weight -= 2 * sgd.learning_rate * torch::mm(x.t(), dz);
  EXPECT_LE(largest_difference(b.z[1], torch::mm(x, weight)), 2e-4);
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

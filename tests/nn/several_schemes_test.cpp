// Which scheme carries a product changes its messages, and nothing that is learnt.

#include <gtest/gtest.h>

#include "blindfl/nn/federated_optimizer.h"
#include "blindfl/train/trainer.h"
#include "nn/vertical_fixture.h"

namespace blindfl::nn {
namespace {

class SeveralSchemes : public ::testing::Test {
 protected:
  he::PlainScheme plain_;
  he::LatticeScheme lattice_;
  VerticalData data_{rounded(data::make_synthetic({.rows = 64, .columns_a = 6, .columns_b = 5}).joined, 16), 6, 16};

  /// The weights after a few epochs, and B's scores.
  std::pair<torch::Tensor, torch::Tensor> train(const MatMulOptions& layer) {
    struct Result {
      Pieces pieces;
      torch::Tensor scores;
    };
    testing::TwoParties parties(std::vector<const he::Scheme*>{&plain_, &lattice_});
    const auto [a, b] = parties.run([&](Session& s) {
      GeneralizedLinear model(s, data_.shape, std::size_t{1}, layer);
      const auto forward = [&](const data::Batch& x) { return model(x); };
      const auto loss_of = [](const torch::Tensor& scores, const torch::Tensor& labels) {
        return loss(Family::kLogistic, scores, labels);
      };
      train::TrainOptions options;
      options.epochs = 3;
      options.batch = 16;
      options.sgd = {.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.01};
      train::fit(*model, forward, loss_of, data_.at(s.party()), options);
      return Result{pieces_of(model->source), train::score(forward, data_.at(s.party()), 16)};
    });
    return {joined_weight(a.pieces, b.pieces), b.scores};
  }
};

TEST_F(SeveralSchemes, OneForEachSideTrainsTheSameAsOneForBoth) {
  const auto [weight, scores] = train({});
  for (const auto& [scheme_a, scheme_b] : {std::pair("lattice", ""), std::pair("plain", "lattice")}) {
    MatMulOptions layer;
    layer.scheme_a = scheme_a;
    layer.scheme_b = scheme_b;
    const auto [mixed_weight, mixed_scores] = train(layer);
    EXPECT_LE(largest_difference(mixed_weight, weight), 1e-4);
    EXPECT_LE(largest_difference(mixed_scores, scores), 1e-3);
  }
}

}  // namespace
}  // namespace blindfl::nn

// Which scheme carries a product changes its messages, and nothing that is learnt.

#include <gtest/gtest.h>

#include "blindfl/nn/federated_optimizer.h"
#include "blindfl/protocol/layers/matmul.h"
#include "blindfl/protocol/layers/matmul_params.h"
#include "blindfl/train/trainer.h"
#include "nn/vertical_fixture.h"

namespace blindfl::nn::several_schemes_test {
namespace {

class SeveralSchemes : public ::testing::Test {
 protected:
  testing::PlainScheme plain_;
  he::LatticeScheme lattice_;
  VerticalData data_{rounded(made_up::make_synthetic({.rows = 64, .columns_a = 6, .columns_b = 5}).joined, 16), 6, 16};

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

/// `auto`: what a layer with this many features of A, 7 in a row, is made of.
class AutomaticLayer : public ::testing::Test {
 protected:
  struct Chosen {
    std::string scheme_a;
    protocol::Update update;
    std::vector<protocol::PlanRow> plan;
  };
  Chosen choose(std::size_t in_a, const MatMulOptions& options) {
    const he::PaillierScheme paillier;
    const he::LatticeScheme lattice;
    testing::TwoParties parties(std::vector<const he::Scheme*>{&lattice, &paillier});
    FeatureShape shape;
    shape.in_a = in_a;
    shape.in_b = 3;
    shape.nonzeros_a = 7;
    shape.features_a = {.scale = 0, .largest = 1, .clip = false};
    return parties
        .run([&](Session& s) {
          MatMul layer(s, shape, 1, options);
          const protocol::MatMulSpec& spec = layer->layer().params().spec();
          return Chosen{spec.scheme_a, spec.update, layer->plan()};
        })
        .first;
  }
  MatMulOptions automatic_ = [] {
    MatMulOptions options;
    options.automatic = protocol::Link{.bits_per_second = 1e10, .round_trip = 1e-4};
    options.sgd = {.learning_rate = 0.1, .steps = 1000};
    return options;
  }();
};

TEST_F(AutomaticLayer, TakesWhatSuitsItsShapeAndSaysWhy) {
  const Chosen few = choose(20, automatic_);
  EXPECT_EQ(few.scheme_a, "lattice");
  EXPECT_EQ(few.update, protocol::Update::kExchanged);
  const Chosen many = choose(200000, automatic_);
  EXPECT_EQ(many.scheme_a, "paillier");
  EXPECT_EQ(many.update, protocol::Update::kEncrypted);
  ASSERT_FALSE(many.plan.empty());
  EXPECT_EQ(std::get<protocol::FeaturesPart>(many.plan.front().part).features, 200000U);
}

TEST_F(AutomaticLayer, LeavesAloneWhatIsSaid) {
  automatic_.update = protocol::Update::kEncrypted;
  EXPECT_EQ(choose(20, automatic_).scheme_a, "paillier");
  MatMulOptions said;
  EXPECT_EQ(choose(20, said).scheme_a, "lattice");
  EXPECT_TRUE(choose(20, said).plan.empty());
}

}  // namespace
}  // namespace blindfl::nn::several_schemes_test

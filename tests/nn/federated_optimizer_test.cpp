#include "blindfl/nn/federated_optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blindfl/base/error.h"
#include "blindfl/protocol/layers/weight.h"
#include "nn/vertical_fixture.h"
#include "testing/thrown.h"

namespace blindfl::nn::federated_optimizer_test {
namespace {

using ::testing::HasSubstr;

class Optimizer : public ::testing::Test {
 protected:
  testing::PlainScheme scheme_;
  testing::TwoParties parties_{scheme_};
  VerticalData data_{rounded(made_up::make_synthetic({.rows = 64, .columns_a = 6, .columns_b = 5}).joined, 16), 6, 16};

  [[nodiscard]] data::Batch batch(Party party, std::uint32_t first) const {
    std::vector<std::uint32_t> rows(16);
    for (std::uint32_t i = 0; i < 16; ++i) rows[i] = first + i;
    return data::make_batch(data_.at(party), rows, 16);
  }
  [[nodiscard]] torch::Tensor features(std::uint32_t first) const {
    std::vector<std::uint32_t> rows(16);
    for (std::uint32_t i = 0; i < 16; ++i) rows[i] = first + i;
    return lab::features_tensor(data_.joined.select_rows(rows));
  }
  /// Trains a layer by a fixed derivative, so that only the optimizers differ, and compares the weights.
  /// `rates` are the learning rates of the steps: torch's are set by hand, and so are the federated ones without a
  /// schedule.
  void expect_as_torch(const SgdOptions& options, const std::vector<double>& rates) {
    torch::manual_seed(5);
    const torch::Tensor dz = torch::randn({16, 3}) / 16;
    struct Result {
      Pieces before;
      Pieces after;
    };
    const auto [a, b] = parties_.run([&](Session& s) {
      MatMul source(s, data_.shape, std::size_t{3});
      Result result{pieces_of(source), {}};
      FederatedOptimizer optimizer(*source, options);
      for (std::size_t i = 0; i < rates.size(); ++i) {
        if (options.schedule.empty()) optimizer.set_learning_rate(rates[i]);
        optimizer.zero_grad();
        const torch::Tensor z = source(batch(s.party(), 16 * (i % 4)));
        z.backward(s.party() == Party::kA ? torch::zeros_like(z) : dz);
        optimizer.step();
      }
      result.after = pieces_of(source);
      return result;
    });
    torch::Tensor weight = joined_weight(a.before, b.before).requires_grad_();
    torch::optim::SGD sgd(
        {weight},
        torch::optim::SGDOptions(options.learning_rate).momentum(options.momentum).weight_decay(options.weight_decay));
    for (std::size_t i = 0; i < rates.size(); ++i) {
      static_cast<torch::optim::SGDOptions&>(sgd.param_groups()[0].options()).lr(rates[i]);
      sgd.zero_grad();
      torch::mm(features(16 * (i % 4)), weight).backward(dz);
      sgd.step();
    }
    EXPECT_LE(largest_difference(joined_weight(a.after, b.after), weight), 1e-5);
    EXPECT_GT(largest_difference(joined_weight(a.before, b.before), weight), 1e-2);
  }
};

TEST_F(Optimizer, EqualsTorchWithoutMomentum) {
  expect_as_torch({.learning_rate = 0.1}, std::vector<double>(20, 0.1));
}

TEST_F(Optimizer, EqualsTorchWithMomentum) {
  expect_as_torch({.learning_rate = 0.1, .momentum = 0.9}, std::vector<double>(40, 0.1));
  expect_as_torch({.learning_rate = 0.01, .momentum = 0.99}, std::vector<double>(40, 0.01));
}

TEST_F(Optimizer, EqualsTorchWithWeightDecayWhichMovesBothPiecesOfEveryWeight) {
  expect_as_torch({.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.05}, std::vector<double>(40, 0.1));
  expect_as_torch({.learning_rate = 0.1, .weight_decay = 0.2}, std::vector<double>(20, 0.1));
}

TEST_F(Optimizer, EqualsTorchWhenTheLearningRateChangesDuringTheRun) {
  std::vector<double> rates(12, 0.1);
  rates.insert(rates.end(), 12, 0.03);
  rates.insert(rates.end(), 12, 0.0001);
  rates.insert(rates.end(), 4, 0.0);
  expect_as_torch({.learning_rate = 0.1, .momentum = 0.9}, rates);
}

TEST_F(Optimizer, FollowsItsScheduleAsTorchDoesWhenItsRateIsSetByHand) {
  std::vector<double> rates(12, 0.1);
  rates.insert(rates.end(), 1, 0.2);
  rates.insert(rates.end(), 12, 0.03);
  rates.insert(rates.end(), 12, 0.0001);
  expect_as_torch(
      {.learning_rate = 0.1, .momentum = 0.9, .schedule = {{12, 0.2}, {13, 0.03}, {25, 0.0001}}, .steps = 37}, rates);
  expect_as_torch({.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.05, .schedule = {{12, 0.2}, {13, 0.03}}},
                  std::vector<double>(rates.begin(), rates.begin() + 20));
}

TEST_F(Optimizer, FollowsItsScheduleForPlainParametersToo) {
  const auto [a, b] = parties_.run([&](Session& s) {
    GeneralizedLinear model(s, data_.shape, std::size_t{1});
    FederatedOptimizer optimizer(*model, {.learning_rate = 0.5, .schedule = {{2, 0.25}, {3, 0.0}}});
    std::vector<double> biases;
    for (int i = 0; i < 5; ++i) {
      optimizer.zero_grad();
      model(batch(s.party(), 0)).sum().backward();
      optimizer.step();
      biases.push_back(model->bias.item<double>());
    }
    return biases;
  });
  // The derivative of the sum by the bias is the number of rows.
  EXPECT_EQ(b, (std::vector<double>{-8, -16, -20, -20, -20}));
}

TEST_F(Optimizer, TakesNoMoreStepsThanDeclaredAndChangesNothingThen) {
  parties_.run([&](Session& s) {
    MatMul source(s, data_.shape, std::size_t{1});
    FederatedOptimizer optimizer(*source, {.learning_rate = 0.1, .steps = 2});
    const auto backward = [&] {
      optimizer.zero_grad();
      const torch::Tensor z = source(batch(s.party(), 0));
      z.backward(torch::ones_like(z));
    };
    for (int i = 0; i < 2; ++i) {
      backward();
      optimizer.step();
    }
    backward();
    const Pieces before = pieces_of(source);
    EXPECT_THAT(testing::message_of<InvalidArgument>([&] { optimizer.step(); }), HasSubstr("2 steps were declared"));
    EXPECT_EQ(pieces_of(source).weight_a, before.weight_a);
    EXPECT_EQ(pieces_of(source).weight_b, before.weight_b);
  });
}

TEST_F(Optimizer, RefusesAnUnplannedLearningRateBesideASchedule) {
  parties_.run([&](Session& s) {
    MatMul source(s, data_.shape, std::size_t{1});
    FederatedOptimizer optimizer(*source, {.learning_rate = 0.1, .schedule = {{5, 0.01}}});
    EXPECT_THAT(testing::message_of<InvalidArgument>([&] { optimizer.set_learning_rate(0.1); }),
                HasSubstr("Put the change into the schedule"));
    EXPECT_THROW(FederatedOptimizer(*source, {.schedule = {{0, 0.01}}}), InvalidArgument);
  });
}

TEST_F(Optimizer, PartiesWithDifferentSchedulesLearnWhichStepDiffers) {
  const auto message = testing::message_of<ConfigError>([&] {
    testing::TwoParties(scheme_).run([&](Session& s) {
      MatMul source(s, data_.shape, std::size_t{1});
      const double later = s.party() == Party::kA ? 0.5 : 0.25;
      const FederatedOptimizer optimizer(*source, {.learning_rate = 0.1, .schedule = {{5, 0.01}, {7, later}}});
      (void)source(batch(s.party(), 0));
    });
  });
  EXPECT_THAT(message, HasSubstr("the optimizer: learning_rate from step 7 is 0.5 here and 0.25 at the peer."));
}

TEST_F(Optimizer, StartsItsMomentumAnewWithEveryOptimizerAsTorchDoes) {
  torch::manual_seed(5);
  const torch::Tensor dz = torch::randn({16, 1}) / 16;
  struct Result {
    Pieces before;
    Pieces after;
  };
  const auto [a, b] = parties_.run([&](Session& s) {
    MatMul source(s, data_.shape, std::size_t{1});
    Result result{pieces_of(source), {}};
    for (int run = 0; run < 2; ++run) {
      FederatedOptimizer optimizer(*source, {.learning_rate = 0.1, .momentum = 0.9});
      for (int i = 0; i < 5; ++i) {
        optimizer.zero_grad();
        const torch::Tensor z = source(batch(s.party(), 0));
        z.backward(s.party() == Party::kA ? torch::zeros_like(z) : dz);
        optimizer.step();
      }
    }
    result.after = pieces_of(source);
    return result;
  });
  torch::Tensor weight = joined_weight(a.before, b.before).requires_grad_();
  for (int run = 0; run < 2; ++run) {
    torch::optim::SGD sgd({weight}, torch::optim::SGDOptions(0.1).momentum(0.9));
    for (int i = 0; i < 5; ++i) {
      sgd.zero_grad();
      torch::mm(features(0), weight).backward(dz);
      sgd.step();
    }
  }
  EXPECT_LE(largest_difference(joined_weight(a.after, b.after), weight), 1e-5);
}

TEST_F(Optimizer, PartiesWithDifferentOptionsStopAtTheNextForwardPass) {
  const auto train = [&](double rate_at_b, double changed_rate_at_b) {
    return [&, rate_at_b, changed_rate_at_b](Session& s) {
      MatMul source(s, data_.shape, std::size_t{1});
      const bool at_b = s.party() == Party::kB;
      FederatedOptimizer optimizer(*source, {.learning_rate = at_b ? rate_at_b : 0.1});
      (void)source(batch(s.party(), 0));
      optimizer.set_learning_rate(at_b ? changed_rate_at_b : 0.05);
      (void)source(batch(s.party(), 0));
    };
  };
  EXPECT_NO_THROW(testing::TwoParties(scheme_).run(train(0.1, 0.05)));
  EXPECT_THROW(testing::TwoParties(scheme_).run(train(0.2, 0.05)), ConfigError);
  EXPECT_THROW(testing::TwoParties(scheme_).run(train(0.1, 0.06)), ConfigError);
}

TEST_F(Optimizer, DoesNothingWithoutABackwardPass) {
  const auto [a, b] = parties_.run([&](Session& s) {
    MatMul source(s, data_.shape, std::size_t{3});
    const Pieces before = pieces_of(source);
    FederatedOptimizer optimizer(*source, {.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.1});
    optimizer.step();
    const torch::Tensor z = source(batch(s.party(), 0));
    z.backward(torch::zeros_like(z));
    optimizer.zero_grad();
    optimizer.step();
    return std::pair(before, pieces_of(source));
  });
  for (const auto& [before, after] : {a, b}) {
    EXPECT_EQ(before.weight_a, after.weight_a);
    EXPECT_EQ(before.weight_b, after.weight_b);
  }
}

TEST_F(Optimizer, AddsUpGradientsOfSeveralBackwardPassesAsTorchDoes) {
  const auto [a, b] = parties_.run([&](Session& s) {
    MatMul source(s, data_.shape, std::size_t{1});
    const torch::Tensor one = s.party() == Party::kA ? torch::zeros({0, 1}) : torch::ones({16, 1}) / 16;
    source(batch(s.party(), 0)).backward(one);
    const ShareMatrix once = *source->weight_a().grad();
    source(batch(s.party(), 0)).backward(one);
    return std::pair(once, *source->weight_a().grad());
  });
  const auto once = decode_ring(open(a.first, b.first));
  const auto twice = decode_ring(open(a.second, b.second));
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_NEAR(twice[i], 2 * once[i], 1e-8);
}

TEST_F(Optimizer, APlainOptimizerNeverSeesTheFederatedWeights) {
  parties_.run([&](Session& s) {
    GeneralizedLinear model(s, data_.shape, std::size_t{2});
    const auto plain = model->parameters();
    ASSERT_EQ(plain.size(), 1U);  // the bias
    EXPECT_EQ(plain[0].numel(), 2);
    EXPECT_TRUE(model->source->parameters().empty());
    EXPECT_TRUE(model->source->buffers().empty());
    const auto federated = model->federated_parameters();
    ASSERT_EQ(federated.size(), 2U);
    EXPECT_EQ(federated[0].name(), "matmul.weight_a");
    EXPECT_EQ(federated[1].weight().features_of, Party::kB);
  });
}

TEST_F(Optimizer, RefusesOptionsOutOfRangeAndKeepsTheOldLearningRate) {
  parties_.run([&](Session& s) {
    MatMul source(s, data_.shape, std::size_t{1});
    for (const SgdOptions& bad :
         {SgdOptions{-0.1, 0, 0}, SgdOptions{0.1, 1.0, 0}, SgdOptions{0.1, -0.5, 0}, SgdOptions{0.1, 0, -1},
          SgdOptions{std::nan(""), 0, 0}, SgdOptions{0.1, std::nan(""), 0}}) {
      EXPECT_THROW(FederatedOptimizer(*source, bad), InvalidArgument);
    }
    FederatedOptimizer optimizer(*source, {.learning_rate = 0.1});
    EXPECT_THROW(optimizer.set_learning_rate(-1), InvalidArgument);
    EXPECT_EQ(optimizer.options().learning_rate, 0.1);
  });
}

TEST_F(Optimizer, RefusesWeightDecayOfWeightsThatCouldOverflow) {
  parties_.run([&](Session& s) {
    FeatureShape binary = data_.shape;
    binary.features_a = binary.features_b = {.scale = 0, .largest = 1, .clip = false};
    MatMulOptions options;
    options.largest_weight = 0x1p38;
    MatMul source(s, binary, std::size_t{1}, options);
    EXPECT_NO_THROW(FederatedOptimizer(*source, {.learning_rate = 0.1}));
    EXPECT_THROW(FederatedOptimizer(*source, {.learning_rate = 0.1, .weight_decay = 1e-6}), InvalidArgument);
  });
}

TEST_F(Optimizer, RefusesMomentumThatCouldOverflowNamingTheParameter) {
  parties_.run([&](Session& s) {
    MatMulOptions options;
    options.name = "wide";
    options.derivative = {.scale = 32, .largest = 0x1p18, .clip = false};
    MatMul source(s, data_.shape, std::size_t{1}, options);
    EXPECT_NO_THROW(FederatedOptimizer(*source, {.learning_rate = 0.1, .momentum = 0.5}));
    try {
      const FederatedOptimizer optimizer(*source, {.learning_rate = 0.1, .momentum = 0.9999});
      ADD_FAILURE() << "accepted";
    } catch (const InvalidArgument& error) {
      EXPECT_THAT(error.what(), HasSubstr("wide.weight_a"));
      EXPECT_THAT(error.what(), HasSubstr("overflow"));
    }
  });
}

}  // namespace
}  // namespace blindfl::nn::federated_optimizer_test

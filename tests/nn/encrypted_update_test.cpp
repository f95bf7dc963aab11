// Updates under encryption, lossless: LR, MLR and MLP equal libtorch's SGD after 800 steps with momentum and two
// planned changes of the learning rate, on binary, integer, real and mixed sparse features.

#include <gtest/gtest.h>

#include "blindfl/base/error.h"
#include "blindfl/nn/federated_optimizer.h"
#include "blindfl/train/trainer.h"
#include "nn/vertical_fixture.h"
#include "protocol/encrypted_fixture.h"
#include "testing/thrown.h"

namespace blindfl::nn::encrypted_update_test {
namespace {

constexpr std::size_t kBatch = 8;
constexpr std::size_t kInA = 20;
constexpr std::size_t kInB = 12;
constexpr std::size_t kRows = 320;  // 40 steps an epoch
constexpr std::size_t kEpochs = 20;

struct Case {
  std::string model;  // "lr", "mlr", "mlp"
  std::string input;  // "binary", "integer", "real", "mixed"
  double momentum;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.model << ", " << c.input << ", momentum " << c.momentum;
}

/// Every model with every input, and each of them with both momenta. Momentum acts on sums of gradients, the same
/// way whatever features they came from, so that not every three need meet.
std::vector<Case> all_cases() {
  std::vector<Case> cases;
  bool much = false;
  for (const char* model : {"lr", "mlr", "mlp"}) {
    for (const char* input : {"binary", "integer", "real", "mixed"}) {
      cases.push_back({model, input, much ? 0.99 : 0.9});
      much = !much;
    }
    much = !much;
  }
  return cases;
}

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  return info.param.model + "_" + info.param.input + (info.param.momentum == 0.9 ? "_90" : "_99");
}

/// Sparse features of the kind that each column has, and labels from a hidden linear model.
data::Table make_table(const Case& c, std::size_t classes) {
  SeededRandom random(17);
  const std::size_t cols = kInA + kInB;
  std::vector<double> truth(cols * classes);
  for (double& w : truth) w = random.normal();
  std::vector<double> values;
  std::vector<double> labels;
  for (std::size_t r = 0; r < kRows; ++r) {
    std::vector<double> scores(classes);
    for (std::size_t i = 0; i < cols; ++i) {
      double v = 0;
      if (random.below(3) == 0) {
        const bool real = c.input == "real" || (c.input == "mixed" && i % 2 == 0);
        v = real ? std::round(random.normal() * 0x1p16) * 0x1p-16 : 1.0;
        if (c.input == "integer") v = static_cast<double>(random.below(7)) - 3.0;
        v = std::clamp(v, -4.0, 4.0);
      }
      values.push_back(v);
      for (std::size_t k = 0; k < classes; ++k) scores[k] += v * truth[i * classes + k];
    }
    if (classes == 1) {
      labels.push_back(scores[0] > 0 ? 1.0 : 0.0);
    } else {
      labels.push_back(static_cast<double>(std::max_element(scores.begin(), scores.end()) - scores.begin()));
    }
  }
  return data::Table::dense(kRows, cols, std::move(values), std::move(labels));
}

class LosslessUnderEncryption : public ::testing::TestWithParam<Case> {
 protected:
  bool mlp_ = GetParam().model == "mlp";
  Family family_ = GetParam().model == "lr" ? Family::kLogistic : Family::kMultinomial;
  std::size_t outputs_ = GetParam().model == "lr" ? 1 : 3;
  std::vector<std::size_t> hidden_ = mlp_ ? std::vector<std::size_t>{6} : std::vector<std::size_t>{};
  data::Table joined_ = make_table(GetParam(), outputs_);

  [[nodiscard]] FeatureShape shape() const {
    const bool integers = GetParam().input == "binary" || GetParam().input == "integer";
    FeatureShape shape;
    shape.in_a = kInA;
    shape.in_b = kInB;
    shape.batch = kBatch;
    shape.features_a = {.scale = integers ? 0 : 16, .largest = 4.0, .clip = false};
    shape.features_b = shape.features_a;
    return shape;
  }
  [[nodiscard]] train::TrainOptions options() const {
    train::TrainOptions options;
    options.epochs = kEpochs;
    options.batch = kBatch;
    // Steps of one size whatever the momentum.
    const double rate = 0.4 * (1 - GetParam().momentum);
    options.sgd = {.learning_rate = rate,
                   .momentum = GetParam().momentum,
                   .schedule = {{.step = 250, .learning_rate = rate / 2}, {.step = 500, .learning_rate = rate / 8}},
                   .steps = 800};
    return options;
  }
};

TEST_P(LosslessUnderEncryption, WeightsEqualLibtorchAfter800Steps) {
  const FeatureShape shape = this->shape();
  const train::TrainOptions options = this->options();
  const auto split = made_up::vertical_split(joined_, kInA);
  const auto scheme = testing::make_scheme("paillier");
  testing::TwoParties parties(*scheme, testing::Record::kNo);
  struct Result {
    Pieces before;
    std::vector<torch::Tensor> top_before;
    Pieces after;
    std::vector<torch::Tensor> top_after;
    MatMul source{nullptr};
  };
  const auto [a, b] = parties.run([&](Session& s) {
    MatMulOptions layer;
    layer.derivative.largest = 16.0;
    layer.update = protocol::Update::kEncrypted;
    layer.sgd = options.sgd;
    const auto train_model = [&](auto& model) {
      const auto top = [&] {
        std::vector<torch::Tensor> copies;
        for (const auto& p : model->parameters()) copies.push_back(p.detach().clone());
        return copies;
      };
      Result result;
      result.source = model->source;
      result.before = pieces_of(model->source);
      result.top_before = top();
      const bool at_a = s.party() == Party::kA;
      train::fit(
          *model, [&](const data::Batch& x) { return model->forward(x); },
          [&](const torch::Tensor& scores, const torch::Tensor& labels) { return loss(family_, scores, labels); },
          data::make_dataset(at_a ? split.a : split.b, FixedPoint(at_a ? shape.features_a : shape.features_b)),
          options);
      if (!at_a) model->source->layer().row_update()->refresh_all();
      result.after = pieces_of(model->source);
      result.top_after = top();
      return result;
    };
    if (mlp_) {
      Mlp model(s, shape, hidden_, outputs_, Activation::kTanh, layer);
      return train_model(model);
    }
    GeneralizedLinear model(s, shape, outputs_, layer);
    return train_model(model);
  });

  const auto tensor = [](const ShareMatrix& m) { return to_tensor(decode_ring(m), m.rows(), m.cols()); };
  const auto weights = [&](const Pieces& at_a, const Pieces& at_b, const torch::Tensor& learned) {
    return torch::cat({tensor(at_a.weight_a) + learned, tensor(open(at_a.weight_b, at_b.weight_b))});
  };
  lab::LocalModel plain(joined_.cols(), hidden_, outputs_, Activation::kTanh);
  {
    const torch::NoGradGuard no_grad;
    plain->weight.copy_(weights(a.before, b.before, torch::zeros({})));
    auto parameters = plain->parameters();
    for (std::size_t i = 0; i < b.top_before.size(); ++i) parameters.at(i + 1).copy_(b.top_before[i]);
  }
  const torch::Tensor start = plain->weight.detach().clone();
  lab::fit(plain, family_, joined_, options);

  EXPECT_EQ(a.source->layer().holder()->steps(), 800U);
  const torch::Tensor learned =
      to_tensor(protocol::decrypt_weights(a.source->layer(), b.source->layer()), kInA, a.before.weight_a.cols());
  EXPECT_GT(largest_difference(start, plain->weight), 0.2) << "training moved nothing";
  EXPECT_LE(largest_difference(weights(a.after, b.after, learned), plain->weight), 1e-3);
  const auto parameters = plain->parameters();
  for (std::size_t i = 0; i < b.top_after.size(); ++i) {
    EXPECT_LE(largest_difference(b.top_after[i], parameters.at(i + 1)), 1e-3);
  }
  // What A drew has not changed, and A holds nothing else in the clear.
  EXPECT_EQ(a.before.weight_a, a.after.weight_a);
}

INSTANTIATE_TEST_SUITE_P(Models, LosslessUnderEncryption, ::testing::ValuesIn(all_cases()), name_of);

class EncryptedOptimizer : public ::testing::Test {
 protected:
  std::unique_ptr<he::Scheme> scheme_ = testing::make_scheme("paillier");
  FeatureShape shape_{.in_a = 3, .in_b = 2, .batch = 4};
  MatMulOptions layer_ = [] {
    MatMulOptions layer;
    layer.update = protocol::Update::kEncrypted;
    layer.sgd = {.learning_rate = 0.1, .steps = 10};
    return layer;
  }();

  /// What an optimizer with these options says, at B.
  template <class Use>
  std::string refusal(const SgdOptions& options, const Use& use) {
    testing::TwoParties parties(*scheme_);
    return parties
        .run([&](Session& s) {
          GeneralizedLinear model(s, shape_, 1, layer_);
          return testing::message_of<InvalidArgument>([&] {
            FederatedOptimizer optimizer(*model, options);
            use(optimizer);
          });
        })
        .second;
  }
};

TEST_F(EncryptedOptimizer, MustHaveTheOptionsThatItsLayersWerePlannedWith) {
  EXPECT_EQ(refusal({.learning_rate = 0.2, .steps = 10}, [](FederatedOptimizer&) {}),
            "optimizer: 'matmul.weight_a' is updated by its layer, which made room for other options: learning_rate is "
            "0.1 in the layer and 0.2 in the optimizer. Give both the same");
}

TEST_F(EncryptedOptimizer, ChangesNoLearningRateThatWasNotPlanned) {
  EXPECT_EQ(refusal(layer_.sgd, [](FederatedOptimizer& o) { o.set_learning_rate(0.01); }),
            "optimizer: 'matmul.weight_a' is updated by its layer, where every learning rate must be planned. Put "
            "the change into the schedule");
}

TEST_F(EncryptedOptimizer, TakesNoStepWithoutABackwardPass) {
  EXPECT_EQ(refusal(layer_.sgd, [](FederatedOptimizer& o) { o.step(); }),
            "a step without a backward pass through a layer that is updated under encryption: its momentum was planned "
            "for gradients at every step");
}

}  // namespace
}  // namespace blindfl::nn::encrypted_update_test

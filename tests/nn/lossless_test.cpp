// Lossless: a federated model equals the plain libtorch model on the joined data, forward, backward, and after many
// steps. Tolerances: Z is opened at 16 fractional bits; gradients and weights are kept at 32.

#include <gtest/gtest.h>

#include "blindfl/nn/federated_optimizer.h"
#include "blindfl/train/trainer.h"
#include "nn/vertical_fixture.h"

namespace blindfl::nn::lossless_test {
namespace {

struct Case {
  std::string scheme;
  std::string model;  // "lr", "mlr", "mlp" (tanh), "relu" (an MLP too)
  std::string input;  // "dense", "sparse", "binary"
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.scheme << ", " << c.model << ", " << c.input;
}

/// Paillier re-encrypts every weight at every step: each model and each kind of input once.
bool is_enough_for_paillier(const Case& c) {
  return (c.model == "lr" && c.input == "sparse") || (c.model == "mlr" && c.input == "binary") ||
         (c.model == "mlp" && c.input == "dense");
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const std::string& scheme : testing::scheme_names()) {
    for (const char* model : {"lr", "mlr", "mlp", "relu"}) {
      for (const char* input : {"dense", "sparse", "binary"}) {
        const Case c{scheme, model, input};
        if (scheme == "paillier" && !is_enough_for_paillier(c)) continue;
        cases.push_back(c);
      }
    }
  }
  return cases;
}

constexpr std::size_t kBatch = 32;
constexpr double kRealBatch = 32;

const std::vector<std::size_t> kHidden{12, 6};

bool is_mlp(const Case& c) {
  return c.model == "mlp" || c.model == "relu";
}
Activation activation_of(const Case& c) {
  return c.model == "relu" ? Activation::kRelu : Activation::kTanh;
}

/// A model of either kind, at one party.
struct FederatedUnderTest {
  FederatedUnderTest(Session& session, const VerticalData& data, const Case& c, std::size_t outputs,
                     const MatMulOptions& options = {}) {
    if (is_mlp(c)) {
      mlp = Mlp(session, data.shape, kHidden, outputs, activation_of(c), options);
    } else {
      linear = GeneralizedLinear(session, data.shape, outputs, options);
    }
  }
  torch::Tensor after_source(const torch::Tensor& z) {
    return mlp ? mlp->top->forward(z + mlp->bias) : z + linear->bias;
  }
  [[nodiscard]] const FederatedModule& module() const {
    return mlp ? static_cast<const FederatedModule&>(*mlp) : static_cast<const FederatedModule&>(*linear);
  }
  [[nodiscard]] const MatMul& source() const { return mlp ? mlp->source : linear->source; }

  Mlp mlp{nullptr};
  GeneralizedLinear linear{nullptr};
};

class Lossless : public ::testing::TestWithParam<Case> {
 protected:
  std::unique_ptr<he::Scheme> scheme_ = testing::make_scheme(GetParam().scheme);
  testing::TwoParties parties_{*scheme_};
  Family family_ = GetParam().model == "lr" ? Family::kLogistic : Family::kMultinomial;
  std::size_t outputs_ = GetParam().model == "lr" ? 1 : 4;
  VerticalData data_{make_table(), 14, kBatch};
  // Of the joined model's first layer: for an MLP the first hidden one.
  std::vector<std::size_t> hidden_ = is_mlp(GetParam()) ? kHidden : std::vector<std::size_t>{};

  [[nodiscard]] data::Table make_table() const {
    made_up::SyntheticSpec spec;
    spec.rows = 500;  // not a multiple of the batch: the last one is padded
    spec.columns_a = 14;
    spec.columns_b = 9;
    spec.density = GetParam().input == "dense" ? 1.0 : 0.3;
    spec.binary = GetParam().input == "binary";
    spec.task = family_ == Family::kLogistic ? made_up::Task::kBinary : made_up::Task::kMulticlass;
    spec.classes = 4;
    return made_up::make_synthetic(spec).joined;
  }
  [[nodiscard]] data::Batch first_batch(Party party) const {
    return data::make_batch(data_.at(party), first_rows(), kBatch);
  }
  [[nodiscard]] static std::vector<std::uint32_t> first_rows() {
    std::vector<std::uint32_t> rows(kBatch - 3);
    for (std::uint32_t i = 0; i < rows.size(); ++i) rows[i] = i;
    return rows;
  }
  /// Trains the joined model and compares Z at every step.
  void train_beside(lab::LocalModel& model, const train::TrainOptions& options,
                    const std::vector<torch::Tensor>& federated_z) const {
    torch::optim::SGD sgd(model->parameters(),
                          torch::optim::SGDOptions(options.sgd.learning_rate).momentum(options.sgd.momentum));
    const protocol::SgdPlan plan(options.sgd);
    const data::BatchOrder order(data_.joined.rows(), options.batch, options.order_seed);
    std::size_t step = 0;
    for (std::size_t epoch = 1; epoch <= options.epochs; ++epoch) {
      for (const auto& rows : order.batches(epoch)) {
        const data::Table batch = data_.joined.select_rows(rows);
        torch::Tensor z = torch::mm(lab::features_tensor(batch), model->weight);
        ASSERT_LE(largest_difference(federated_z.at(step), z), 1e-3) << "step " << step;
        if (GetParam().model == "relu") z = z + (federated_z.at(step) - z).detach();
        const torch::Tensor scores = model->top.is_empty() ? z + model->bias : model->top->forward(z + model->bias);
        sgd.zero_grad();
        loss(family_, scores, to_tensor(batch.labels())).backward();
        for (auto& group : sgd.param_groups()) {
          static_cast<torch::optim::SGDOptions&>(group.options()).lr(plan.learning_rate_at(step));
        }
        sgd.step();
        ++step;
      }
    }
    ASSERT_EQ(step, federated_z.size());
  }
  /// 208 steps of training, beside the joined model.
  void expect_trained_weights(const SgdOptions& sgd, const MatMulOptions& layer, double least_move);
  /// The joined model, with the weights that the parties hold together.
  [[nodiscard]] lab::LocalModel joined_model(const Pieces& a, const Pieces& b) const {
    lab::LocalModel model(data_.joined.cols(), hidden_, outputs_, activation_of(GetParam()));
    const torch::NoGradGuard no_grad;
    model->weight.copy_(joined_weight(a, b));
    return model;
  }
};

TEST_P(Lossless, ForwardEqualsLibtorch) {
  struct Result {
    Pieces pieces;
    torch::Tensor z;
  };
  const auto [at_a, at_b] = parties_.run([&](Session& s) {
    FederatedUnderTest model(s, data_, GetParam(), outputs_);
    MatMul source = model.source();
    return Result{pieces_of(source), source->forward(first_batch(s.party()))};
  });
  const lab::LocalModel joined = joined_model(at_a.pieces, at_b.pieces);
  const torch::Tensor z = torch::mm(lab::features_tensor(data_.joined.select_rows(first_rows())), joined->weight);
  ASSERT_EQ(at_b.z.sizes(), z.sizes());
  EXPECT_LE(largest_difference(at_b.z, z), 5e-5);
  EXPECT_EQ(at_a.z.size(0), 0);
}

TEST_P(Lossless, GradientsForTheSameDerivativeEqualLibtorch) {
  struct Result {
    Pieces pieces;
    std::optional<ShareMatrix> grad_a;
    std::optional<ShareMatrix> grad_b;
  };
  const auto width = static_cast<std::int64_t>(hidden_.empty() ? outputs_ : hidden_.front());
  torch::manual_seed(3);
  const torch::Tensor dz = torch::randn({kBatch - 3, width}).clamp(-3, 3) / kRealBatch;
  const auto [at_a, at_b] = parties_.run([&](Session& s) {
    FederatedUnderTest model(s, data_, GetParam(), outputs_);
    MatMul source = model.source();
    const torch::Tensor z = source->forward(first_batch(s.party()));
    z.backward(s.party() == Party::kA ? torch::zeros_like(z) : dz);
    return Result{pieces_of(source), source->weight_a().grad(), source->weight_b().grad()};
  });
  lab::LocalModel joined = joined_model(at_a.pieces, at_b.pieces);
  torch::mm(lab::features_tensor(data_.joined.select_rows(first_rows())), joined->weight).backward(dz);

  const auto tensor = [](const ShareMatrix& m) { return to_tensor(decode_ring(m), m.rows(), m.cols()) / kRealBatch; };
  const torch::Tensor gradient = torch::cat({tensor(open(*at_a.grad_a, *at_b.grad_a)), tensor(*at_b.grad_b)});
  EXPECT_FALSE(at_a.grad_b.has_value());
  EXPECT_LE(largest_difference(gradient, joined->weight.grad()), 1e-5);
}

// The joined model runs beside the federated one. Under ReLU it takes over the federated Z of each step, after checking
// it: at a kink the last bit of Z decides about a whole derivative, and the two would part for no fault of either.
void Lossless::expect_trained_weights(const SgdOptions& sgd, const MatMulOptions& layer, double least_move) {
  struct Result {
    Pieces before;
    Pieces after;
    std::vector<torch::Tensor> plain_before;
    std::vector<torch::Tensor> plain_after;
    std::vector<torch::Tensor> z;
  };
  train::TrainOptions options;
  options.batch = kBatch;
  options.epochs = 13;  // 16 steps each: 208
  options.sgd = sgd;

  const auto plain_parameters = [](const FederatedUnderTest& model) {
    std::vector<torch::Tensor> copies;
    for (const auto& p : model.module().parameters()) copies.push_back(p.detach().clone());
    return copies;
  };
  const auto [at_a, at_b] = parties_.run([&](Session& s) {
    FederatedUnderTest model(s, data_, GetParam(), outputs_, layer);
    Result result;
    result.before = pieces_of(model.source());
    result.plain_before = plain_parameters(model);
    MatMul source = model.source();
    train::fit(
        model.module(),
        [&](const data::Batch& x) {
          const torch::Tensor z = source(x);
          result.z.push_back(z.detach().clone());
          return model.after_source(z);
        },
        [&](const torch::Tensor& scores, const torch::Tensor& labels) { return loss(family_, scores, labels); },
        data_.at(s.party()), options);
    result.after = pieces_of(model.source());
    result.plain_after = plain_parameters(model);
    return result;
  });

  lab::LocalModel joined = joined_model(at_a.before, at_b.before);
  auto plain = joined->parameters();  // weight, bias, top; the federated model has all but the weight
  plain.erase(plain.begin());
  ASSERT_EQ(plain.size(), at_b.plain_before.size());
  {
    const torch::NoGradGuard no_grad;
    for (std::size_t i = 0; i < plain.size(); ++i) plain[i].copy_(at_b.plain_before[i]);
  }
  const torch::Tensor start = joined->weight.detach().clone();
  train_beside(joined, options, at_b.z);
  EXPECT_GT(largest_difference(start, joined->weight), least_move) << "training moved nothing";
  EXPECT_LE(largest_difference(joined_weight(at_a.after, at_b.after), joined->weight), 1e-3);
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_LE(largest_difference(at_b.plain_after[i], plain[i]), 1e-3);
}

TEST_P(Lossless, WeightsEqualLibtorchAfter200StepsWithMomentum) {
  expect_trained_weights({.learning_rate = 0.05, .momentum = 0.9}, {}, 0.05);
}

// Plain SGD whose steps the layer knows: shares of gradients are those of updates.
TEST_P(Lossless, WeightsEqualLibtorchAfter200StepsOfADeclaredPlan) {
  const SgdOptions sgd{.learning_rate = 0.2, .schedule = {{100, 0.05}}, .steps = 208};
  MatMulOptions layer;
  layer.sgd = sgd;
  expect_trained_weights(sgd, layer, 0.05);
}

INSTANTIATE_TEST_SUITE_P(Models, Lossless, ::testing::ValuesIn(all_cases()),
                         [](const auto& c) { return c.param.scheme + "_" + c.param.model + "_" + c.param.input; });

}  // namespace
}  // namespace blindfl::nn::lossless_test

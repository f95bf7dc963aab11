// A source layer under a shared top, trained by FederatedOptimizer: both parties' weights learn from shares, as
// torch's.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blindfl/base/error.h"
#include "blindfl/nn/federated_optimizer.h"
#include "blindfl/nn/keep_products.h"
#include "blindfl/protocol/layers/weight.h"
#include "nn/vertical_fixture.h"
#include "testing/thrown.h"

namespace blindfl::nn::shared_top_test {
namespace {

using protocol::Derivative;
using protocol::Top;
using ::testing::HasSubstr;

constexpr std::size_t kBatch = 16;
constexpr std::size_t kOut = 3;
constexpr std::size_t kSteps = 20;

class SharedTop : public ::testing::Test {
 protected:
  testing::PlainScheme scheme_;
  testing::TwoParties parties_{scheme_};
  VerticalData data_{rounded(made_up::make_synthetic({.rows = 64, .columns_a = 6, .columns_b = 5}).joined, 16), 6,
                     kBatch};
  MatMulOptions options_ = [] {
    MatMulOptions options;
    options.top = Top::kShared;
    return options;
  }();
  torch::Tensor dz_ = [] {
    torch::manual_seed(5);
    return torch::randn({kBatch, kOut}) / static_cast<double>(kBatch);
  }();
  /// Of the summed loss, as a top on shares would leave it with both parties.
  std::pair<ShareMatrix, ShareMatrix> shares_ = [&] {
    const torch::Tensor summed = (dz_ * static_cast<double>(kBatch)).to(torch::kFloat64).contiguous();
    const std::vector<double> values(summed.data_ptr<double>(), summed.data_ptr<double>() + summed.numel());
    Random random;
    return split(encode_ring(kBatch, kOut, values, 30, 256.0), random);
  }();

  [[nodiscard]] static std::vector<std::uint32_t> rows(std::size_t step) {
    std::vector<std::uint32_t> rows(kBatch);
    for (std::uint32_t i = 0; i < kBatch; ++i) rows[i] = static_cast<std::uint32_t>(kBatch * (step % 4)) + i;
    return rows;
  }
  /// Forward, and the layer's part of a backward pass, as a shared top calls for it.
  void pass(Session& s, MatMul& source, std::size_t step) {
    const SourceOutput output = source->shares(data::make_batch(data_.at(s.party()), rows(step), kBatch));
    const ShareMatrix& share = s.party() == Party::kA ? shares_.first : shares_.second;
    for (const auto& part : output.parts) part(protocol::shared_derivative(kBatch, share));
  }
  /// Torch's weights after the same steps.
  [[nodiscard]] torch::Tensor trained(const torch::Tensor& initial, const SgdOptions& options) const {
    torch::Tensor weight = initial.detach().clone().requires_grad_();
    torch::optim::SGD sgd(
        {weight},
        torch::optim::SGDOptions(options.learning_rate).momentum(options.momentum).weight_decay(options.weight_decay));
    for (std::size_t i = 0; i < kSteps; ++i) {
      sgd.zero_grad();
      torch::mm(lab::features_tensor(data_.joined.select_rows(rows(i))), weight).backward(dz_);
      sgd.step();
    }
    return weight;
  }
};

TEST_F(SharedTop, TrainsBothPartiesWeightsAsTorchDoes) {
  for (const double weight_decay : {0.0, 0.01}) {
    const SgdOptions sgd{.learning_rate = 0.1, .momentum = 0.9, .weight_decay = weight_decay};
    struct Result {
      Pieces before;
      Pieces after;
      std::uint64_t version_a = 0;
      std::uint64_t version_b = 0;
    };
    const auto [a, b] = parties_.run([&](Session& s) {
      MatMul source(s, data_.shape, kOut, options_);
      Result result{pieces_of(source), {}};
      FederatedOptimizer optimizer(*source, sgd);
      for (std::size_t i = 0; i < kSteps; ++i) {
        optimizer.zero_grad();
        pass(s, source, i);
        optimizer.step();
      }
      result.after = pieces_of(source);
      result.version_a = source->weight_a().weight().version;
      result.version_b = source->weight_b().weight().version;
      return result;
    });
    const torch::Tensor initial = joined_weight(a.before, b.before);
    const torch::Tensor wanted = trained(initial, sgd);
    EXPECT_LE(largest_difference(joined_weight(a.after, b.after), wanted), 1e-5);
    EXPECT_GT(largest_difference(initial, wanted), 1e-2);
    for (const Result& result : {a, b}) {
      EXPECT_EQ(result.version_a, 1 + kSteps);
      EXPECT_EQ(result.version_b, 1 + kSteps) << "A's share of B's weights changes, too";
    }
  }
}

TEST_F(SharedTop, ResumesWithTheMomentumOfBothPartiesWeights) {
  const SgdOptions sgd{.learning_rate = 0.1, .momentum = 0.9};
  struct Result {
    Pieces before;
    Pieces after;
  };
  const auto [a, b] = parties_.run([&](Session& s) {
    MatMul source(s, data_.shape, kOut, options_);
    Result result{pieces_of(source), {}};
    Bytes layer;
    Bytes optimizer_state;
    {
      FederatedOptimizer optimizer(*source, sgd);
      for (std::size_t i = 0; i < kSteps / 2; ++i) {
        optimizer.zero_grad();
        pass(s, source, i);
        optimizer.step();
      }
      layer = write_to_bytes([&](ByteSink& out) { source->save_layer(out); });
      optimizer_state = write_to_bytes([&](ByteSink& out) { optimizer.save(out); });
    }
    MatMul resumed(s, data_.shape, kOut, options_);
    FederatedOptimizer optimizer(*resumed, sgd);
    BufferSource in(layer);
    resumed->load_layer(in);
    BufferSource in_optimizer(optimizer_state);
    optimizer.load(in_optimizer);
    for (std::size_t i = kSteps / 2; i < kSteps; ++i) {
      optimizer.zero_grad();
      pass(s, resumed, i);
      optimizer.step();
    }
    result.after = pieces_of(resumed);
    return result;
  });
  EXPECT_LE(largest_difference(joined_weight(a.after, b.after), trained(joined_weight(a.before, b.before), sgd)), 1e-5);
}

TEST_F(SharedTop, IsNeverOpened) {
  parties_.run([&](Session& s) {
    MatMul source(s, data_.shape, kOut, options_);
    const SourceOutput output = source->shares(data::make_batch(data_.at(s.party()), rows(0), kBatch));
    EXPECT_THAT(testing::message_of<InvalidArgument>([&] { (void)open(output); }), HasSubstr("shared top"));
    MatMul opened(s, data_.shape, kOut);
    const SourceOutput other = opened->shares(data::make_batch(data_.at(s.party()), rows(0), kBatch));
    EXPECT_THROW((void)(output + other), InvalidArgument);
  });
}

}  // namespace
}  // namespace blindfl::nn::shared_top_test

#include "blindfl/nn/federated_module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "blindfl/base/error.h"
#include "nn/vertical_fixture.h"
#include "testing/steps.h"

namespace blindfl::nn::federated_module_test {
namespace {

/// Two source layers at different depths, and a plain module between.
struct NestedImpl : FederatedModule {
  NestedImpl(Session& session, const FeatureShape& shape)
      : wide(register_module("wide", MatMul(session, shape, std::size_t{2}))),
        inner(register_module("inner", GeneralizedLinear(session, shape, std::size_t{2}))),
        plain(register_module("plain", torch::nn::Linear(2, 1))) {}
  MatMul wide;
  GeneralizedLinear inner;
  torch::nn::Linear plain;
};

class Module : public ::testing::Test {
 protected:
  testing::PlainScheme scheme_;
  testing::TwoParties parties_{scheme_};
  VerticalData data_{made_up::make_synthetic({.rows = 20, .columns_a = 4, .columns_b = 3}).joined, 4, 8};

  [[nodiscard]] data::Batch batch(Party party, std::size_t rows) const {
    std::vector<std::uint32_t> chosen(rows);
    for (std::uint32_t i = 0; i < rows; ++i) chosen[i] = i;
    return data::make_batch(data_.at(party), chosen, 8);
  }
};

TEST_F(Module, CollectsFederatedParametersFromEveryDepth) {
  parties_.run([&](Session& s) {
    const NestedImpl module(s, data_.shape);  // on the stack: no shared pointer needed
    EXPECT_EQ(module.federated_parameters().size(), 4U);
    EXPECT_EQ(module.parameters().size(), 3U);  // inner's bias, plain's weight and bias
  });
}

TEST_F(Module, GivesBAllRowsAndANoneAndBothAGradientFunction) {
  parties_.run([&](Session& s) {
    MatMul source(s, data_.shape, std::size_t{2});
    const torch::Tensor z = source(batch(s.party(), 5));
    EXPECT_EQ(z.size(0), s.party() == Party::kA ? 0 : 5);
    EXPECT_EQ(z.size(1), 2);
    EXPECT_TRUE(z.requires_grad());
    EXPECT_EQ(z.scalar_type(), torch::kFloat32);
  });
}

TEST_F(Module, KeepsNoGraphWhenGradientsAreOff) {
  parties_.run([&](Session& s) {
    MatMul source(s, data_.shape, std::size_t{2});
    const torch::NoGradGuard no_grad;
    EXPECT_FALSE(source(batch(s.party(), 8)).requires_grad());
  });
  EXPECT_FALSE(parties_.recording(Party::kB).sent().contains(protocol::steps::kDerivativeOperand));
}

TEST_F(Module, ANonFiniteDerivativeIsAnErrorAtBThatNamesItsPlace) {
  try {
    parties_.run([&](Session& s) {
      MatMul source(s, data_.shape, std::size_t{2});
      const torch::Tensor z = source(batch(s.party(), 8));
      torch::Tensor dz = torch::zeros_like(z);
      if (s.party() == Party::kB) dz[3][1] = std::nan("");
      z.backward(dz);
    });
    ADD_FAILURE() << "accepted";
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("derivative"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("row 3, column 1"));
  }
}

TEST_F(Module, ADerivativeOutOfRangeIsAnErrorUnlessItMayBeClipped) {
  const auto step = [&](bool clip) {
    return [&, clip](Session& s) {
      MatMulOptions options;
      options.derivative = {.scale = 32, .largest = 4.0, .clip = clip};
      MatMul source(s, data_.shape, std::size_t{1}, options);
      const torch::Tensor z = source(batch(s.party(), 8));
      z.backward(torch::full_like(z, 100.0));
    };
  };
  EXPECT_NO_THROW(parties_.run(step(true)));
  EXPECT_THROW(parties_.run(step(false)), DataError);
}

TEST_F(Module, PrintsItsShapeAndNoValues) {
  parties_.run([&](Session& s) {
    MatMul source(s, data_.shape, std::size_t{2});
    std::ostringstream text;
    text << *source;
    EXPECT_EQ(text.str(), "blindfl::MatMul(in_a=4, in_b=3, out=2)");
  });
}

TEST_F(Module, PrivateSeedsMakeInitialPiecesReproducible) {
  const auto pieces_with = [&](std::optional<std::uint64_t> seed) {
    const auto channels = net::make_memory_channels();
    const auto as = [&](Party party, net::Channel& channel) {
      return [&, party] {
        Session session(party, channel, scheme_, {.weight_seed = seed});
        return pieces_of(MatMul(session, data_.shape, std::size_t{2}));
      };
    };
    return testing::run_both(as(Party::kA, *channels.first), as(Party::kB, *channels.second),
                             [&] { channels.first->close(); });
  };
  EXPECT_EQ(pieces_with(1).first.weight_a, pieces_with(1).first.weight_a);
  EXPECT_NE(pieces_with(1).first.weight_a, pieces_with(2).first.weight_a);
  EXPECT_NE(pieces_with(std::nullopt).first.weight_a, pieces_with(std::nullopt).first.weight_a);
  // Even a seed that both use by mistake does not give both the same pieces.
  const auto [a, b] = pieces_with(1);
  EXPECT_NE(a.weight_a, b.weight_a);
  EXPECT_NE(a.weight_b, b.weight_b);
}

TEST_F(Module, RefusesASecondDerivative) {
  EXPECT_THROW(parties_.run([&](Session& s) {
    MatMul source(s, data_.shape, std::size_t{1});
    const torch::Tensor z = source(batch(s.party(), 8));
    z.sum().backward({}, /*retain_graph=*/true, /*create_graph=*/true);
  }),
               InvalidArgument);
}

TEST_F(Module, TwoOpeningsInOneModelTrainAsInLibtorch) {
  struct Result {
    Pieces first;
    Pieces second;
    std::vector<ShareMatrix> gradients;
  };
  const auto [a, b] = parties_.run([&](Session& s) {
    MatMul first(s, data_.shape, std::size_t{2});
    MatMul second(s, data_.shape, std::size_t{2});
    const data::Batch x = batch(s.party(), 8);
    (torch::tanh(first(x)) * second(x)).sum().backward();
    return Result{pieces_of(first), pieces_of(second), {*first->weight_a().grad(), *second->weight_a().grad()}};
  });
  std::vector<std::uint32_t> rows(8);
  for (std::uint32_t i = 0; i < 8; ++i) rows[i] = i;
  const torch::Tensor x = lab::features_tensor(data_.joined.select_rows(rows));
  const std::vector<torch::Tensor> weights{joined_weight(a.first, b.first).requires_grad_(),
                                           joined_weight(a.second, b.second).requires_grad_()};
  (torch::tanh(torch::mm(x, weights[0])) * torch::mm(x, weights[1])).sum().backward();
  for (std::size_t i = 0; i < 2; ++i) {
    const auto gradient = decode_ring(blindfl::open(a.gradients[i], b.gradients[i]));
    EXPECT_LE(largest_difference(to_tensor(gradient, 4, 2) / 8, weights[i].grad().slice(0, 0, 4)), 1e-3);
  }
}

}  // namespace
}  // namespace blindfl::nn::federated_module_test

// Layers and losses of a shared top, one at a time: what models that train as libtorch's do not show.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "blindfl/base/error.h"
#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/mpc/top_parts.h"
#include "blindfl/nn/shared_loss.h"
#include "blindfl/nn/shared_modules.h"
#include "nn/vertical_fixture.h"
#include "testing/thrown.h"

namespace blindfl::nn::shared_layers_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Few values make fits slow, and their intervals wider than asked for: so the same rows come many times.
constexpr std::size_t kGiven = 4;
constexpr std::size_t kTimes = 64;
constexpr std::size_t kRows = kGiven * kTimes;
constexpr std::size_t kCols = 2;

const he::LatticeScheme& lattice() {
  static const he::LatticeScheme scheme;
  return scheme;
}

std::vector<double> values_of(const torch::Tensor& x) {
  const torch::Tensor wide = x.detach().to(torch::kFloat64).contiguous();
  return {wide.data_ptr<double>(), wide.data_ptr<double>() + wide.numel()};
}

/// Both parties' shares of a tensor of `kGiven` rows, `kTimes` times.
class Shared {
 public:
  explicit Shared(const torch::Tensor& x, int ring_bits = 64) {
    Random random;
    const auto cols = static_cast<std::size_t>(x.size(1));
    shares_ = split(
        narrowed(encode_ring(kRows, cols, values_of(x.repeat({kTimes, 1})), kSharedScale, 0x1p20), ring_bits), random);
  }
  [[nodiscard]] const ShareMatrix& of(Party party) const { return party == Party::kA ? shares_.first : shares_.second; }
  [[nodiscard]] SharedTensor at(
      Session& s, SharedTensor::Backward backward = [](const SharedDerivative&) {}) const {
    return {.session = &s, .share = of(s.party()), .rows = kRows, .backward = std::move(backward)};
  }

 private:
  std::pair<ShareMatrix, ShareMatrix> shares_;
};

torch::Tensor opened(const ShareMatrix& a, const ShareMatrix& b) {
  return to_tensor(decode_ring(open(a, b)), a.rows(), a.cols());
}
/// Of a batch: the first rows.
torch::Tensor opened_rows(const ShareMatrix& a, const ShareMatrix& b) {
  return opened(a, b).slice(0, 0, kGiven);
}

class SharedLayers : public ::testing::Test {
 protected:
  testing::TwoParties parties_{lattice()};
  SharedTopOptions options_{.batch = kRows};
};

TEST_F(SharedLayers, ReluGoesBackOnlyFromTheLastPass) {
  const Shared x(torch::tensor({{1.0, -1.0}, {2.0, -2.0}, {3.0, -3.0}, {4.0, -4.0}}));
  const Shared negative(torch::tensor({{-1.0, 1.0}, {-2.0, 2.0}, {-3.0, 3.0}, {-4.0, 4.0}}));
  const Shared d(torch::ones({kGiven, kCols}));
  const auto [a, b] = parties_.run([&](Session& s) {
    SharedReLU relu(s, options_);
    ShareMatrix below;
    const SharedTensor first = relu(x.at(s));
    const SharedTensor second = relu(negative.at(s, [&](const SharedDerivative& given) { below = given.share; }));
    EXPECT_THAT(testing::message_of<InvalidArgument>([&] { first.backward({.share = d.of(s.party())}); }),
                HasSubstr("before the forward pass of the next"));
    second.backward({.share = d.of(s.party())});
    return below;
  });
  EXPECT_EQ(largest_difference(opened_rows(a, b), torch::tensor({0.0, 1.0}).expand({kGiven, kCols})), 0);
}

TEST_F(SharedLayers, LoadedWeightsMultiplyAlthoughTheirVersionIsThatOfOthers) {
  const torch::Tensor plain = torch::tensor({{1.0, -1.0}, {2.0, 0.5}, {0.25, -3.0}, {4.0, -4.0}});
  const Shared x(plain);
  const Shared d(plain.flip(0));
  struct Result {
    ShareMatrix weight;
    ShareMatrix bias;
    ShareMatrix z;
    ShareMatrix dx;
  };
  const auto [a, b] = parties_.run([&](Session& s) {
    SharedLinear saved(s, kCols, kCols, options_);
    SharedLinear linear(s, kCols, kCols, options_);
    const auto pass = [&] {
      ShareMatrix below;
      const SharedTensor z = linear(x.at(s, [&](const SharedDerivative& given) { below = given.share; }));
      z.backward({.share = d.of(s.party())});
      return Result{saved->weight().piece(), saved->bias().piece(), z.share, below};
    };
    (void)pass();
    const Bytes state = write_to_bytes([&](ByteSink& out) { saved->save_layer(out); });
    BufferSource in(state);
    linear->load_layer(in);
    return pass();
  });
  const torch::Tensor weight = opened(a.weight, b.weight);
  EXPECT_LE(largest_difference(opened_rows(a.z, b.z), torch::mm(plain, weight) + opened(a.bias, b.bias)), 1e-4);
  EXPECT_LE(largest_difference(opened_rows(a.dx, b.dx), torch::mm(plain.flip(0), weight.t())), 1e-4);
}

// 256 rows whose derivatives fit in their ring, and the sums of these do not.
TEST_F(SharedLayers, BiasesLearnFromSumsThatAreLongerThanAValue) {
  const torch::Tensor plain = torch::tensor({{1100.0, -1100.0}}).expand({kGiven, kCols}).contiguous();
  const Shared x(torch::ones({kGiven, kCols}));
  const Shared d(plain, mpc::kValueRing);
  const auto [a, b] = parties_.run([&](Session& s) {
    SharedBias bias(s, kCols, 0.1, options_);
    SharedLinear linear(s, kCols, kCols, options_);
    bias(x.at(s)).backward({.share = d.of(s.party())});
    linear(x.at(s)).backward({.share = d.of(s.party())});
    return std::pair{*bias->bias().grad(), *linear->bias().grad()};
  });
  const torch::Tensor sums = plain.sum(0, /*keepdim=*/true) * static_cast<std::int64_t>(kTimes);
  ASSERT_GT(sums.max().item<double>(), 0x1p18);
  EXPECT_LE(largest_difference(opened(a.first, b.first), sums), 1e-2);
  EXPECT_LE(largest_difference(opened(a.second, b.second), sums), 1e-2);
}

class SharedActivations : public ::testing::TestWithParam<SmoothActivation> {
 protected:
  testing::TwoParties parties_{lattice()};
  SharedTopOptions options_{.batch = kRows};

  static torch::Tensor plain(const torch::Tensor& x) {
    switch (GetParam()) {
      case SmoothActivation::kTanh:
        return torch::tanh(x);
      case SmoothActivation::kSigmoid:
        return torch::sigmoid(x);
      case SmoothActivation::kGelu:
        return torch::gelu(x);
      case SmoothActivation::kSilu:
        break;
    }
    return torch::silu(x);
  }
};

TEST_P(SharedActivations, AreThoseOfLibtorchAndSoAreTheirDerivatives) {
  torch::Tensor x = torch::tensor({{0.0, -1.5}, {0.5, 3.0}, {-15.5, 15.5}, {-0.25, 7.0}}).requires_grad_();
  const torch::Tensor d = torch::tensor({{1.0, -1.0}, {8.0, 0.5}, {-3.0, 2.0}, {0.01, 0.0}});
  const Shared shares(x);
  const Shared derivative(d);
  const auto [a, b] = parties_.run([&](Session& s) {
    SharedActivation activation(s, GetParam(), kCols, options_);
    ShareMatrix below;
    const SharedTensor y = activation(shares.at(s, [&](const SharedDerivative& given) { below = given.share; }));
    y.backward({.share = derivative.of(s.party())});
    return std::pair(y.share, below);
  });
  const torch::Tensor y = plain(x);
  y.backward(d);
  EXPECT_LE(largest_difference(opened_rows(a.first, b.first), y), 1e-3);
  EXPECT_LE(largest_difference(opened_rows(a.second, b.second), x.grad()), 2e-3);
}

INSTANTIATE_TEST_SUITE_P(Functions, SharedActivations,
                         ::testing::Values(SmoothActivation::kTanh, SmoothActivation::kSigmoid, SmoothActivation::kGelu,
                                           SmoothActivation::kSilu));

// Below another layer of a shared top a derivative stands on the left of a product.
TEST_F(SharedLayers, ALayerBelowASmoothOneLearnsAsLibtorchs) {
  const torch::Tensor plain = torch::tensor({{1.0, -1.0}, {2.0, 0.5}, {0.25, -3.0}, {1.5, -0.5}});
  const torch::Tensor derivative = torch::tensor({{1.0, -1.0}, {8.0, 0.5}, {-3.0, 2.0}, {0.01, 0.0}});
  const Shared shares(plain);
  const Shared d(derivative);
  struct Result {
    ShareMatrix weight;
    ShareMatrix bias;
    ShareMatrix dx;
    ShareMatrix gradient;
  };
  const auto [a, b] = parties_.run([&](Session& s) {
    SharedLinear linear(s, kCols, kCols, options_);
    SharedActivation activation(s, SmoothActivation::kTanh, kCols, options_);
    ShareMatrix below;
    activation(linear(shares.at(s, [&](const SharedDerivative& given) {
      below = given.share;
    }))).backward({.share = d.of(s.party())});
    return Result{linear->weight().piece(), linear->bias().piece(), below, *linear->weight().grad()};
  });
  torch::Tensor x = plain.clone().requires_grad_();
  torch::Tensor weight = opened(a.weight, b.weight).requires_grad_();
  torch::tanh(torch::mm(x, weight) + opened(a.bias, b.bias)).backward(derivative);
  EXPECT_LE(largest_difference(opened_rows(a.dx, b.dx), x.grad()), 2e-3);
  EXPECT_LE(largest_difference(opened(a.gradient, b.gradient) / static_cast<double>(kTimes), weight.grad()), 4e-3);
}

/// A model whose two functions see the same values.
struct TwoFunctionsImpl : FederatedModule {
  TwoFunctionsImpl(Session& s, const SharedTopOptions& options)
      : first(register_module("first", SharedActivation(s, SmoothActivation::kTanh, kCols, options))),
        second(register_module("second", SharedActivation(s, SmoothActivation::kTanh, kCols, options))) {}
  void look_at(const SharedTensor& x) {
    (void)first(x);
    (void)second(x);
  }
  SharedActivation first;
  SharedActivation second;
};
TORCH_MODULE(TwoFunctions);

TEST_F(SharedLayers, RangesAreCheckedOfPassesSinceTheLastCheck) {
  const Shared inside(torch::tensor({{15.9, -15.9}, {0.0, 1.0}, {2.0, 3.0}, {4.0, 5.0}}));
  const Shared above(torch::tensor({{1.0, -1.0}, {0.0, 1.0}, {2.0, 3.0}, {4.0, 40.0}}));
  const Shared far_below(torch::tensor({{-200000.0, -1.0}, {0.0, 1.0}, {2.0, 3.0}, {4.0, 5.0}}));
  parties_.run([&](Session& s) {
    TwoFunctions model(s, options_);
    EXPECT_TRUE(watches_ranges(*model));
    check_ranges(*model);  // of nothing
    model->look_at(inside.at(s));
    check_ranges(*model);
    for (const Shared* outside : {&above, &far_below}) {
      model->look_at(outside->at(s));
      model->look_at(inside.at(s));
      EXPECT_THAT(testing::message_of<OutOfRange>([&] { check_ranges(*model); }), HasSubstr("tanh"));
      check_ranges(*model);  // what both functions saw of steps that are not used is forgotten
      model->look_at(inside.at(s));
      check_ranges(*model);
    }
    const torch::NoGradGuard no_grad;
    model->look_at(above.at(s));  // scoring is looked at as well
    EXPECT_THAT(testing::message_of<OutOfRange>([&] { check_ranges(*model); }), HasSubstr("tanh"));
  });
}

// From 2^8 on comparisons of 27 bits are wrong.
TEST_F(SharedLayers, RangesOfReluAreThoseOfItsComparison) {
  const torch::Tensor largest = torch::tensor({{255.0, -255.0}, {0.0, 1.0}, {2.0, 3.0}, {4.0, 5.0}});
  const Shared inside(largest);
  const Shared above(torch::tensor({{1.0, -1.0}, {0.0, 1.0}, {2.0, 3.0}, {4.0, 256.0}}));
  const Shared below(torch::tensor({{1.0, -262.5}, {0.0, 1.0}, {2.0, 3.0}, {4.0, 5.0}}));
  const auto [a, b] = parties_.run([&](Session& s) {
    SharedReLU relu(s, options_);
    for (const Shared* outside : {&above, &below}) {
      (void)relu(outside->at(s));
      (void)relu(inside.at(s));
      EXPECT_THAT(testing::message_of<OutOfRange>([&] { relu->check_ranges(); }), HasSubstr("before ReLU"));
    }
    const SharedTensor made = relu(inside.at(s));
    relu->check_ranges();
    return made.share;
  });
  EXPECT_EQ(largest_difference(opened_rows(a, b), torch::relu(largest)), 0);
}

/// A pass of so many columns, which are all the same.
Shared wide(double value, std::int64_t columns) {
  return Shared(torch::full({static_cast<std::int64_t>(kGiven), columns}, value));
}

// So many values are not all kept until the next check: of each pass there are some, and of the last all.
TEST_F(SharedLayers, RangesOfWideLayersAreThoseOfAllPasses) {
  constexpr std::int64_t kWide = 24;
  const Shared inside = wide(1, kWide);
  const Shared outside = wide(262.5, kWide);
  torch::Tensor once = torch::ones({static_cast<std::int64_t>(kGiven), kWide});
  once[2][kWide - 1] = 262.5;
  const Shared last(once);
  parties_.run([&](Session& s) {
    const torch::NoGradGuard no_grad;
    SharedReLU relu(s, options_);
    for (const std::size_t out_in : {0U, 3U, 7U}) {
      for (std::size_t pass = 0; pass < 8; ++pass) (void)relu((pass == out_in ? outside : inside).at(s));
      EXPECT_THROW(relu->check_ranges(), OutOfRange) << "in pass " << out_in;
      for (std::size_t pass = 0; pass < 8; ++pass) (void)relu(inside.at(s));
      relu->check_ranges();
    }
    (void)relu(inside.at(s));
    (void)relu(inside.at(s));
    (void)relu(last.at(s));
    EXPECT_THROW(relu->check_ranges(), OutOfRange);
  });
}

TEST_F(SharedLayers, RangesOfTheSquaredErrorAreThoseOfItsDerivative) {
  const Shared inside(torch::tensor({{250.0}, {-250.0}, {0.0}, {1.0}}));
  const Shared outside(torch::tensor({{1.0}, {-300.0}, {0.0}, {1.0}}));
  parties_.run([&](Session& s) {
    SharedLoss loss(s, Family::kLinear, 1, options_);
    data::Batch batch;
    if (s.party() == Party::kB) batch.labels.assign(kRows, 1.0);
    (void)loss->forward(inside.at(s), batch);
    loss->check_ranges();
    (void)loss->forward(outside.at(s), batch);
    (void)loss->forward(inside.at(s), batch);
    EXPECT_THAT(testing::message_of<OutOfRange>([&] { loss->check_ranges(); }), HasSubstr("less their labels"));
    SharedLossImpl::Tally tally;
    loss->add(tally, outside.at(s), batch);
    EXPECT_THAT(testing::message_of<OutOfRange>([&] { loss->check_ranges(); }), HasSubstr("less their labels"));
    loss->add(tally, inside.at(s), batch);
    loss->check_ranges();
  });
}

/// Both summands of a sum learn from its derivative.
TEST_F(SharedLayers, ASumGivesItsDerivativeToBothSummands) {
  const Shared x(torch::ones({kGiven, kCols}));
  const torch::Tensor plain = torch::tensor({{1.0, -1.0}, {8.0, 0.5}, {-3.0, 2.0}, {0.01, 0.0}});
  const Shared d(plain);
  const auto [a, b] = parties_.run([&](Session& s) {
    std::pair<ShareMatrix, ShareMatrix> below;
    const SharedTensor sum = x.at(s, [&](const SharedDerivative& given) { below.first = given.share; }) +
                             x.at(s, [&](const SharedDerivative& given) { below.second = given.share; });
    sum.backward({.share = d.of(s.party())});
    return below;
  });
  EXPECT_LE(largest_difference(opened_rows(a.first, b.first), plain), 1e-5);
  EXPECT_LE(largest_difference(opened_rows(a.second, b.second), plain), 1e-5);
}

TEST_F(SharedLayers, RangesOfALossAreThoseOfAllItsFunctions) {
  const Shared inside(torch::tensor({{40.0, 0.0}, {0.0, 1.0}, {2.0, 3.0}, {4.0, 5.0}}));
  const Shared outside(torch::tensor({{1000.0, 0.0}, {0.0, 1.0}, {2.0, 3.0}, {4.0, 5.0}}));
  parties_.run([&](Session& s) {
    SharedLoss loss(s, Family::kMultinomial, kCols, options_);
    data::Batch batch;
    if (s.party() == Party::kB) {
      for (std::size_t r = 0; r < kRows; ++r) batch.labels.push_back(r % 2 == 0 ? 0 : 1);
    }
    (void)loss->forward(outside.at(s), batch);
    EXPECT_THAT(testing::message_of<OutOfRange>([&] { loss->check_ranges(); }), HasSubstr("largest of their row"));
    (void)loss->forward(inside.at(s), batch);
    loss->check_ranges();
  });
}

}  // namespace
}  // namespace blindfl::nn::shared_layers_test

// Factorisation machines on shares: squares and their derivatives are exact, and whole models train as libtorch's.

#include "blindfl/nn/shared_factorization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "blindfl/base/error.h"
#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/lab/local_factorization.h"
#include "blindfl/mpc/top_parts.h"
#include "blindfl/nn/federated_optimizer.h"
#include "blindfl/nn/shared_loss.h"
#include "nn/deep_fixture.h"
#include "testing/thrown.h"

namespace blindfl::nn::shared_factorization_test {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kRows = 64;
constexpr std::size_t kFactors = 3;
constexpr std::size_t kCols = 1 + kFactors;

const he::LatticeScheme& lattice() {
  static const he::LatticeScheme scheme;
  return scheme;
}

torch::Tensor opened(const ShareMatrix& a, const ShareMatrix& b) {
  const ShareMatrix sum = open(a, b);
  return to_tensor(decode_ring(sum), sum.rows(), sum.cols());
}

/// Both parties' shares of a tensor.
class Shared {
 public:
  Shared(const torch::Tensor& x, int ring_bits) {
    Random random;
    shares_ = split(narrowed(encode_ring(static_cast<std::size_t>(x.size(0)), static_cast<std::size_t>(x.size(1)),
                                         to_vector(x), kSharedScale, 0x1p20),
                             ring_bits),
                    random);
  }
  [[nodiscard]] const ShareMatrix& of(Party party) const { return party == Party::kA ? shares_.first : shares_.second; }

 private:
  std::pair<ShareMatrix, ShareMatrix> shares_;
};

/// Numbers with no more fractional bits than shares have, from -16 to 16.
torch::Tensor some_values(std::size_t cols) {
  SeededRandom random(11);
  std::vector<double> values(kRows * cols);
  for (double& v : values) v = std::ldexp(static_cast<double>(random.below(1U << 14U)) - 0x1p13, -9);
  return to_tensor(values, kRows, cols);
}

/// Of the ring that the derivative comes in: that of values between layers, and that of a loss.
class SharedFactorizations : public ::testing::TestWithParam<int> {
 protected:
  testing::TwoParties parties_{lattice()};
  SharedTopOptions options_{.batch = kRows};
};

TEST_P(SharedFactorizations, HaveTheScoresAndDerivativesOfLibtorch) {
  const torch::Tensor plain = some_values(kCols).requires_grad_();
  const torch::Tensor derivative = some_values(1) / 16;
  const Shared z(plain.detach(), mpc::kValueRing);
  const Shared d(derivative, GetParam());
  struct Result {
    ShareMatrix scores;
    ShareMatrix below;
  };
  const auto [a, b] = parties_.run([&](Session& s) {
    SharedFactorization pairs(s, kFactors, options_);
    Result result;
    const SharedTensor made = pairs(SharedTensor{
        .session = &s,
        .share = z.of(s.party()),
        .rows = kRows,
        .backward = [&](const SharedDerivative& given) { result.below = given.share; },
    });
    result.scores = made.share;
    made.backward({.share = d.of(s.party())});
    pairs->check_ranges();
    return result;
  });
  const torch::Tensor scores = factorization_scores(plain);
  scores.backward(derivative);
  EXPECT_GT(scores.abs().max().item<double>(), 100) << "large ones are among them";
  EXPECT_LE(largest_difference(opened(a.scores, b.scores), scores), 4e-5);
  EXPECT_EQ(a.below.cols(), kCols);
  EXPECT_LE(largest_difference(opened(a.below, b.below), plain.grad()), 4e-5);
}

INSTANTIATE_TEST_SUITE_P(Derivatives, SharedFactorizations, ::testing::Values(mpc::kValueRing, 128),
                         [](const auto& info) { return "modulo_2_to_" + std::to_string(info.param); });

TEST(SharedFactorizationRange, IsWatched) {
  testing::TwoParties parties(lattice());
  const auto looked_at = [&](double value) {
    torch::Tensor plain = torch::zeros({static_cast<std::int64_t>(kRows), static_cast<std::int64_t>(kCols)});
    plain[0][0] = 1000;  // a weight's part is not squared
    plain[7][2] = value;
    const Shared z(plain, mpc::kValueRing);
    return parties.run([&](Session& s) {
      SharedFactorization pairs(s, kFactors, SharedTopOptions{.batch = kRows});
      (void)pairs(SharedTensor{.session = &s, .share = z.of(s.party()), .rows = kRows, .backward = {}});
      try {
        pairs->check_ranges();
      } catch (const OutOfRange& error) {
        return std::string(error.what());
      }
      return std::string();
    });
  };
  for (const double inside : {16.0, -16.0}) EXPECT_EQ(looked_at(inside).first, "");
  for (const double outside : {16.01, -17.0, 8000.0}) {
    const auto [a, b] = looked_at(outside);
    EXPECT_THAT(a, HasSubstr("the factors of a factorisation machine left the interval from -16 to 16"));
    EXPECT_EQ(a, b);
  }
}

TEST(SharedFactorizationRange, MustFitWhatTheSourceLayerAssumesAndTheWidthItHas) {
  testing::TwoParties parties(lattice());
  Session& session = parties.session(Party::kA);
  MatMulOptions narrow;
  narrow.derivative.largest = 15;
  const FeatureShape shape{.in_a = 3, .in_b = 3, .batch = kRows};
  SharedTopOptions options{.batch = kRows};
  const auto refused = [](const auto& make) { return testing::message_of<InvalidArgument>(make); };
  EXPECT_THAT(refused([&] { (void)SharedFactorizationMachine(session, shape, kFactors, narrow, options); }),
              HasSubstr("has derivatives up to 16, and derivative.largest is 15; raise it"));
  options.row_weights = true;
  narrow.derivative.largest = 255;
  EXPECT_THAT(refused([&] { (void)SharedFactorizationMachine(session, shape, kFactors, narrow, options); }),
              HasSubstr("up to 256"));
  SharedFactorization pairs(session, kFactors, options);
  EXPECT_THAT(refused([&] {
                (void)pairs(SharedTensor{
                    .session = &session, .share = ShareMatrix(kRows, 7, kSharedScale), .rows = kRows, .backward = {}});
              }),
              HasSubstr("takes one value a row more than that, not 7"));
}

/// The steps of a run of 20 with momentum, and what the parties hold before and after.
template <class Model>
struct Trained {
  Model model{nullptr};
  std::vector<ShareMatrix> before;
  std::vector<ShareMatrix> after;
};

constexpr std::size_t kSteps = 20;

std::vector<ShareMatrix> pieces_of(const FederatedModule& model) {
  std::vector<ShareMatrix> pieces;
  for (const FederatedParameter& parameter : model.federated_parameters()) pieces.push_back(parameter.piece());
  return pieces;
}

std::vector<std::uint32_t> rows_of_step(std::size_t step, std::size_t all) {
  std::vector<std::uint32_t> rows;
  const auto first = static_cast<std::uint32_t>(kRows * (step % ((all + kRows - 1) / kRows)));
  for (std::uint32_t i = first; i < std::min<std::uint32_t>(static_cast<std::uint32_t>(all), first + kRows); ++i) {
    rows.push_back(i);
  }
  return rows;
}

struct Case {
  std::string name;
  Family family = Family::kLogistic;
  bool weights = false;
};

class SharedMachine : public ::testing::TestWithParam<Case> {
 protected:
  testing::TwoParties parties_{lattice()};
  SgdOptions sgd_{.learning_rate = 0.05, .momentum = 0.9};
  VerticalData data_{
      rounded(made_up::make_synthetic(
                  {.rows = 150,  // the last batch is padded
                   .columns_a = 6,
                   .columns_b = 5,
                   .task = GetParam().family == Family::kLinear ? made_up::Task::kRegression : made_up::Task::kBinary})
                  .joined,
              16),
      6, kRows};

  [[nodiscard]] SharedTopOptions options() const {
    return {.batch = kRows, .sgd = sgd_, .row_weights = GetParam().weights};
  }
  [[nodiscard]] std::vector<double> weights(const std::vector<std::uint32_t>& rows) const {
    std::vector<double> all;
    for (const std::uint32_t row : rows) all.push_back(GetParam().weights ? row % 8 / 4.0 : 1.0);
    return all;
  }
  [[nodiscard]] data::Batch batch(Party party, std::size_t step) const {
    const auto rows = rows_of_step(step, data_.joined.rows());
    data::Batch batch = data::make_batch(data_.at(party), rows, kRows);
    if (GetParam().weights && party == Party::kB) batch.weights = weights(rows);
    return batch;
  }
  [[nodiscard]] auto train(Session& s) const {
    const SharedFactorizationMachine model(s, data_.shape, kFactors, MatMulOptions{}, options());
    SharedLoss loss(s, GetParam().family, 1, options());
    FederatedOptimizer optimizer(*model, sgd_);
    Trained<SharedFactorizationMachine> trained{.model = model, .before = pieces_of(*model), .after = {}};
    for (std::size_t i = 0; i < kSteps; ++i) {
      const data::Batch x = batch(s.party(), i);
      optimizer.zero_grad();
      loss->forward(trained.model->scores(x), x).backward();
      optimizer.step();
    }
    check_ranges(*loss);
    check_ranges(*trained.model);
    trained.after = pieces_of(*model);
    return trained;
  }
};

TEST_P(SharedMachine, TrainsLikeThePlainMachine) {
  const auto [a, b] = parties_.run([&](Session& s) { return train(s); });
  lab::LocalFactorizationMachine plain(data_.joined.cols(), kFactors);
  const auto weight = [](const std::vector<ShareMatrix>& of_a, const std::vector<ShareMatrix>& of_b) {
    return torch::cat({opened(of_a[0], of_b[0]), opened(of_a[1], of_b[1])});
  };
  {
    const torch::NoGradGuard no_grad;
    plain->weight.copy_(weight(a.before, b.before));
  }
  torch::optim::SGD sgd(plain->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  const torch::Tensor start = plain->weight.detach().clone();
  for (std::size_t i = 0; i < kSteps; ++i) {
    const auto rows = rows_of_step(i, data_.joined.rows());
    const data::Table chosen = data_.joined.select_rows(rows);
    sgd.zero_grad();
    weighted_loss(GetParam().family, plain->forward(lab::features_tensor(chosen)), to_tensor(chosen.labels()),
                  to_tensor(weights(rows)))
        .backward();
    sgd.step();
  }
  EXPECT_GT(largest_difference(start.slice(1, 1), plain->weight.slice(1, 1)), 0.05) << "factors have not moved";
  EXPECT_LE(largest_difference(weight(a.after, b.after), plain->weight), 1e-3);
  EXPECT_LE(largest_difference(opened(a.after[2], b.after[2]).view({-1}), plain->top->bias), 1e-3);
}

TEST_P(SharedMachine, DrivenOutOfItsRangeSaysSoToBothParties) {
  sgd_.learning_rate = 5;
  const auto [a, b] =
      parties_.run([&](Session& s) { return testing::message_of<OutOfRange>([&] { (void)train(s); }); });
  EXPECT_THAT(a, HasSubstr("left the interval"));
  EXPECT_EQ(a, b);
}

INSTANTIATE_TEST_SUITE_P(Models, SharedMachine,
                         ::testing::Values(Case{.name = "logistic"}, Case{.name = "logistic_weights", .weights = true},
                                           Case{.name = "linear", .family = Family::kLinear}),
                         [](const auto& test) { return test.param.name; });

TEST(SharedDeepFms, TrainLikeThePlainModel) {
  made_up::SyntheticCategoriesSpec spec;
  spec.rows = 150;
  spec.fields_a = {{.name = "a1", .categories = 6}};
  spec.fields_b = {{.name = "b1", .categories = 5}};
  CategoricalData data(made_up::make_synthetic_categories(spec), spec.columns_a, kRows);
  data.categories.dimension = 2;
  const std::vector<std::size_t> hidden{4};
  const SgdOptions sgd{.learning_rate = 0.1, .momentum = 0.9};
  const SharedTopOptions options{.batch = kRows, .sgd = sgd};
  TwoSourceOptions sources;
  sources.categories.table_scheme = protocol::kByOt;
  testing::TwoParties parties(lattice());
  const auto models = parties.run([&](Session& s) {
    return SharedDeepFm(s, data.shape, data.categories, kFactors, hidden, Activation::kTanh, sources, options);
  });
  lab::LocalDeepFm plain(
      lab::LocalSources(data.joined.numeric.cols(), kCols, data.fields, data.categories.dimension, hidden.front()),
      DeepFmTop(data.fields.size() * data.categories.dimension, hidden, Activation::kTanh));
  copy_sources(models.first, models.second, plain);
  const auto copied = [&](const FederatedParameter& a, const FederatedParameter& b) {
    return opened(a.piece(), b.piece());
  };
  {
    const torch::NoGradGuard no_grad;
    auto top = plain->top->parameters();  // the bias, then the linear layer after it
    const auto linear = [](const SharedDeepFm& model) {
      return model->top->modules(/*include_self=*/false).back()->as<SharedLinearImpl>();
    };
    top.at(0).copy_(copied(models.first->bias->bias(), models.second->bias->bias()).view({-1}));
    top.at(1).copy_(copied(linear(models.first)->weight(), linear(models.second)->weight()).t());
    top.at(2).copy_(copied(linear(models.first)->bias(), linear(models.second)->bias()).view({-1}));
  }
  const torch::Tensor before = lab::score(plain, data.joined);
  const auto scores = parties.run([&](Session& s) {
    SharedDeepFm model = s.party() == Party::kA ? models.first : models.second;
    SharedLoss loss(s, Family::kLogistic, 1, options);
    FederatedOptimizer optimizer(*model, sgd);
    for (std::size_t i = 0; i < kSteps; ++i) {
      const data::Batch x = data::make_batch(data.at(s.party()), rows_of_step(i, spec.rows), kRows);
      optimizer.zero_grad();
      loss->forward(model->scores(x), x).backward();
      optimizer.step();
    }
    const torch::NoGradGuard no_grad;
    const data::Batch first = data::make_batch(data.at(s.party()), rows_of_step(0, spec.rows), kRows);
    return model->open_scores(model->scores(first), 14);
  });
  torch::optim::SGD optimizer(plain->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  for (std::size_t i = 0; i < kSteps; ++i) {
    const lab::LocalRows rows = data.joined.select(rows_of_step(i, spec.rows));
    optimizer.zero_grad();
    loss(Family::kLogistic, plain->forward(rows), to_tensor(rows.labels)).backward();
    optimizer.step();
  }
  const torch::Tensor after = lab::score(plain, data.joined);
  EXPECT_LE(largest_difference(scores.second, after.slice(0, 0, kRows)), 1e-3);
  EXPECT_GT(largest_difference(before, after), 0.1) << "nothing was learned";
}

}  // namespace
}  // namespace blindfl::nn::shared_factorization_test

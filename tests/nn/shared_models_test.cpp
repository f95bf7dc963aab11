// Models whose top is on shares, against plain libtorch from the same start: scores, and weights after many steps with
// momentum. Over the lattice at its shipped parameters, which a shared top needs for its functions.

#include "blindfl/nn/shared_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/mpc/steps.h"
#include "blindfl/mpc/top_parts.h"
#include "blindfl/nn/federated_optimizer.h"
#include "blindfl/nn/shared_evaluation.h"
#include "blindfl/nn/state.h"
#include "nn/vertical_fixture.h"
#include "testing/thrown.h"

namespace blindfl::nn::shared_models_test {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kBatch = 32;
constexpr std::size_t kSteps = 200;

struct Case {
  std::string name;
  Family family = Family::kLogistic;
  std::size_t outputs = 1;
  std::vector<std::size_t> hidden{};
  Activation activation = Activation::kRelu;
  bool weights = false;
  double decay = 0;
  std::vector<protocol::LearningRateChange> rates{};  ///< after that of the family
};

const he::LatticeScheme& lattice() {
  static const he::LatticeScheme scheme;
  return scheme;
}

made_up::Task task_of(Family family) {
  switch (family) {
    case Family::kLogistic:
      return made_up::Task::kBinary;
    case Family::kMultinomial:
      return made_up::Task::kMulticlass;
    case Family::kLinear:
      return made_up::Task::kRegression;
    case Family::kPoisson:
      break;
  }
  return made_up::Task::kCount;
}

/// Opened weights, in the order of the model's federated parameters.
using Weights = std::vector<torch::Tensor>;

Weights opened(const std::vector<ShareMatrix>& a, const std::vector<ShareMatrix>& b) {
  Weights weights;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const ShareMatrix sum = open(a[i], b[i]);
    weights.push_back(to_tensor(decode_ring(sum), sum.rows(), sum.cols()).requires_grad_());
  }
  return weights;
}

std::vector<ShareMatrix> pieces_of(const FederatedModule& model) {
  std::vector<ShareMatrix> pieces;
  for (const FederatedParameter& parameter : model.federated_parameters()) pieces.push_back(parameter.piece());
  return pieces;
}

/// Rows in memory, and their weights.
class WeightedRows final : public data::RowSource {
 public:
  WeightedRows(const data::Dataset& rows, std::vector<double> weights) : rows_(rows), weights_(std::move(weights)) {}
  [[nodiscard]] std::size_t rows() const override { return rows_.rows(); }
  [[nodiscard]] data::Batch batch(std::span<const std::uint32_t> chosen, std::size_t batch_size) const override {
    data::Batch batch = rows_.batch(chosen, batch_size);
    if (weights_.empty()) return batch;
    for (const std::uint32_t row : chosen) batch.weights.push_back(weights_[row]);
    return batch;
  }

 private:
  data::RowsInMemory rows_;
  std::vector<double> weights_;
};

class SharedModels : public ::testing::TestWithParam<Case> {
 protected:
  testing::TwoParties parties_{lattice()};
  VerticalData data_{rounded(made_up::make_synthetic({.rows = 150,  // the last batch is padded
                                                      .columns_a = 6,
                                                      .columns_b = 5,
                                                      .task = task_of(GetParam().family),
                                                      .classes = GetParam().outputs})
                                 .joined,
                             16),
                     6, kBatch};
  SgdOptions sgd_{.learning_rate = GetParam().family == Family::kPoisson ? 0.01 : 0.05,
                  .momentum = 0.9,
                  .weight_decay = GetParam().decay,
                  .schedule = GetParam().rates};

  [[nodiscard]] std::vector<std::uint32_t> rows(std::size_t step) const {
    std::vector<std::uint32_t> rows;
    const auto all = static_cast<std::uint32_t>(data_.joined.rows());
    const auto first = static_cast<std::uint32_t>(kBatch * (step % ((all + kBatch - 1) / kBatch)));
    for (std::uint32_t i = first; i < std::min<std::uint32_t>(all, first + kBatch); ++i) rows.push_back(i);
    return rows;
  }
  /// Of the rows, or nothing: from 0 on, with fractions that are rounded off, and about 1 on average.
  [[nodiscard]] std::vector<double> weights(const std::vector<std::uint32_t>& rows) const {
    std::vector<double> all;
    if (!GetParam().weights) return all;
    for (const std::uint32_t row : rows) all.push_back(row % 30 == 7 ? 9.99 : row % 8 / 5.3);
    return all;
  }
  [[nodiscard]] torch::Tensor plain_loss(const Weights& w, const std::vector<std::uint32_t>& rows) const {
    const torch::Tensor labels = to_tensor(data_.joined.select_rows(rows).labels());
    if (!GetParam().weights) return loss(GetParam().family, plain_scores(w, rows), labels);
    return weighted_loss(GetParam().family, plain_scores(w, rows), labels, to_tensor(weights(rows)));
  }
  /// Rows whose class the plain model takes.
  [[nodiscard]] double plain_right(const Weights& w, const std::vector<std::uint32_t>& rows) const {
    const torch::NoGradGuard no_grad;
    const torch::Tensor scores = plain_scores(w, rows);
    const torch::Tensor labels = to_tensor(data_.joined.select_rows(rows).labels()).reshape({-1});
    const torch::Tensor taken = GetParam().family == Family::kMultinomial
                                    ? scores.argmax(1).to(labels.dtype())
                                    : (scores.reshape({-1}) >= 0).to(labels.dtype());
    return (taken == labels).sum().item<double>();
  }
  [[nodiscard]] std::vector<std::uint32_t> all_rows() const {
    std::vector<std::uint32_t> all(data_.joined.rows());
    std::iota(all.begin(), all.end(), 0U);
    return all;
  }
  [[nodiscard]] SharedTopOptions top_options() const {
    return {.batch = kBatch, .sgd = sgd_, .row_weights = GetParam().weights};
  }
  [[nodiscard]] std::shared_ptr<SharedModel> make(Session& s) const {
    const Case& c = GetParam();
    const SharedTopOptions options = top_options();
    if (c.hidden.empty()) {
      return SharedGeneralizedLinear(s, data_.shape, c.outputs, MatMulOptions{}, options).ptr();
    }
    return SharedMlp(s, data_.shape, c.hidden, c.outputs, c.activation, MatMulOptions{}, options).ptr();
  }
  [[nodiscard]] SharedLoss make_loss(Session& s) const {
    return SharedLoss(s, GetParam().family, GetParam().outputs, top_options());
  }
  /// Of the plain model's first layer.
  [[nodiscard]] torch::Tensor first_outputs(const Weights& w, const std::vector<std::uint32_t>& rows) const {
    return torch::mm(lab::features_tensor(data_.joined.select_rows(rows)), torch::cat({w[0], w[1]})) + w[2];
  }
  /// Scores of the plain model with these weights.
  [[nodiscard]] torch::Tensor plain_scores(const Weights& w, const std::vector<std::uint32_t>& rows) const {
    torch::Tensor z = first_outputs(w, rows);
    for (std::size_t i = 3; i + 1 < w.size(); i += 2) {
      z = torch::mm(GetParam().activation == Activation::kRelu ? torch::relu(z) : torch::tanh(z), w[i]) + w[i + 1];
    }
    return z;
  }
  void train(Weights& w, std::size_t steps) const {
    torch::optim::SGD sgd(
        w, torch::optim::SGDOptions(sgd_.learning_rate).momentum(sgd_.momentum).weight_decay(sgd_.weight_decay));
    const protocol::SgdPlan plan(sgd_);
    for (std::size_t i = 0; i < steps; ++i) {
      dynamic_cast<torch::optim::SGDOptions&>(sgd.param_groups()[0].options()).lr(plan.learning_rate_at(i));
      sgd.zero_grad();
      plain_loss(w, rows(i)).backward();
      sgd.step();
    }
  }
  [[nodiscard]] data::Batch batch_of(Party party, const std::vector<std::uint32_t>& rows) const {
    data::Batch batch = data::make_batch(data_.at(party), rows, kBatch);
    if (party == Party::kB) batch.weights = weights(rows);
    return batch;
  }
  [[nodiscard]] data::Batch batch(Party party, std::size_t step) const { return batch_of(party, rows(step)); }
  void take_steps(Session& s, SharedModel& model, SharedLoss& loss, FederatedOptimizer& optimizer, std::size_t from,
                  std::size_t to) const {
    for (std::size_t i = from; i < to; ++i) {
      const data::Batch x = batch(s.party(), i);
      optimizer.zero_grad();
      loss->forward(model.scores(x), x).backward();
      optimizer.step();
      if (i % 16 == 15 || std::has_single_bit(i + 1)) loss->check_ranges();  // as TrainingLoop does
    }
  }
  void diverge(Session& s) const {
    const auto model = make(s);
    SharedLoss loss = make_loss(s);
    FederatedOptimizer optimizer(*model, sgd_);
    for (std::size_t i = 0; i < 64; ++i) {
      take_steps(s, *model, loss, optimizer, i, i + 1);
      if (i % 16 == 15 || std::has_single_bit(i + 1)) check_ranges(*model);
    }
  }
};

TEST_P(SharedModels, MeanLossAndAccuracyAreThoseOfLibtorchAndAllThatIsOpened) {
  const bool of_classes = GetParam().family == Family::kLogistic || GetParam().family == Family::kMultinomial;
  const std::vector<std::uint32_t> all = all_rows();
  const auto [a, b] = parties_.run([&](Session& s) {
    const auto model = make(s);
    SharedLoss loss = make_loss(s);
    const WeightedRows rows(data_.at(s.party()), s.party() == Party::kB ? weights(all) : std::vector<double>{});
    EXPECT_THAT(testing::message_of<InvalidArgument>([&] { (void)shared_means(*model, *loss, rows, kBatch); }),
                HasSubstr("the mean loss of 150 rows would tell of each"));
    const auto means = shared_means(*model, *loss, rows, kBatch, 1);
    return std::pair(pieces_of(*model), means);
  });
  const Weights w = opened(a.first, b.first);
  const double plain = plain_loss(w, all).item<double>();
  EXPECT_FALSE(a.second.has_value());
  ASSERT_TRUE(b.second.has_value());
  EXPECT_NEAR(b.second->loss, plain, 0.006) << "noise is at most 2^-7, and deviates by 2^-10";
  EXPECT_NE(b.second->loss, plain);
  ASSERT_EQ(b.second->accuracy.has_value(), of_classes);
  if (of_classes) {
    const auto rows = static_cast<double>(all.size());
    // Of many classes two that are almost equal are taken for the same.
    const double alike = GetParam().family == Family::kMultinomial ? 1 : 0;
    EXPECT_NEAR(*b.second->accuracy * rows, plain_right(w, all), 0.51 + alike) << "rows, each of which counts once";
  }
  for (const Party party : {Party::kA, Party::kB}) {
    std::uint64_t opened_bytes = 0;
    for (const auto& [step, traffic] : parties_.recording(party).sent()) {
      // Bits of ranges are stated.
      const bool range = step == net::Step(mpc::steps::kRangeShare);
      if (net::describe(step).protection == net::Protection::kShare && !range) opened_bytes += traffic.bytes;
    }
    EXPECT_EQ(opened_bytes, party == Party::kA ? (of_classes ? 16U : 8U) : 0U);
  }
}

TEST_P(SharedModels, ScoresAndTrainedWeightsAreThoseOfLibtorch) {
  struct Result {
    std::vector<ShareMatrix> before;
    torch::Tensor scores;
    std::vector<ShareMatrix> after;
  };
  const auto [a, b] = parties_.run([&](Session& s) {
    const auto model = make(s);
    SharedLoss loss = make_loss(s);
    FederatedOptimizer optimizer(*model, sgd_);
    Result result{.before = pieces_of(*model), .scores = {}, .after = {}};
    {
      const torch::NoGradGuard no_grad;
      result.scores = model->open_scores(model->scores(batch(s.party(), 4)), 14);
    }
    take_steps(s, *model, loss, optimizer, 0, kSteps);
    result.after = pieces_of(*model);
    return result;
  });
  Weights w = opened(a.before, b.before);
  const Weights start = opened(a.before, b.before);
  EXPECT_EQ(a.scores.size(0), 0);
  EXPECT_EQ(b.scores.size(0), 22) << "padding is not opened";
  EXPECT_LE(largest_difference(b.scores, plain_scores(w, rows(4))), 2e-4);
  train(w, kSteps);
  const Weights after = opened(a.after, b.after);
  double moved = 0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    EXPECT_LE(largest_difference(after[i], w[i]), 1e-3) << "parameter " << i;
    moved = std::max(moved, largest_difference(start[i], w[i]));
  }
  EXPECT_GT(moved, 0.05);
}

TEST_P(SharedModels, DrivenOutOfTheirRangeSaySoToBothParties) {
  sgd_.learning_rate = 50;
  const auto [a, b] = parties_.run([&](Session& s) { return testing::message_of<OutOfRange>([&] { diverge(s); }); });
  EXPECT_THAT(a, HasSubstr("left the interval"));
  EXPECT_EQ(a, b);
}

class SharedAccuracy : public SharedModels {};

/// Of the same shares again and again, as nobody does but this test.
TEST_P(SharedAccuracy, CarriesNoiseAsTheMeanLossDoes) {
  constexpr int kTimes = 40;
  const std::vector<std::uint32_t> all = all_rows();
  const auto [a, b] = parties_.run([&](Session& s) {
    const auto model = make(s);
    SharedLoss loss = make_loss(s);
    SharedLossImpl::Tally tally;
    const torch::NoGradGuard no_grad;
    for (std::size_t first = 0; first < all.size(); first += kBatch) {
      const std::vector<std::uint32_t> rows(
          all.begin() + static_cast<std::ptrdiff_t>(first),
          all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), first + kBatch)));
      const data::Batch x = batch_of(s.party(), rows);
      loss->add(tally, model->scores(x), x);
    }
    std::vector<double> counts;
    for (int i = 0; i < kTimes; ++i) {
      const auto means = loss->open_means(tally);
      if (means) counts.push_back(*means->accuracy * static_cast<double>(all.size()));
    }
    return std::pair(pieces_of(*model), counts);
  });
  const double right = plain_right(opened(a.first, b.first), all);
  ASSERT_EQ(b.second.size(), static_cast<std::size_t>(kTimes));
  double square = 0;
  for (const double count : b.second) {
    EXPECT_NEAR(count, right, 0.51);
    square += (count - right) * (count - right) / kTimes;
  }
  // Four words of 2^8 units of 2^-10 of a row: 0.14 rows, a thousandth of all.
  EXPECT_NEAR(std::sqrt(square), std::ldexp(1 / std::sqrt(3.0), -2), 0.06);
}

INSTANTIATE_TEST_SUITE_P(Models, SharedAccuracy,
                         ::testing::Values(Case{.name = "logistic"},
                                           Case{.name = "multinomial", .family = Family::kMultinomial, .outputs = 4}),
                         [](const auto& test) { return test.param.name; });

class SharedWeights : public SharedModels {};

TEST_P(SharedWeights, MustHaveBeenAnnouncedAndBelowTheirLimit) {
  const Family family = GetParam().family;
  parties_.run([&](Session& s) {
    const auto model = make(s);
    SharedLoss loss = make_loss(s);
    SharedTopOptions alike = top_options();
    alike.row_weights = false;
    SharedLoss without(s, family, 1, alike);
    const data::Batch x = batch(s.party(), 0);
    const SharedTensor scores = model->scores(x);
    if (s.party() == Party::kA) return;
    const auto refused = [&](SharedLoss& by, const data::Batch& with) {
      return testing::message_of<Error>([&] { (void)by->forward(scores, with); });
    };
    EXPECT_THAT(refused(without, x), HasSubstr("both parties say so beforehand"));
    data::Batch bad = x;
    for (const double weight : {16.0, -0.5, std::nan("")}) {
      bad.weights[3] = weight;
      EXPECT_THAT(refused(loss, bad), HasSubstr("weight of row 3 of the batch: under a shared top weights are from 0"));
    }
    bad.weights.pop_back();
    EXPECT_THAT(refused(loss, bad), HasSubstr("needs as many weights, or none, not 31"));
    bad = x;
    bad.counts.assign(x.weights.size(), true);
    EXPECT_THAT(refused(loss, bad), HasSubstr("placeholders among them need an open one"));
    bad = x;
    bad.weights[3] = 15.9;
    bad.labels[3] = 17;
    if (family != Family::kPoisson) return;
    EXPECT_THAT(refused(loss, bad), HasSubstr("counts times weights are up to 256"));
  });
}

TEST_P(SharedWeights, OfOnePartyAloneAreADisagreement) {
  const std::string said = testing::message_of<ConfigError>([&] {
    parties_.run([&](Session& s) {
      SharedTopOptions options = top_options();
      options.row_weights = s.party() == Party::kB;
      const SharedLoss loss(s, GetParam().family, 1, options);
      s.settle();
    });
  });
  EXPECT_THAT(said, HasSubstr("rows have weights"));
}

INSTANTIATE_TEST_SUITE_P(Models, SharedWeights,
                         ::testing::Values(Case{.name = "logistic", .weights = true},
                                           Case{.name = "poisson", .family = Family::kPoisson, .weights = true}),
                         [](const auto& test) { return test.param.name; });

constexpr std::size_t kFollowedSteps = kSteps;
/// Twice what a ReLU does not look at.
constexpr double kKink = 0x1p-11;
static_assert(mpc::kDroppedReluBits + 1 == kSharedScale - 11);

class SharedKinks : public SharedModels {
 protected:
  /// The smallest absolute value before a ReLU of the plain model.
  [[nodiscard]] double nearest_to_a_kink(const Weights& w, const std::vector<std::uint32_t>& rows) const {
    const torch::NoGradGuard no_grad;
    torch::Tensor z = first_outputs(w, rows);
    double nearest = std::numeric_limits<double>::infinity();
    for (std::size_t i = 3; i + 1 < w.size(); i += 2) {
      nearest = std::min(nearest, z.abs().min().item<double>());
      z = torch::mm(torch::relu(z), w[i]) + w[i + 1];
    }
    return nearest;
  }
};

// Without functions that bound what comes out of a layer, one step may go beyond all that shares can hold.
TEST_P(SharedKinks, DrivenOutOfTheirRangeSaySo) {
  sgd_.learning_rate = 50;
  EXPECT_THAT(testing::message_of<Error>([&] { parties_.run([&](Session& s) { diverge(s); }); }),
              ::testing::AnyOf(HasSubstr("left the interval"), HasSubstr("training diverged")));
}

// At a kink the last bit of a value decides about a whole derivative, so the plain model starts each step where the
// federated one does: with its weights, and with the momentum that they have from the step before. Steps with a value
// so near to 0 that a ReLU need not tell its sign are not compared.
TEST_P(SharedKinks, EachStepIsThatOfLibtorch) {
  using Moments = std::vector<std::vector<ShareMatrix>>;
  const auto [a, b] = parties_.run([&](Session& s) {
    const auto model = make(s);
    SharedLoss loss = make_loss(s);
    FederatedOptimizer optimizer(*model, sgd_);
    Moments moments{pieces_of(*model)};
    for (std::size_t i = 0; i < kFollowedSteps; ++i) {
      take_steps(s, *model, loss, optimizer, i, i + 1);
      moments.push_back(pieces_of(*model));
    }
    return moments;
  });
  std::size_t compared = 0;
  for (std::size_t i = 0; i < kFollowedSteps; ++i) {
    const Weights now = opened(a[i], b[i]);
    if (nearest_to_a_kink(now, rows(i)) < kKink) continue;
    ++compared;
    const Weights before = i == 0 ? now : opened(a[i - 1], b[i - 1]);
    const Weights next = opened(a[i + 1], b[i + 1]);
    plain_loss(now, rows(i)).backward();
    const torch::NoGradGuard no_grad;
    for (std::size_t p = 0; p < now.size(); ++p) {
      const torch::Tensor moved = sgd_.momentum * (now[p] - before[p]) - sgd_.learning_rate * now[p].grad();
      ASSERT_LE(largest_difference(next[p], now[p] + moved), 1e-3) << "step " << i << ", parameter " << p;
    }
  }
  EXPECT_GE(compared, kFollowedSteps / 2);
}

INSTANTIATE_TEST_SUITE_P(
    Models, SharedKinks,
    ::testing::Values(Case{.name = "relu", .hidden = {8, 4}},
                      Case{.name = "relu_classes", .family = Family::kMultinomial, .outputs = 3, .hidden = {6}},
                      Case{.name = "relu_weights", .hidden = {6}, .weights = true},
                      Case{.name = "relu_linear_weights", .family = Family::kLinear, .hidden = {6}, .weights = true}),
    [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(
    Models, SharedModels,
    ::testing::Values(
        Case{.name = "logistic"}, Case{.name = "multinomial", .family = Family::kMultinomial, .outputs = 4},
        Case{.name = "linear", .family = Family::kLinear}, Case{.name = "poisson", .family = Family::kPoisson},
        Case{.name = "tanh", .hidden = {6}, .activation = Activation::kTanh},
        Case{.name = "tanh_decay_rates",
             .hidden = {6},
             .activation = Activation::kTanh,
             .decay = 0.02,
             .rates = {{60, 0.1}, {120, 0.02}}},
        Case{.name = "logistic_weights", .weights = true},
        Case{.name = "multinomial_weights", .family = Family::kMultinomial, .outputs = 3, .weights = true},
        Case{.name = "linear_weights", .family = Family::kLinear, .weights = true},
        Case{.name = "poisson_weights", .family = Family::kPoisson, .weights = true}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace blindfl::nn::shared_models_test

// The attacks on an open top, on what B has of a whole model on shares: its shares of all values between layers and of
// all derivatives, in every step of a training, and all messages of source layer, top and loss.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <iostream>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/lab/attacks/attack_binary_columns.h"
#include "blindfl/lab/attacks/attack_data.h"
#include "blindfl/lab/attacks/attack_derivatives.h"
#include "blindfl/lab/attacks/attack_differences.h"
#include "blindfl/lab/attacks/attack_regression.h"
#include "blindfl/lab/attacks/recorded_view.h"
#include "blindfl/mpc/steps.h"
#include "blindfl/nn/bridge.h"
#include "blindfl/nn/federated_optimizer.h"
#include "blindfl/nn/shared_models.h"
#include "blindfl/protocol/session/steps.h"
#include "lab/vertical_rows.h"
#include "testing/two_parties.h"
#include "testing/uniformity.h"

namespace blindfl::lab::attacks::whole_model_views_test {
namespace {

using nn::SharedTensor;
using protocol::Session;
using torch::Tensor;

constexpr std::int64_t kRows = 256;
constexpr std::size_t kBatch = 256;
constexpr std::size_t kSteps = 12;
constexpr std::int64_t kColumnsA = 12;
constexpr std::size_t kWidth = 16;
constexpr std::size_t kNext = 8;
constexpr int kOutputScale = 16;

/// A party's shares of values between two layers, and of the derivatives by them, step by step.
struct Place {
  std::vector<ShareMatrix> values;
  std::vector<ShareMatrix> derivatives;
};

struct View {
  std::map<std::string, Place> places;
  std::optional<nn::SharedMeans> means;  ///< after the last step
  std::vector<testing::RecordedMessage> received;
};

struct Views {
  TwoTables rows;
  View a;
  View b;

  [[nodiscard]] const View& of(Party party) const { return party == Party::kA ? a : b; }
};

/// A perceptron with both kinds of activations, whose every value is noted down on its way.
class WatchedModel {
 public:
  WatchedModel(Session& session, const nn::FeatureShape& shape, std::map<std::string, Place>& places)
      : places_(places),
        source_(session, shape, kWidth, nn::for_shared_top(nn::MatMulOptions{})),
        bias_(session, kWidth, 0.0, options_),
        relu_(session, options_),
        linear_(session, kWidth, kNext, options_),
        tanh_(session, nn::SmoothActivation::kTanh, kNext, options_),
        last_(session, kNext, 1, options_),
        loss_(session, nn::Family::kLogistic, 1, options_) {
    for (nn::FederatedModule* layer : modules()) optimizers_.emplace_back(*layer, options_.sgd);
  }

  void step(const data::Batch& batch) {
    const SharedTensor z = noted("Z", nn::shared_output(source_->shares(batch)));
    const SharedTensor first = noted("after ReLU", relu_(noted("before ReLU", bias_(z))));
    const SharedTensor second = noted("after tanh", tanh_(noted("before tanh", linear_(first))));
    auto loss = loss_->forward(noted("scores", last_(second)), batch);
    for (auto& optimizer : optimizers_) optimizer.zero_grad();
    loss.backward();
    for (auto& optimizer : optimizers_) optimizer.step();
  }
  /// What a validation opens: the mean loss and the accuracy.
  std::optional<nn::SharedMeans> judge(const data::Batch& batch) {
    const torch::NoGradGuard no_grad;
    nn::SharedLossImpl::Tally tally;
    const SharedTensor z = nn::shared_output(source_->shares(batch));
    loss_->add(tally, last_(tanh_(linear_(relu_(bias_(z))))), batch);
    check_ranges();
    return loss_->open_means(std::move(tally));
  }
  void check_ranges() {
    relu_->check_ranges();
    tanh_->check_ranges();
    loss_->check_ranges();
  }

 private:
  std::vector<nn::FederatedModule*> modules() { return {source_.get(), bias_.get(), linear_.get(), last_.get()}; }
  SharedTensor noted(const std::string& name, SharedTensor x) {
    Place& place = places_[name];
    place.values.push_back(x.share);
    x.backward = [&place, below = std::move(x.backward)](const nn::SharedDerivative& d) {
      place.derivatives.push_back(d.share);
      below(d);
    };
    return x;
  }

  std::map<std::string, Place>& places_;
  nn::SharedTopOptions options_{.batch = kBatch, .sgd = {.learning_rate = 0.5, .momentum = 0.9}};
  nn::MatMul source_;
  nn::SharedBias bias_;
  nn::SharedReLU relu_;
  nn::SharedLinear linear_;
  nn::SharedActivation tanh_;
  nn::SharedLinear last_;
  nn::SharedLoss loss_;
  std::deque<nn::FederatedOptimizer> optimizers_;
};

/// Trained once for all tests, with the same rows in every step: what changes are the weights.
const Views& views() {
  static const Views made = [] {
    Views views{.rows = synthetic_columns(kRows, kColumnsA, 4, 7), .a = {}, .b = {}};
    const nn::FeatureShape shape = shape_of(views.rows, {.out = kWidth, .batch = kBatch});
    const he::LatticeScheme lattice;
    testing::TwoParties parties(lattice);
    parties.run([&](Session& s) {
      View& view = s.party() == Party::kA ? views.a : views.b;
      WatchedModel model(s, shape, view.places);
      std::vector<std::uint32_t> all(kBatch);
      std::iota(all.begin(), all.end(), 0U);
      const data::Batch batch = data::make_batch(own_rows(s.party(), views.rows, shape), all, kBatch);
      for (std::size_t i = 0; i < kSteps; ++i) model.step(batch);
      view.means = model.judge(batch);
    });
    for (const Party party : {Party::kA, Party::kB}) {
      for (auto& message : parties.recording(party).messages()) {
        if (message.direction != net::Direction::kReceived) continue;
        (party == Party::kA ? views.a : views.b).received.push_back(std::move(message));
      }
    }
    return views;
  }();
  return made;
}

/// Shares of all steps side by side, read as numbers.
Tensor numbers(const std::vector<ShareMatrix>& shares) {
  std::vector<Tensor> columns;
  for (const ShareMatrix& share : shares) columns.push_back(numbers_of(share));
  return torch::cat(columns, 1);
}
/// The same where a mistake has opened them.
std::vector<ShareMatrix> opened(const std::vector<ShareMatrix>& a, const std::vector<ShareMatrix>& b) {
  std::vector<ShareMatrix> sums;
  for (std::size_t i = 0; i < a.size(); ++i) sums.push_back(open(a[i], b[i]));
  return sums;
}
std::vector<ShareMatrix> opened_values(const std::string& place) {
  return opened(views().a.places.at(place).values, views().b.places.at(place).values);
}

std::size_t exact_columns(const std::vector<ShareMatrix>& z) {
  return fraction_of(attack_binary_columns(numbers_of(z.back()), views().rows.b, kOutputScale), views().rows.a)
      .recovered;
}
std::size_t columns_by_differences(const std::vector<ShareMatrix>& z) {
  std::vector<Opening> openings;
  for (const ShareMatrix& one : z) {
    openings.push_back({numbers_of(one), torch::zeros({views().rows.b.size(1), nn::torch_size(one.cols())})});
  }
  return fraction_of(attack_differences(openings, views().rows.b, kOutputScale), views().rows.a).recovered;
}
Nearness of_columns(const Tensor& seen) {
  return correlation_of_columns(attack_regression(seen, views().rows.b), views().rows.a, views().rows.b);
}
Nearness of_labels(const Tensor& seen) {
  return correlation_of_columns(attack_regression(seen, views().rows.a), views().rows.labels.unsqueeze(1),
                                views().rows.a);
}

void expect_chance(const std::string& name, const Nearness& nearness, double factor) {
  std::cout << name << ": correlation " << nearness.value << ", chance " << nearness.chance << "\n";
  EXPECT_LT(nearness.value, factor * nearness.chance) << name;
}

TEST(WholeModelViews, AreOfATrainingThatLearns) {
  const std::vector<ShareMatrix> scores = opened_values("scores");
  ASSERT_EQ(scores.size(), kSteps);
  const auto loss = [&](const ShareMatrix& of) {
    return torch::binary_cross_entropy_with_logits(numbers_of(of).squeeze(1), views().rows.labels).item<double>();
  };
  std::cout << "log loss " << loss(scores.front()) << " at first, " << loss(scores.back()) << " at the end\n";
  EXPECT_LT(loss(scores.back()), loss(scores.front()) - 0.1);
  EXPECT_FALSE(views().a.means.has_value());
  EXPECT_LT(views().b.means.value().loss, loss(scores.front()) - 0.1);
  EXPECT_GT(views().b.means.value().accuracy.value(), 0.6);
}

// All that a step needs, and nothing that opens a value: of a range there is one bit, of a validation two sums.
TEST(WholeModelViews, HoldTheMessagesOfAllPartsAndNoOpeningButTwoSums) {
  using namespace mpc::steps;
  for (const Party party : {Party::kA, Party::kB}) {
    std::set<net::Step> received;
    for (const auto& message : views().of(party).received) received.insert(message.message.step);
    for (const net::Step& step : {net::Step(kComparison), net::Step(kSelection), net::Step(kBitProducts),
                                  net::Step(kSharedOperand), net::Step(kSharedProduct), net::Step(kRangeShare),
                                  net::Step(protocol::steps::kLiftChoices), net::Step(protocol::steps::kLiftWords)}) {
      EXPECT_TRUE(received.contains(step)) << name_of(party) << ' ' << net::describe(step).name;
    }
    const auto at_b = {net::Step(kFunctionReply), net::Step(kElementReply)};
    const auto at_a = {net::Step(kFunctionOperand), net::Step(kElementOperand)};
    for (const net::Step& step : at_b) EXPECT_EQ(received.contains(step), party == Party::kB);
    for (const net::Step& step : at_a) EXPECT_EQ(received.contains(step), party == Party::kA);
    std::uint64_t bytes_of_sums = 0;
    for (const auto& message : views().of(party).received) {
      if (message.message.step == net::Step(kSumShare)) bytes_of_sums += message.payload.size();
    }
    EXPECT_EQ(bytes_of_sums, party == Party::kB ? 16U : 0U);
    for (const net::Step& step : {net::Step(kScoreShare), net::Step(protocol::steps::kOutputShare)}) {
      EXPECT_FALSE(received.contains(step)) << name_of(party) << ' ' << net::describe(step).name;
    }
  }
}

/// Under pads.
bool looks_random(const net::Step& step) {
  return std::ranges::any_of(mpc::steps::kAll, [&](const net::Step& known) {
    return known == step && net::describe(known).protection == net::Protection::kPadded;
  });
}

// What is under pads has no byte that is likelier than another: of the same values in every step.
TEST(WholeModelViews, HoldPaddedMessagesThatLookUniform) {
  for (const Party party : {Party::kA, Party::kB}) {
    std::map<net::Step, std::vector<std::uint8_t>> bytes;
    for (const auto& [direction, message, payload] : views().of(party).received) {
      if (!looks_random(message.step)) continue;
      for (const std::byte b : payload) bytes[message.step].push_back(std::to_integer<std::uint8_t>(b));
    }
    EXPECT_GE(bytes.size(), 3U);
    for (const auto& [step, all] : bytes) {
      EXPECT_TRUE(testing::looks_uniform(std::span<const std::uint8_t>(all)))
          << name_of(party) << ' ' << net::describe(step).name << ", bytes: " << all.size();
    }
  }
}

TEST(WholeModelViews, HideBinaryColumnsThatZGivesAway) {
  const Place& z = views().b.places.at("Z");
  EXPECT_EQ(exact_columns(z.values), 0U);
  EXPECT_EQ(columns_by_differences(z.values), 0U);
  EXPECT_EQ(exact_columns(views().b.places.at("before ReLU").values), 0U);
  EXPECT_EQ(exact_columns(opened_values("Z")), static_cast<std::size_t>(kColumnsA));
  EXPECT_EQ(columns_by_differences(opened_values("Z")), static_cast<std::size_t>(kColumnsA));
}

// Numbers of random shares come as near to A's columns as there are outputs to choose from.
TEST(WholeModelViews, HideAsColumnsInAllStepsAndPlaces) {
  for (const auto& [name, place] : views().b.places) {
    ASSERT_EQ(place.values.size(), kSteps);
    ASSERT_EQ(place.derivatives.size(), kSteps) << name;
    const std::vector<ShareMatrix> values(place.values.end() - 6, place.values.end());
    const std::vector<ShareMatrix> derivatives(place.derivatives.end() - 6, place.derivatives.end());
    expect_chance("B's shares, " + name, of_columns(numbers(values)), 1.6);
    expect_chance("B's shares, derivatives, " + name, of_columns(numbers(derivatives)), 1.6);
  }
  EXPECT_GT(of_columns(numbers_of(opened_values("Z").back())).value, 0.99);
  const Nearness after_relu = of_columns(numbers_of(opened_values("after ReLU").back()));
  EXPECT_GT(after_relu.value, 2 * after_relu.chance);
}

TEST(WholeModelViews, HideLabelsFromAInAllStepsAndPlaces) {
  for (const auto& [name, place] : views().a.places) {
    const std::vector<ShareMatrix> values(place.values.end() - 3, place.values.end());
    const std::vector<ShareMatrix> derivatives(place.derivatives.end() - 3, place.derivatives.end());
    const double factor = values.front().cols() == 1 ? 3.5 : 1.9;  // of few numbers, chance deviates more
    expect_chance("A's shares, " + name, of_labels(numbers(values)), factor);
    expect_chance("A's shares, derivatives, " + name, of_labels(numbers(derivatives)), factor);
  }
  const auto derivative = opened(views().a.places.at("scores").derivatives, views().b.places.at("scores").derivatives);
  EXPECT_GT(of_labels(numbers_of(derivative.front())).value, 0.9);
}

/// What directions and norms tell of labels.
std::vector<double> told_by(const Tensor& seen, const std::vector<double>& labels) {
  return {attack_directions(seen, labels, longest_row(seen), 0).balanced, attack_norms(seen, labels).value};
}

// A has a share of the derivative of each row at each place; in split learning the derivative itself tells all.
TEST(WholeModelViews, HideDirectionsAndNormsOfDerivativesFromA) {
  const std::vector<double> labels = nn::to_vector(views().rows.labels);
  std::vector<ShareMatrix> shares;
  for (const auto& [name, place] : views().a.places) {
    if (name == "Z") continue;  // the same as before ReLU
    shares.insert(shares.end(), place.derivatives.begin(), place.derivatives.end());
  }
  constexpr std::uint64_t kSeeds = kSteps;
  ASSERT_EQ(shares.size(), 5 * kSeeds);
  lab::expect_chance({{"A's shares of derivatives, directions"}, {"A's shares of derivatives, norms"}}, kSeeds,
                     [&](std::uint64_t first, std::uint64_t count) {
                       std::vector<std::vector<double>> told(2);
                       for (std::uint64_t i = first - 1; i < first - 1 + count; ++i) {
                         const std::vector<double> one = told_by(numbers_of(shares.at(i)), labels);
                         for (std::size_t attack = 0; attack < 2; ++attack) told[attack].push_back(one[attack]);
                       }
                       return told;
                     });
  const auto of_scores = opened(views().a.places.at("scores").derivatives, views().b.places.at("scores").derivatives);
  EXPECT_GT(told_by(numbers_of(of_scores.front()), labels)[0], 0.99);
}

}  // namespace
}  // namespace blindfl::lab::attacks::whole_model_views_test

// A B that lies can bring two A's out of step: give them other orders of rows, other steps to resume from, have one
// validate while the other trains. What then arrives at B is noise. Controls leave the binding out: the sum opens, and
// tells one A's part but for a constant.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "blindfl/protocol/session/output_masks.h"
#include "blindfl/train/trainer.h"
#include "nn/peers_fixture.h"
#include "testing/thrown.h"

namespace blindfl::nn::out_of_step_test {
namespace {

using protocol::Sessions;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Place = std::optional<std::size_t>;
using Rows = std::vector<std::uint32_t>;

constexpr std::size_t kRows = 4;
constexpr std::size_t kOut = 8;
constexpr int kScale = 16;

/// What an A is told of one pass.
struct Told {
  Rows rows = {0, 1, 2, 3};
  bool names_training_rows = false;
  bool names_scored_rows = false;
  bool trains = false;
  std::string bound{};
};

class OutOfStep : public ::testing::Test {
 protected:
  /// Z as B opens it, where each A does what it is told. B has its row 0, four times.
  std::vector<double> opened(const std::array<Told, 2>& told) {
    SeveralParties parties(2, scheme_);
    const auto pass = [&](const Sessions& sessions, Place place) {
      MatMul layer(sessions, data_.shapes(place), kOut);
      const Told now = place ? told.at(*place) : Told{.rows = {0, 0, 0, 0}};
      const torch::AutoGradMode mode(now.trains);
      data::Batch batch = data::make_batch(data_.at(place), now.rows, kRows);
      if (now.names_training_rows) batch.numbers = now.rows;
      if (now.names_scored_rows) batch.scored = now.rows;
      if (!now.bound.empty()) protocol::bind_outputs(sessions, "order of rows", as_bytes(now.bound));
      const SourceOutput output = layer->shares(batch);
      std::vector<protocol::OutputShare>& mine = shares_[place.value_or(2)];
      mine.clear();
      for (const protocol::SessionShare& share : output.shares) {
        mine.push_back(protocol::round_output(share.output, kScale));
      }
      return output;
    };
    const auto [of_a, z] =
        parties.run([&](std::size_t place, Session& session) { (void)open(pass(Sessions(session), Place(place))); },
                    [&](const Sessions& all) { return open(pass(all, Place())); });
    return to_vector(z.reshape({-1}));
  }
  /// One A's part of the last Z, which nobody has.
  [[nodiscard]] std::vector<double> part(std::size_t place) const {
    return decode_ring(blindfl::open(shares_[place][0].share, shares_[2][place].share));
  }
  void expect_noise(const Told& first, const Told& second) {
    EXPECT_THAT(
        [&] {
          (void)opened({first, second});
        },
        ThrowsMessage<ProtocolError>(HasSubstr("an output is larger than it can be")));
  }
  void expect_sum(const Told& first, const Told& second) {
    const std::vector<double> z = opened({first, second});
    const std::vector<double> of_first = part(0);
    const std::vector<double> of_second = part(1);
    for (std::size_t v = 0; v < z.size(); ++v)
      EXPECT_NEAR(z[v], of_first[v] + of_second[v], 4 * std::ldexp(1.0, -kScale));
  }

  using SeveralParties = testing::SeveralParties;
  testing::PlainScheme scheme_;
  PeersData data_{{.columns_of_a = {4, 5}, .columns_of_b = 3, .rows = 8, .batch = kRows}};
  std::array<std::vector<protocol::OutputShare>, 3> shares_;  ///< rounded, of the A's and B
};

TEST_F(OutOfStep, OfOtherRowsMakesNoise) {
  const Told training{.names_training_rows = true};
  const Told scoring{.names_scored_rows = true};
  expect_sum(training, training);
  expect_sum(scoring, scoring);
  expect_noise(training, {.rows = {0, 0, 0, 0}, .names_training_rows = true});
  expect_noise(scoring, {.rows = {0, 0, 0, 0}, .names_scored_rows = true});
  expect_noise(training, scoring);
}

// The control, and why it matters: B has the differences of one A's parts.
TEST_F(OutOfStep, OfOtherRowsWithoutTheBindingTellsOneAsPart) {
  const std::vector<double> z = opened({Told{}, Told{.rows = {0, 0, 0, 0}}});
  const std::vector<double> of_first = part(0);
  double most = 0;
  for (std::size_t v = kOut; v < z.size(); ++v) {
    const double difference = of_first[v] - of_first[v % kOut];
    EXPECT_NEAR(z[v] - z[v % kOut], difference, 4 * std::ldexp(1.0, -kScale));
    most = std::max(most, std::abs(difference));
  }
  EXPECT_GT(most, 0.1) << "there is something to be told";
}

TEST_F(OutOfStep, OfOneThatTrainsAndOneThatValidatesMakesNoise) {
  expect_sum({.trains = true}, {.trains = true});
  expect_noise({.trains = true}, {.trains = false});
}

TEST_F(OutOfStep, OfWhatTheProgramBindsMakesNoise) {
  expect_sum({.bound = "one order"}, {.bound = "one order"});
  expect_noise({.bound = "one order"}, {.bound = "another"});
  expect_noise({.bound = "one order"}, {});
}

/// Trains one step on one row, so that every step has the same numbers of rows; each A after as many steps as it was
/// told.
class StepsApart : public OutOfStep {
 protected:
  void train(const std::array<std::size_t, 2>& after, bool binds) {
    SeveralParties parties(2, scheme_);
    const PeersData data({.columns_of_a = {4, 5}, .columns_of_b = 3, .rows = 1, .batch = kRows});
    const auto at = [&](const Sessions& sessions, Place place) {
      MatMul layer(sessions, data.shapes(place), kOut);
      const auto forward = [&](const data::Batch& batch) {
        if (!binds) protocol::bind_outputs(sessions, "pass", {});
        return layer->forward(batch);
      };
      const train::Loss loss = [](const torch::Tensor& z, const torch::Tensor& /*y*/) { return z.sum(); };
      const data::RowsInMemory rows(data.at(place));
      train::Trainer trainer(*layer, forward, loss, rows, {.epochs = 4, .batch = kRows, .keep_products = false});
      trainer.resume_after(place ? after.at(*place) : 0);
      (void)trainer.take_step();
    };
    (void)parties.run([&](std::size_t place, Session& session) { at(Sessions(session), Place(place)); },
                      [&](const Sessions& all) { at(all, Place()); });
  }
};

TEST_F(StepsApart, MakesNoise) {
  EXPECT_NO_THROW(train({0, 0}, true));
  EXPECT_NO_THROW(train({2, 2}, true));
  EXPECT_THAT(
      [&] {
        train({0, 2}, true);
      },
      ThrowsMessage<ProtocolError>(HasSubstr("an output is larger than it can be")));
  EXPECT_NO_THROW(train({0, 2}, false)) << "the control: without the binding it opens";
}

}  // namespace
}  // namespace blindfl::nn::out_of_step_test

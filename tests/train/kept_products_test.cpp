// A trainer makes the products that training does not change once, and trains the joined model all the same.

#include "blindfl/nn/keep_products.h"

#include <gtest/gtest.h>

#include "blindfl/base/error.h"
#include "blindfl/protocol/layers/steps.h"
#include "blindfl/train/trainer.h"
#include "nn/vertical_fixture.h"

namespace blindfl::train::kept_products_test {
namespace {

using nn::Family;
using protocol::Party;
using protocol::Session;
namespace steps = protocol::steps;

constexpr std::size_t kBatch = 16;
constexpr std::size_t kStepsPerEpoch = 4;  // the last of 2 rows

torch::Tensor logistic_loss(const torch::Tensor& scores, const torch::Tensor& labels) {
  return nn::loss(Family::kLogistic, scores, labels);
}

struct Way {
  std::string scheme;
  bool encrypted = false;
  double weight_decay = 0;
  bool keeps = true;
};

void PrintTo(const Way& way, std::ostream* out) {
  *out << way.scheme << (way.encrypted ? ", encrypted" : "") << (way.weight_decay > 0 ? ", decay" : "");
}

struct Outcome {
  torch::Tensor before;  ///< scores of all rows, at B
  torch::Tensor after;
  nn::Pieces pieces;
};

class KeptInTraining : public ::testing::TestWithParam<Way> {
 protected:
  [[nodiscard]] static TrainOptions options(const Way& way) {
    TrainOptions all{.epochs = 3, .batch = kBatch};
    all.sgd = {.learning_rate = 0.2, .momentum = 0.9, .weight_decay = way.weight_decay};
    all.sgd.steps = all.epochs * kStepsPerEpoch;
    all.keep_products = way.keeps;
    return all;
  }

  Outcome train(Session& session, const Way& way) const {
    nn::MatMulOptions layer;
    layer.sgd = options(way).sgd;
    if (way.encrypted) layer.update = protocol::Update::kEncrypted;
    nn::GeneralizedLinear model(session, data_.shape, 1, layer);
    const Forward forward = [&](const data::Batch& x) { return model->forward(x); };
    Outcome outcome{score(forward, data_.at(session.party()), kBatch), {}, nn::pieces_of(model->source)};
    fit(*model, forward, logistic_loss, data_.at(session.party()), options(way));
    outcome.after = score(forward, data_.at(session.party()), kBatch);
    return outcome;
  }

  [[nodiscard]] static std::size_t messages(const testing::TwoParties& parties, Party from, net::Step step) {
    const auto& sent = parties.recording(from).sent();
    const auto found = sent.find(step);
    return found == sent.end() ? 0 : found->second.messages;
  }

  nn::VerticalData data_{nn::rounded(made_up::make_synthetic({.rows = 50, .columns_a = 3, .columns_b = 4}).joined, 16),
                         3, kBatch};
};

INSTANTIATE_TEST_SUITE_P(Ways, KeptInTraining,
                         ::testing::Values(Way{"plain"}, Way{"lattice"}, Way{"paillier"}, Way{"paillier", true},
                                           Way{"plain", false, 0.01}, Way{.scheme = "plain", .keeps = false}));

TEST_P(KeptInTraining, TheModelIsThatOfTheJoinedRows) {
  const Way way = GetParam();
  const auto scheme = testing::make_scheme(way.scheme);
  testing::TwoParties parties(*scheme);
  const auto [a, b] = parties.run([&](Session& session) { return train(session, way); });
  // Scores before and after take a product for each of 4 batches, and training none, unless it must.
  const bool kept = way.keeps && way.weight_decay == 0;
  EXPECT_EQ(messages(parties, Party::kB, steps::kForwardProduct), 8U + (kept ? 0 : 3 * kStepsPerEpoch));
  EXPECT_EQ(messages(parties, Party::kB, steps::kKeptProduct) > 0, kept);
  EXPECT_EQ(messages(parties, Party::kA, steps::kForwardProduct), 8U + 3 * kStepsPerEpoch);

  const lab::LocalModel beside(data_.joined.cols(), std::vector<std::size_t>{}, std::size_t{1});
  const torch::Tensor x = lab::features_tensor(data_.joined);
  {
    const torch::NoGradGuard no_grad;
    // The weights that the scores before come from: there are more rows than columns.
    beside->weight.copy_(std::get<0>(torch::linalg_lstsq(x, b.before.to(x.dtype()))));
  }
  lab::LocalModel trained = beside;
  lab::fit(trained, Family::kLogistic, data_.joined, options(way));
  const torch::Tensor expected = torch::mm(x, trained->weight) + trained->bias;
  EXPECT_LE(nn::largest_difference(b.after, expected), 1e-3);
  EXPECT_GT(nn::largest_difference(b.before, b.after), 0.05) << "it learns";
}

TEST(KeptProducts, MustBeWantedByBothParties) {
  const nn::VerticalData data(made_up::make_synthetic({.rows = 20, .columns_a = 3, .columns_b = 3}).joined, 3, kBatch);
  const testing::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  EXPECT_THROW(parties.run([&](Session& s) {
    nn::GeneralizedLinear model(s, data.shape);
    TrainOptions options{.epochs = 1, .batch = kBatch};
    options.keep_products = s.party() == Party::kA;
    fit(
        *model, [&](const data::Batch& x) { return model->forward(x); }, logistic_loss, data.at(s.party()), options);
  }),
               ConfigError);
}

TEST(KeptProducts, ServeALoopOfOnesOwn) {
  const nn::VerticalData data(made_up::make_synthetic({.rows = 20, .columns_a = 3, .columns_b = 3}).joined, 3, kBatch);
  const testing::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  const auto [a, b] = parties.run([&](Session& s) {
    nn::GeneralizedLinear model(s, data.shape);
    const data::RowsInMemory rows(data.at(s.party()));
    nn::keep_products(*model, rows);
    const std::vector<std::uint32_t> chosen{19, 2, 7};
    data::Batch batch = rows.batch(chosen, kBatch);
    const torch::Tensor made = model->forward(batch).detach();
    batch.numbers = chosen;
    const torch::Tensor picked = model->forward(batch).detach();
    batch.numbers.pop_back();
    EXPECT_THROW((void)model->forward(batch), InvalidArgument) << "a number for each row";
    return std::pair(made, picked);
  });
  EXPECT_LE(nn::largest_difference(b.first, b.second), 0x1p-15) << "a unit of the last place of Z";
  const auto& sent = parties.recording(Party::kB).sent();
  EXPECT_EQ(sent.at(steps::kForwardProduct).messages, 1U);
}

}  // namespace
}  // namespace blindfl::train::kept_products_test

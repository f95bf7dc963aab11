// What is predicted of a step's bytes with several A's, beside what crosses their links.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blindfl/app/plan/estimate.h"
#include "blindfl/app/torch/job_model.h"
#include "testing/several_parties.h"

namespace blindfl::app::planned_bytes_test {
namespace {

using protocol::Sessions;
using Place = std::optional<std::size_t>;

constexpr std::size_t kPeers = 3;
constexpr std::size_t kRows = 64;
constexpr std::size_t kBatch = 16;

/// What each A has, and B.
PartyShape shape_at(Place place) {
  PartyShape shape;
  shape.numeric = place ? 4 + 3 * *place : 5;
  shape.encoding = {.scale = 0, .largest = 1, .clip = false};
  return shape;
}

data::Dataset rows_at(Place place) {
  const std::size_t columns = shape_at(place).numeric;
  std::vector<double> values(kRows * columns);
  SeededRandom random(place.value_or(kPeers));
  for (double& value : values) value = static_cast<double>(random.next_u64() % 2);
  std::vector<double> labels(place ? 0 : kRows);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<double>(i % 2);
  return data::make_dataset(data::Table::dense(kRows, columns, std::move(values), std::move(labels)),
                            FixedPoint(shape_at(place).encoding));
}

/// Of a step, over one link: to A and to B.
struct Bytes {
  double to_a = 0;
  double to_b = 0;
};

TEST(PlannedBytes, OfThreeAsAreThoseThatTravelOverEachLink) {
  job::Shared shared;
  shared.model.kind = job::ModelKind::kLr;
  shared.model.top = protocol::Top::kOpen;
  shared.training.batch = kBatch;
  shared.training.epochs = 2;
  shared.training.test_share = 0;
  const ShapesOfA of_a({shape_at(0), shape_at(1), shape_at(2)}, testing::names_of_as(kPeers));
  const JobLayers layers = job_layers(shared, of_a, shape_at({}), kRows);
  const JobEstimate expected = estimate(layers, shared.scheme, job_link(shared.scheme));
  const auto schemes = job_schemes(shared.scheme);
  testing::SeveralParties parties(kPeers, pointers_to(schemes));
  std::vector<Bytes> measured(kPeers);
  const auto train = [&](const Sessions& sessions, Place place) {
    const JobModel model = make_model(sessions, shared.model, layers);
    const data::RowsInMemory rows(rows_at(place));
    train::TrainOptions options;
    options.epochs = layers.epochs;
    options.batch = kBatch;
    options.sgd = layers.sgd;
    train::Trainer trainer(*model.module, model.forward, job_loss(model, {}), rows, options);
    trainer.keep_products();
    (void)trainer.take_step();  // with the settings that are compared before it
    std::vector<Bytes> before(sessions.size());
    const auto look = [&](std::size_t peer) {
      const net::Channel& channel = sessions[peer].channel();
      return Bytes{static_cast<double>(net::total(channel.sent()).bytes),
                   static_cast<double>(net::total(channel.received()).bytes)};
    };
    for (std::size_t i = 0; i < sessions.size(); ++i) before[i] = look(i);
    const std::size_t steps = trainer.steps() - 1;
    while (!trainer.done()) (void)trainer.take_step();
    if (place) return;
    for (std::size_t i = 0; i < sessions.size(); ++i) {
      const Bytes after = look(i);
      measured[i] = {(after.to_a - before[i].to_a) / static_cast<double>(steps),
                     (after.to_b - before[i].to_b) / static_cast<double>(steps)};
    }
  };
  (void)parties.run([&](std::size_t place, protocol::Session& session) { train(Sessions(session), Place(place)); },
                    [&](const Sessions& sessions) { train(sessions, Place()); });
  Bytes sum;
  for (std::size_t i = 0; i < kPeers; ++i) {
    SCOPED_TRACE(testing::name_of_a(i));
    EXPECT_GT(measured[i].to_a, 1000);
    EXPECT_NEAR(measured[i].to_a / static_cast<double>(expected.per_pair.at(i).bytes_to_a), 1, 0.1);
    EXPECT_NEAR(measured[i].to_b / static_cast<double>(expected.per_pair.at(i).bytes_to_b), 1, 0.1);
    sum.to_a += measured[i].to_a;
    sum.to_b += measured[i].to_b;
  }
  EXPECT_NEAR(sum.to_a / static_cast<double>(expected.per_step.bytes_to_a), 1, 0.1) << "B's line has all";
  EXPECT_NEAR(sum.to_b / static_cast<double>(expected.per_step.bytes_to_b), 1, 0.1);
}

}  // namespace
}  // namespace blindfl::app::planned_bytes_test

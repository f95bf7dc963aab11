// Several A's take hardly longer than one: B works with all at the same time. Links are slow here and computing is next
// to nothing, so that time is that of messages one after the other.

#include <gtest/gtest.h>

#include <chrono>

#include "blindfl/nn/federated_optimizer.h"
#include "nn/peers_fixture.h"
#include "testing/late_transport.h"

namespace blindfl::nn::peers_time_test {
namespace {

using protocol::Sessions;
using Place = std::optional<std::size_t>;

constexpr std::size_t kBatch = 8;

struct Cost {
  double seconds = 0;  ///< of the quickest step: the one that nothing else disturbed
  std::uint64_t bytes = 0;
};

Cost cost_of_a_step(std::size_t peers, std::size_t threads) {
  testing::PlainScheme scheme;
  testing::SeveralParties parties(peers, {&scheme}, testing::Record::kNo, testing::SeveralParties::Masks::kAgreed,
                                  threads, [] { return testing::late_channels(std::chrono::milliseconds(8)); });
  const PeersData data({.columns_of_a = std::vector<std::size_t>(peers, 4),
                        .columns_of_b = 4,
                        .fields_of_a = std::vector<std::vector<CategoryField>>(peers, {{.name = "f", .categories = 5}}),
                        .fields_of_b = {{.name = "g", .categories = 5}},
                        .rows = kBatch,
                        .batch = kBatch});
  const auto train = [&](const Sessions& sessions, Place place) {
    MatMul wide(sessions, data.shapes(place), std::size_t{1});
    EmbedMatMul deep(sessions, data.categories_of(place), std::size_t{2});
    std::vector<FederatedParameter> parameters = wide->federated_parameters();
    for (const FederatedParameter& parameter : deep->federated_parameters()) parameters.push_back(parameter);
    FederatedOptimizer optimizer(parameters, {.learning_rate = 0.1});
    std::vector<std::uint32_t> rows(kBatch);
    for (std::uint32_t i = 0; i < kBatch; ++i) rows[i] = i;
    const data::Batch batch = data::make_batch(data.at(place), rows, kBatch);
    Cost cost{.seconds = 1e9};
    for (int step = 0; step < 5; ++step) {
      const std::uint64_t before = sessions.sent().bytes + sessions.received().bytes;
      const auto start = std::chrono::steady_clock::now();
      optimizer.zero_grad();
      (wide(batch).sum() + deep(batch).sum()).backward();
      optimizer.step();
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      if (step > 0) cost.seconds = std::min(cost.seconds, took.count());
      cost.bytes = sessions.sent().bytes + sessions.received().bytes - before;
    }
    return cost;
  };
  return parties
      .run([&](std::size_t place, Session& session) { return train(Sessions(session), Place(place)); },
           [&](const Sessions& sessions) { return train(sessions, Place()); })
      .second;
}

TEST(TimeOfAStep, WithThreeAsIsAboutThatWithOne) {
  for (const std::size_t threads : {1, 2}) {
    const Cost one = cost_of_a_step(1, threads);
    const Cost three = cost_of_a_step(3, threads);
    EXPECT_GE(one.seconds, 0.03) << "the links are not slow";
    EXPECT_LE(three.seconds, 1.3 * one.seconds) << threads << " threads";
    // B's fields are in its layer with the first A: the others have less.
    EXPECT_LE(three.bytes, 3 * one.bytes);
    EXPECT_GE(three.bytes, 2 * one.bytes);
  }
}

}  // namespace
}  // namespace blindfl::nn::peers_time_test

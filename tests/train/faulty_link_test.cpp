// A whole training run over a network that keeps failing: the same model, and ledgers that agree.

#include <gtest/gtest.h>

#include "blindfl/net/ledger/ledger.h"
#include "blindfl/net/ledger/ledger_comparison.h"
#include "blindfl/net/ledger/ledger_file.h"
#include "blindfl/train/trainer.h"
#include "nn/vertical_fixture.h"
#include "testing/fault_proxy.h"
#include "testing/links.h"
#include "testing/schemes.h"
#include "testing/scratch_folder.h"
#include "testing/steps.h"
#include "testing/two_parties.h"

namespace blindfl::train::faulty_link_test {
namespace {

using protocol::Party;
using protocol::Session;
using Role = net::GrpcOptions::Role;

constexpr std::size_t kColumns = 10;

/// Trains a logistic regression over the given link and returns B's scores of the training rows.
torch::Tensor train_over(testing::Channels channels, const testing::ScratchFolder& folder, const std::string& name) {
  const auto rows = made_up::make_synthetic({.rows = 1280, .columns_a = kColumns, .columns_b = kColumns, .seed = 5});
  const auto split = made_up::vertical_split(rows.joined, kColumns);
  channels.first->write_ledger(std::make_unique<net::Ledger>(folder / (name + "_a"), net::LedgerHead{"A", name}));
  channels.second->write_ledger(std::make_unique<net::Ledger>(folder / (name + "_b"), net::LedgerHead{"B", name}));
  net::Channel* const ends[] = {channels.first.get(), channels.second.get()};
  const he::LatticeScheme scheme;
  testing::TwoParties parties(scheme, std::move(channels), testing::Record::kNo);
  const auto [at_a, at_b] = parties.run([&](Session& session) {
    const nn::FeatureShape shape{.in_a = kColumns, .in_b = kColumns, .batch = 64};
    torch::manual_seed(1);
    nn::GeneralizedLinear model(session, shape);
    const auto forward = [&](const data::Batch& x) { return model->forward(x); };
    const auto mine =
        data::make_dataset(session.party() == Party::kA ? split.a : split.b, FixedPoint(shape.features_a));
    fit(*model, forward,
        [](const torch::Tensor& scores, const torch::Tensor& labels) {
          return nn::loss(nn::Family::kLogistic, scores, labels);
        },
        mine, {.epochs = 8, .batch = 64, .sgd = {.learning_rate = 0.05, .momentum = 0.9}});
    return score(forward, mine, 64);
  });
  for (net::Channel* end : ends) end->close_ledger();
  return at_b;
}

TEST(FaultyLink, TrainsTheSameModelThroughHundredsOfCuts) {
  const testing::ScratchFolder folder;
  const torch::Tensor undisturbed = train_over(net::make_memory_channels(), folder, "calm");

  const auto options = [](Role role, const std::string& address) {
    net::GrpcOptions options = testing::tls_options(role, address);
    options.patience = std::chrono::seconds(60);
    return options;
  };
  const auto listener = std::make_shared<net::GrpcTransport>(options(Role::kListen, "127.0.0.1:0"));
  testing::FaultProxy network(listener->port(), 11);
  network.cut_every(200'000);
  const auto dialer = std::make_shared<net::GrpcTransport>(options(Role::kDial, network.address()));
  const torch::Tensor disturbed =
      train_over({std::make_unique<net::Channel>(listener), std::make_unique<net::Channel>(dialer)}, folder, "rough");

  std::cout << network.cuts() << " cuts\n";
  EXPECT_GE(network.cuts(), 200);
  // Masks are fresh in each run, so roundings differ: a unit of the opened Z, 2^-16, and what it does to the weights.
  EXPECT_LT((undisturbed - disturbed).abs().max().item<double>(), 1e-3);
  const net::LedgerComparison comparison = net::compare(net::read_ledger(folder / "rough_a", testing::all_steps()),
                                                        net::read_ledger(folder / "rough_b", testing::all_steps()));
  EXPECT_TRUE(comparison.same()) << comparison.first_to_second.difference << comparison.second_to_first.difference;
}

}  // namespace
}  // namespace blindfl::train::faulty_link_test

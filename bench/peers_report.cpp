#include "peers_report.h"

#include <chrono>
#include <future>
#include <iomanip>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "blindfl/data/batches.h"
#include "blindfl/nn/federated_optimizer.h"
#include "blindfl/nn/models.h"
#include "blindfl/protocol/session/mask_agreement.h"
#include "blindfl/protocol/session/peer.h"
#include "made_up/synthetic.h"
#include "made_up/vertical_split.h"
#include "testing/late_transport.h"
#include "testing/plain/plain_scheme.h"
#include "timing.h"

namespace blindfl::bench {

namespace {

using protocol::Party;
using protocol::Peer;
using protocol::Sessions;

constexpr std::size_t kBatch = 128;
constexpr std::size_t kColumns = 30;  // of each party
constexpr std::size_t kSteps = 12;
constexpr std::chrono::milliseconds kDelay{10};

struct StepOf {
  double milliseconds = 0;
  double kilobytes = 0;  ///< both ways, at B
};

/// Steps of a logistic regression at one party.
StepOf train(const Sessions& sessions, const nn::FeatureShape& shape, const data::Dataset& rows) {
  nn::GeneralizedLinear model(sessions, shape);
  nn::FederatedOptimizer optimizer(*model, {.learning_rate = 0.01, .momentum = 0.9});
  std::vector<std::uint32_t> chosen(kBatch);
  for (std::uint32_t i = 0; i < kBatch; ++i) chosen[i] = i;
  const data::Batch batch = data::make_batch(rows, chosen, kBatch);
  Stopwatch watch;
  std::uint64_t before = 0;
  const auto bytes = [&] { return sessions.sent().bytes + sessions.received().bytes; };
  for (std::size_t step = 0; step < kSteps; ++step) {
    if (step == 1) {  // the first also agrees on settings
      before = bytes();
      watch = Stopwatch();
    }
    optimizer.zero_grad();
    model->forward(batch).sum().backward();
    optimizer.step();
    watch.lap();
  }
  return {watch.median_lap(), static_cast<double>(bytes() - before) / 1e3 / (kSteps - 1)};
}

StepOf measure(std::size_t peers) {
  const testing::PlainScheme scheme;
  std::vector<net::Identity> identities;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < peers; ++i) {
    names.emplace_back("a").append(std::to_string(i + 1));
    identities.push_back(net::generate_identity(names.back(), 1));
  }
  const std::string certificate_of_b = net::generate_identity("b", 1).certificate;
  nn::FeatureShape shape{.in_a = kColumns, .in_b = kColumns, .batch = kBatch};
  shape.in_others = (peers - 1) * kColumns;
  const auto split = made_up::vertical_split(
      made_up::make_synthetic({.rows = kBatch, .columns_a = kColumns, .columns_b = kColumns}).joined, kColumns);
  const data::Dataset of_a = data::make_dataset(split.a, FixedPoint(shape.features_a));
  const data::Dataset of_b = data::make_dataset(split.b, FixedPoint(shape.features_b));

  std::vector<std::future<StepOf>> others;
  std::vector<std::shared_ptr<net::Channel>> links;
  for (std::size_t i = 0; i < peers; ++i) {
    auto ends = testing::late_channels(kDelay);
    links.push_back(std::move(ends.second));
    others.push_back(
        std::async(std::launch::async, [&, i, link = std::shared_ptr<net::Channel>(std::move(ends.first))] {
          Peer b(Party::kA, link, he::borrowed({&scheme}));
          protocol::MaskParty me{.run = "bench",
                                 .name = names[i],
                                 .identity = std::make_shared<protocol::LinkIdentity>(identities[i]),
                                 .b = certificate_of_b};
          for (std::size_t j = 0; j < peers; ++j) {
            if (j != i) me.others.push_back({names[j], identities[j].certificate});
          }
          protocol::agree_on_masks(b.session(), me);
          return train(b.session(), shape, of_a);
        }));
  }
  std::vector<std::unique_ptr<Peer>> as;
  std::vector<protocol::Session*> sessions;
  for (std::size_t i = 0; i < peers; ++i) {
    as.push_back(std::make_unique<Peer>(Party::kB, links[i], he::borrowed({&scheme}),
                                        protocol::SessionOptions{.peer_name = names[i]}));
    sessions.push_back(&as.back()->session());
  }
  protocol::agree_on_masks(Sessions(sessions), "bench", names);
  const StepOf result = train(Sessions(sessions), shape, of_b);
  for (auto& other : others) (void)other.get();
  return result;
}

}  // namespace

void report_peers(const PeersOptions& options) {
  torch::set_num_threads(1);
  if (!options.json) {
    std::cout << "logistic regression, batch " << kBatch << ", " << kColumns << " columns at each party; every message "
              << kDelay.count() << " ms under way, nothing encrypted; median of " << kSteps - 1
              << " steps\nA's    ms/step  of one A   kB/step\n";
  }
  double one = 0;
  for (const std::size_t peers : {1, 2, 3, 5}) {
    const StepOf step = measure(peers);
    if (peers == 1) one = step.milliseconds;
    if (options.json) {
      std::cout << R"({"peers":)" << peers << R"(,"ms":)" << step.milliseconds << R"(,"kb":)" << step.kilobytes
                << "}\n";
      continue;
    }
    std::cout << std::left << std::setw(5) << peers << std::right << std::fixed << std::setprecision(1) << std::setw(9)
              << step.milliseconds << std::setprecision(2) << std::setw(10) << step.milliseconds / one
              << std::setprecision(1) << std::setw(10) << step.kilobytes << std::endl;
  }
}

}  // namespace blindfl::bench

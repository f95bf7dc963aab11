// The ledgers of a real training step: both parties' say the same, and all of it.

#include "blindfl/net/ledger/ledger.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "blindfl/net/ledger/ledger_comparison.h"
#include "blindfl/net/ledger/ledger_file.h"
#include "protocol/matmul_fixture.h"
#include "testing/scratch_folder.h"
#include "testing/steps.h"

namespace blindfl::protocol::ledger_test {
namespace {

using net::Step;

constexpr std::size_t kBatch = 16;
constexpr std::size_t kInA = 5;
constexpr std::size_t kInB = 3;
constexpr std::size_t kOut = 2;

class LedgersOfAStep : public ::testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] std::filesystem::path path(Party party) const { return folder_ / (party == Party::kA ? "a" : "b"); }

  /// A small capacity makes the parties send and receive in two threads each.
  [[nodiscard]] testing::Channels channels(std::uint64_t capacity) const {
    auto ends = net::make_memory_channels(capacity);
    ends.first->write_ledger(std::make_unique<net::Ledger>(path(Party::kA), net::LedgerHead{"A", ""}));
    ends.second->write_ledger(std::make_unique<net::Ledger>(path(Party::kB), net::LedgerHead{"B", ""}));
    return ends;
  }

  /// Forward, opening, backward; then the ledgers are closed and what each channel counted is kept.
  void run_step(std::uint64_t capacity) {
    const auto scheme = testing::make_scheme(GetParam());
    testing::TwoParties parties(*scheme, channels(capacity), testing::Record::kNo);
    const MatMulSpec spec = small_spec(kInA, kInB, kOut, kBatch);
    SeededRandom random(1);
    const Derivative derivative = random_derivative(spec, random);
    const IntMatrix x_a = random_features(spec.features_a, IntMatrix::Kind::kDense, kBatch, kInA, random);
    const IntMatrix x_b = random_features(spec.features_b, IntMatrix::Kind::kCsr, kBatch, kInB, random);
    parties.run([&](Session& session) {
      const bool at_a = session.party() == Party::kA;
      MatMul layer(session, spec);
      const OutputShare share = layer.forward(at_a ? x_a : x_b);
      (void)open_output(session, layer.layer(), round_output(share, spec.output_scale));
      (void)layer.backward(at_a ? x_a : x_b, at_a ? absent_derivative(kBatch, kBatch) : derivative);
    });
    for (const Party party : {Party::kA, Party::kB}) {
      net::Channel& channel = parties.session(party).channel();
      channel.close_ledger();
      sent_[party] = channel.sent();
      received_[party] = channel.received();
    }
  }

  testing::ScratchFolder folder_;
  std::map<Party, std::map<Step, net::Traffic>> sent_;
  std::map<Party, std::map<Step, net::Traffic>> received_;
};

TEST_P(LedgersOfAStep, AgreeAndHaveEveryMessage) {
  for (const std::uint64_t capacity : {std::numeric_limits<std::uint64_t>::max(), std::uint64_t{1000}}) {
    run_step(capacity);
    const net::LedgerFile a = net::read_ledger(path(Party::kA), testing::all_steps());
    const net::LedgerFile b = net::read_ledger(path(Party::kB), testing::all_steps());
    const net::LedgerComparison comparison = net::compare(a, b);
    EXPECT_TRUE(comparison.same()) << comparison.first_to_second.difference << comparison.second_to_first.difference;
    EXPECT_EQ(a.sent.hash, b.received.hash);
    EXPECT_EQ(b.sent.hash, a.received.hash);
    for (const Party party : {Party::kA, Party::kB}) {
      for (const net::StepTotals& totals : net::audit(party == Party::kA ? a : b)) {
        EXPECT_EQ(totals.sent, sent_[party][totals.step]) << name_of(totals.step);
        EXPECT_EQ(totals.received, received_[party][totals.step]) << name_of(totals.step);
      }
      EXPECT_EQ((party == Party::kA ? a : b).sent.traffic, total(sent_[party]));
      EXPECT_EQ((party == Party::kA ? a : b).received.traffic, total(received_[party]));
      std::filesystem::remove(path(party));
    }
  }
}

TEST_P(LedgersOfAStep, KnowTheShapesOfWhatTravelled) {
  run_step(std::numeric_limits<std::uint64_t>::max());
  const auto shapes = [](const net::LedgerChain& chain) {
    std::vector<std::pair<Step, std::string>> list;
    for (const net::LedgerEntry& entry : chain.entries) {
      list.emplace_back(entry.message.step, net::shape_text(entry.message));
    }
    return list;
  };
  const std::vector<std::pair<Step, std::string>> sent_by_a = {
      {steps::kHello, "-"},
      {steps::kPublicKey, "-"},
      {steps::kAgreement, "-"},
      {steps::kForwardOperand, "3x2"},
      {steps::kForwardProduct, "16x2"},
      {steps::kOutputShare, "16x2"},
      {steps::kGradientProduct, "5x2"},
  };
  const std::vector<std::pair<Step, std::string>> sent_by_b = {
      {steps::kHello, "-"},
      {steps::kPublicKey, "-"},
      {steps::kAgreement, "-"},
      {steps::kForwardOperand, "5x2"},
      {steps::kForwardProduct, "16x2"},
      {steps::kDerivativeOperand, "16x2"},
  };
  // Keys of schemes with several sets come when they are first used: the traces have them in their order.
  const auto without_keys = [&](std::vector<std::pair<Step, std::string>> list) {
    if (testing::make_scheme(GetParam())->key_sets().size() > 1)
      std::erase(list, std::pair(Step(steps::kPublicKey), std::string("-")));
    return list;
  };
  EXPECT_EQ(without_keys(shapes(net::read_ledger(path(Party::kA), testing::all_steps()).sent)),
            without_keys(sent_by_a));
  EXPECT_EQ(without_keys(shapes(net::read_ledger(path(Party::kB), testing::all_steps()).sent)),
            without_keys(sent_by_b));
}

INSTANTIATE_TEST_SUITE_P(Schemes, LedgersOfAStep, ::testing::ValuesIn(testing::scheme_names()),
                         [](const auto& scheme) { return scheme.param; });

}  // namespace
}  // namespace blindfl::protocol::ledger_test

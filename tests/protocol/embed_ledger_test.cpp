// The ledgers of an Embed-MatMul layer's training step: both parties' say the same, and have every message by the name
// of its step, in the order in which it was sent.

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "blindfl/net/ledger/ledger.h"
#include "blindfl/net/ledger/ledger_comparison.h"
#include "blindfl/net/ledger/ledger_file.h"
#include "protocol/embed_fixture.h"
#include "testing/scratch_folder.h"
#include "testing/steps.h"

namespace blindfl::protocol::embed_ledger_test {
namespace {

constexpr std::size_t kBatch = 4;
constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

/// Two fields of A's and one of B's; the second of A's can be updated under encryption.
EmbedMatMulSpec make_spec(bool encrypted) {
  EmbedMatMulSpec spec;
  spec.fields_a = {{.field = {.name = "a0", .categories = 7}}, {.field = {.name = "a1", .categories = 5, .most = 2}}};
  spec.fields_b = {{.field = {.name = "b0", .categories = 3}}};
  if (encrypted) spec.fields_a[1].update = Update::kEncrypted;
  spec.dimension = 2;
  spec.out = 3;
  spec.batch = kBatch;
  spec.sgd = {.learning_rate = 0.1, .steps = 10};
  return spec;
}

/// Step, layer and shape of each message, in words.
using Lines = std::vector<std::string>;

class EmbedLedgers : public ::testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] std::filesystem::path path(Party party) const { return folder_ / (party == Party::kA ? "a" : "b"); }

  /// A training step, then a forward pass. A small capacity makes the parties send and receive in two threads each.
  void run(const EmbedMatMulSpec& spec, std::uint64_t capacity) {
    auto channels = net::make_memory_channels(capacity);
    channels.first->write_ledger(std::make_unique<net::Ledger>(path(Party::kA), net::LedgerHead{"A", ""}));
    channels.second->write_ledger(std::make_unique<net::Ledger>(path(Party::kB), net::LedgerHead{"B", ""}));
    testing::TwoParties parties(*scheme_, std::move(channels), testing::Record::kNo);
    SeededRandom random(1);
    const auto x_a = random_categories(spec.fields_a, kBatch, random);
    const auto x_b = random_categories(spec.fields_b, kBatch, random);
    const Derivative derivative = random_derivative(spec, random);
    parties.run([&](Session& session) {
      const bool at_a = session.party() == Party::kA;
      EmbedMatMul layer(session, spec);
      const auto forward = [&] {
        EmbedMatMul::Forward result = layer.forward(at_a ? x_a : x_b, kBatch);
        (void)open_output(session, layer.layer(), round_output(result.output, spec.output_scale));
        return result.pass;
      };
      const EmbedPass pass = forward();
      take_step(layer, layer.backward(pass, at_a ? absent_derivative(kBatch, kBatch) : derivative), 0.1 / kBatch);
      (void)forward();
    });
    for (const Party party : {Party::kA, Party::kB}) parties.session(party).channel().close_ledger();
  }
  [[nodiscard]] Lines sent(Party party) const {
    Lines lines;
    for (const net::LedgerEntry& entry : net::read_ledger(path(party), testing::all_steps()).sent.entries) {
      const net::Message& m = entry.message;
      lines.push_back(std::string(net::name_of(m.step)) + " " + std::to_string(m.layer) + " " + net::shape_text(m));
    }
    return lines;
  }
  /// Of a piece of the weights, which is cut into limbs: as many as the scheme likes best.
  [[nodiscard]] std::string weights(const EmbedMatMulSpec& spec) const {
    const EmbedMatMulParams params(spec);
    return std::to_string(params.choose_limbs(*scheme_).count * params.inputs()) + "x3";
  }

  testing::ScratchFolder folder_;
  std::unique_ptr<he::Scheme> scheme_ = testing::make_scheme(GetParam());
};

/// The layer is number 0, its tables 1 to 3.
TEST_P(EmbedLedgers, HaveEveryMessageOfAStepInItsOrder) {
  const EmbedMatMulSpec spec = make_spec(/*encrypted=*/false);
  run(spec, kUnlimited);
  const Lines by_a = {
      "hello 0 -",
      "public key 0 -",
      "agreement 0 -",
      "table operand 3 3x2",
      "weight operand 0 " + weights(spec),
      "lookup product 1 4x2",
      "piece correction 1 4x2",
      "lookup product 2 4x2",
      "piece correction 2 4x2",
      "embedding product 0 4x3",
      "output share 0 4x3",
      "embedding operand 0 4x6",
      "backward operand 0 3x6",
      "derivative share 3 4x2",
      "table gradient 1 7x2",
      "table gradient 2 5x2",
      "table operand 3 3x2",
      "weight operand 0 " + weights(spec),
      "lookup product 1 4x2",
      "piece correction 1 4x2",
      "lookup product 2 4x2",
      "piece correction 2 4x2",
      "embedding product 0 4x3",
      "output share 0 4x3",
  };
  const Lines by_b = {
      "hello 0 -",
      "public key 0 -",
      "agreement 0 -",
      "table operand 1 7x2",
      "table operand 2 5x2",
      "weight operand 0 " + weights(spec),
      "lookup product 3 4x2",
      "piece correction 3 4x2",
      "embedding product 0 4x3",
      "weight gradient 0 3x6",
      "embedding derivative 0 4x6",
      "derivative share 1 4x2",
      "derivative share 2 4x2",
      "table gradient 3 3x2",
      "table operand 1 7x2",
      "table operand 2 5x2",
      "weight operand 0 " + weights(spec),
      "lookup product 3 4x2",
      "piece correction 3 4x2",
      "embedding product 0 4x3",
  };
  // Keys of schemes with several sets come when they are first used: the traces have them in their order.
  const auto without_keys = [&](Lines lines) {
    if (scheme_->key_sets().size() == 1) return lines;
    std::erase_if(lines, [](const std::string& line) { return line.starts_with("public key"); });
    return lines;
  };
  EXPECT_EQ(without_keys(sent(Party::kA)), without_keys(by_a));
  EXPECT_EQ(without_keys(sent(Party::kB)), without_keys(by_b));
}

TEST_P(EmbedLedgers, HaveNoOperandOrGradientOfATableThatIsUpdatedUnderEncryption) {
  if (GetParam() != "paillier") return;
  const EmbedMatMulSpec spec = make_spec(/*encrypted=*/true);
  run(spec, kUnlimited);
  const Lines by_a = {
      "hello 0 -",
      "public key 0 -",
      "agreement 0 -",
      "table operand 3 3x2",
      "weight operand 0 " + weights(spec),
      "lookup product 1 4x2",
      "piece correction 1 4x2",
      "lookup product 2 4x2",
      "piece correction 2 4x2",
      "embedding product 0 4x3",
      "output share 0 4x3",
      "embedding operand 0 4x6",
      "backward operand 0 3x6",
      "derivative share 3 4x2",
      "table gradient 1 7x2",
      "table operand 3 3x2",
      "weight operand 0 " + weights(spec),
      "lookup product 1 4x2",
      "piece correction 1 4x2",
      "lookup product 2 4x2",
      "piece correction 2 4x2",
      "embedding product 0 4x3",
      "output share 0 4x3",
  };
  const Lines by_b = {
      "hello 0 -",
      "public key 0 -",
      "agreement 0 -",
      "table operand 1 7x2",
      "weight operand 0 " + weights(spec),
      "lookup product 3 4x2",
      "piece correction 3 4x2",
      "embedding product 0 4x3",
      "weight gradient 0 3x6",
      "embedding derivative 0 4x6",
      "derivative share 1 4x2",
      "derivative share 2 4x2",
      "table gradient 3 3x2",
      "table operand 1 7x2",
      "weight operand 0 " + weights(spec),
      "lookup product 3 4x2",
      "piece correction 3 4x2",
      "embedding product 0 4x3",
  };
  EXPECT_EQ(sent(Party::kA), by_a);
  EXPECT_EQ(sent(Party::kB), by_b);
}

TEST_P(EmbedLedgers, AgreeAlsoWhereSendingAndReceivingAreTwoThreads) {
  for (const std::uint64_t capacity : {kUnlimited, std::uint64_t{1000}}) {
    run(make_spec(/*encrypted=*/GetParam() == "paillier"), capacity);
    const net::LedgerFile a = net::read_ledger(path(Party::kA), testing::all_steps());
    const net::LedgerFile b = net::read_ledger(path(Party::kB), testing::all_steps());
    const net::LedgerComparison comparison = net::compare(a, b);
    EXPECT_TRUE(comparison.same()) << comparison.first_to_second.difference << comparison.second_to_first.difference;
    EXPECT_TRUE(a.closed && b.closed);
    EXPECT_EQ(a.sent.hash, b.received.hash);
    EXPECT_EQ(b.sent.hash, a.received.hash);
    for (const Party party : {Party::kA, Party::kB}) std::filesystem::remove(path(party));
  }
}

INSTANTIATE_TEST_SUITE_P(Schemes, EmbedLedgers, ::testing::ValuesIn(testing::scheme_names()),
                         [](const auto& scheme) { return scheme.param; });

}  // namespace
}  // namespace blindfl::protocol::embed_ledger_test

// What travels while a model trains: shares, and numbers less masks. Features, labels and weights are as far from
// random as can be; all that either party sees of them is uniform, as many bytes whatever they are, and others each
// time.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <span>
#include <string_view>

#include "blindfl/lab/secureml/model.h"
#include "blindfl/lab/secureml/steps.h"
#include "blindfl/mpc/steps.h"
#include "blindfl/protocol/session/steps.h"
#include "lab/secureml/ways.h"
#include "testing/uniformity.h"

namespace blindfl::lab::secureml::secrecy_test {
namespace {

constexpr std::size_t kRows = 64;
constexpr std::size_t kOfA = 20;
constexpr std::size_t kOfB = 24;
constexpr std::size_t kFeatures = kOfA + kOfB;
constexpr std::size_t kOutputs = 4;
constexpr std::size_t kSteps = 4;

Words constant(std::size_t rows, std::size_t cols, double value) {
  return encode(rows, cols, std::vector<double>(rows * cols, value));
}

/// A linear model on features and labels that are all `value`.
void train(TripletParties& parties, double value) {
  (void)parties.run([&](protocol::Session& session, TripletSource& source) {
    const bool at_a = session.party() == Party::kA;
    Words features = share_columns(session, constant(kRows, at_a ? kOfA : kOfB, value), at_a ? kOfB : kOfA);
    Words labels = at_a ? share_of_b(session, kRows, kOutputs) : share_of_b(session, constant(kRows, kOutputs, value));
    std::vector<Words> weights;
    weights.push_back(at_a ? share_of_b(session, kFeatures, kOutputs)
                           : share_of_b(session, constant(kFeatures, kOutputs, value)));
    Model model(session, source, {.widths = {kFeatures, kOutputs}, .output = Output::kScores, .rate_bits = 10},
                std::move(features), std::move(labels), std::move(weights));
    const std::vector<std::uint32_t> rows = all_rows(kRows);
    for (std::size_t i = 0; i < kSteps; ++i) model.step(rows);
  });
}

std::vector<std::uint64_t> words_in(const std::vector<Bytes>& payloads, std::size_t skipped = 0) {
  std::vector<std::uint64_t> words;
  for (const Bytes& payload : payloads) {
    const std::size_t old = words.size();
    words.resize(old + (payload.size() - skipped) / 8);
    std::memcpy(words.data() + old, payload.data() + skipped, 8 * (words.size() - old));
  }
  return words;
}

/// All differences from masks as both parties see them: opened.
std::vector<std::uint64_t> opened_in(const TripletParties& parties) {
  std::vector<std::uint64_t> sum = words_in(parties.sent(Party::kA, steps::kMatrixDifference));
  const std::vector<std::uint64_t> of_b = words_in(parties.sent(Party::kB, steps::kMatrixDifference));
  EXPECT_EQ(sum.size(), of_b.size());
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += of_b[i];
  return sum;
}

bool uniform(const std::vector<std::uint64_t>& words) {
  return testing::looks_uniform<std::uint64_t>(words);
}

class Secrecy : public ::testing::TestWithParam<Triplets> {};

TEST_P(Secrecy, OfWhatIsSharedAndOpened) {
  TripletParties parties(GetParam());
  train(parties, 0.5);
  for (const Party party : {Party::kA, Party::kB}) {
    EXPECT_TRUE(uniform(words_in(parties.sent(party, steps::kMatrixDifference))));
  }
  EXPECT_TRUE(uniform(words_in(parties.sent(Party::kB, steps::kInputShare))));
  EXPECT_TRUE(uniform(words_in(parties.sent(Party::kA, steps::kInputShare))));
  // The features once; in each step the weights, and the derivatives.
  const std::vector<std::uint64_t> opened = opened_in(parties);
  EXPECT_EQ(opened.size(), kRows * kFeatures + kSteps * (kFeatures + kRows) * kOutputs);
  EXPECT_TRUE(uniform(opened));
  // From step to step all weights change alike: under the same masks so would what is opened.
  const std::size_t step = (kFeatures + kRows) * kOutputs;
  std::vector<std::uint64_t> changes(step * (kSteps - 1));
  for (std::size_t i = 0; i < changes.size(); ++i) {
    changes[i] = opened[kRows * kFeatures + step + i] - opened[kRows * kFeatures + i];
  }
  EXPECT_TRUE(uniform(changes));
}

TEST_P(Secrecy, OfTriplets) {
  TripletParties parties(GetParam());
  train(parties, 0.5);
  if (GetParam() == Triplets::kThirdParty) {
    EXPECT_TRUE(uniform(words_in(parties.dealt(Party::kB, steps::kDealtCorrection))));
    std::set<Bytes> seeds;
    for (const Party party : {Party::kA, Party::kB}) {
      for (const Bytes& seed : parties.dealt(party, steps::kDealtSeed)) {
        EXPECT_TRUE(seeds.insert(seed).second) << "a seed was dealt twice";
      }
    }
    EXPECT_EQ(seeds.size(), 2 * (1 + 2 * kSteps));
    return;
  }
  for (const Party party : {Party::kA, Party::kB}) {
    if (GetParam() == Triplets::kObliviousTransfer) {
      EXPECT_TRUE(uniform(words_in(parties.sent(party, steps::kWordChoices), ot::MaterialTag::kBytes)));
      EXPECT_TRUE(uniform(words_in(parties.sent(party, steps::kWordProducts))));
      continue;
    }
    // That ciphertexts hide is tested with the scheme: here, that none comes twice.
    for (const net::Step kind : {net::Step(steps::kTripletOperand), net::Step(steps::kTripletProduct)}) {
      const std::vector<Bytes> sent = parties.sent(party, kind);
      EXPECT_EQ(sent.size(), 2 * kSteps);
      EXPECT_EQ(std::set<Bytes>(sent.begin(), sent.end()).size(), sent.size());
    }
  }
}

TEST_P(Secrecy, MessagesAreAsManyAndAsLongWhateverTheValues) {
  TripletParties zeros(GetParam());
  TripletParties others(GetParam());
  train(zeros, 0);
  train(others, 1.75);
  for (const Party party : {Party::kA, Party::kB}) EXPECT_EQ(zeros.headers(party), others.headers(party));
}

TEST_P(Secrecy, TheSameInputsMakeUnrelatedMessages) {
  TripletParties first(GetParam());
  TripletParties second(GetParam());
  train(first, 0.5);
  train(second, 0.5);
  for (const Party party : {Party::kA, Party::kB}) {
    for (const net::Step kind : {net::Step(steps::kInputShare), net::Step(steps::kMatrixDifference)}) {
      std::vector<std::uint64_t> differences = words_in(first.sent(party, kind));
      const std::vector<std::uint64_t> others = words_in(second.sent(party, kind));
      ASSERT_EQ(differences.size(), others.size());
      for (std::size_t i = 0; i < others.size(); ++i) differences[i] -= others[i];
      EXPECT_TRUE(uniform(differences));
    }
  }
  std::vector<std::uint64_t> differences = opened_in(first);
  const std::vector<std::uint64_t> others = opened_in(second);
  for (std::size_t i = 0; i < others.size(); ++i) differences[i] -= others[i];
  EXPECT_TRUE(uniform(differences));
}

TEST_P(Secrecy, NothingTravelsButWhatIsNamed) {
  TripletParties parties(GetParam());
  train(parties, 0.5);
  std::set<std::uint16_t> known;
  for (const net::Step step : steps::kAll) known.insert(step.number());
  for (const net::Step step : protocol::steps::kOfSession) known.insert(step.number());
  for (const Party party : {Party::kA, Party::kB}) {
    for (const net::Message& message : parties.headers(party)) {
      EXPECT_TRUE(known.contains(message.step.number())) << message.step.number();
    }
  }
  for (const net::Step step : steps::kAll) {
    EXPECT_NE(net::describe(step).contains.find("andom"), std::string_view::npos) << net::name_of(step);
  }
}

/// A perceptron with two hidden layers and sigmoids: comparisons, selections and masks of hidden layers, too.
void train_network(TripletParties& parties, double value) {
  (void)parties.run([&](protocol::Session& session, TripletSource& source) {
    const bool at_a = session.party() == Party::kA;
    Words features = share_columns(session, constant(kRows, at_a ? kOfA : kOfB, value), at_a ? kOfB : kOfA);
    Words labels = at_a ? share_of_b(session, kRows, kOutputs) : share_of_b(session, constant(kRows, kOutputs, value));
    const std::vector<std::size_t> widths{kFeatures, 8, 6, kOutputs};
    std::vector<Words> weights;
    for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
      weights.push_back(at_a ? share_of_b(session, widths[i], widths[i + 1])
                             : share_of_b(session, constant(widths[i], widths[i + 1], value / 4)));
    }
    Model model(session, source, {.widths = widths, .output = Output::kPiecewiseSigmoid, .rate_bits = 10},
                std::move(features), std::move(labels), std::move(weights));
    const std::vector<std::uint32_t> rows = all_rows(kRows);
    for (std::size_t i = 0; i < 2 * kSteps; ++i) model.step(rows);
    (void)model.predict(rows);
  });
}

// Of what the parties send each other, all but ciphertexts, and random OTs, which are tested by themselves, is uniform
// bytes; and nothing opens a value.
TEST_P(Secrecy, OfAllThatAPerceptronSends) {
  TripletParties parties(GetParam());
  train_network(parties, 0.5);
  const net::StepTable known = {protocol::steps::kOfSession, mpc::steps::kAll, steps::kAll};
  const net::StepTable computing = {mpc::steps::kAll, steps::kAll};
  for (const Party party : {Party::kA, Party::kB}) {
    std::map<net::Step, std::vector<std::uint8_t>> bytes;
    std::set<net::Step> others;
    for (const net::Message& message : parties.headers(party)) {
      const net::Step step = known.known(message.step);
      ASSERT_NE(step.info(), nullptr) << message.step.number() << " is not named";
      if (bytes.contains(step) || others.contains(step)) continue;
      if (net::describe(step).protection != net::Protection::kPadded || computing.known(step).info() == nullptr) {
        others.insert(step);
        continue;
      }
      for (const Bytes& payload : parties.sent(party, step)) {
        for (const std::byte b : payload) bytes[step].push_back(std::to_integer<std::uint8_t>(b));
      }
    }
    EXPECT_TRUE(bytes.contains(mpc::steps::kComparison)) << "ReLU and sigmoid compare";
    EXPECT_TRUE(bytes.contains(mpc::steps::kSelection));
    EXPECT_TRUE(bytes.contains(steps::kMatrixDifference));
    for (const auto& [step, all] : bytes) {
      EXPECT_TRUE(testing::looks_uniform(std::span<const std::uint8_t>(all)))
          << name_of(party) << ' ' << net::name_of(step) << ", bytes: " << all.size();
    }
    for (const net::Step step : others) {
      const bool opens = net::describe(step).protection == net::Protection::kShare;
      EXPECT_TRUE(!opens || step == net::Step(steps::kDealtCorrection)) << name_of(party) << ' ' << net::name_of(step);
    }
  }
  EXPECT_TRUE(uniform(opened_in(parties)));
}

INSTANTIATE_TEST_SUITE_P(Ways, Secrecy, ::testing::ValuesIn(kWays), way_name);

/// Triplets of zeros: products are as right as ever, and nothing is hidden.
class NoMasks final : public TripletSource {
 public:
  [[nodiscard]] LeftMask mask(std::size_t rows, std::size_t cols) override { return {0, Words(rows, cols)}; }
  [[nodiscard]] Triplet triplet(const TripletSpec& spec) override {
    return {Words(spec.inner(), spec.cols), Words(spec.result_rows(), spec.cols)};
  }
};

TEST(SecrecyControl, WithoutMasksWhatIsOpenedIsNotUniform) {
  TripletParties parties(Triplets::kObliviousTransfer);
  const auto [a, b] = parties.run([&](protocol::Session& session, TripletSource&) {
    NoMasks none;
    const bool at_a = session.party() == Party::kA;
    Products products(session, none);
    const LeftMatrix left = products.left(share_columns(session, constant(64, 24, 0.5), 24));
    const Words right = at_a ? share_of_b(session, 48, 4) : share_of_b(session, constant(48, 4, 0.5));
    return products.product(left, Form::kPlain, right);
  });
  EXPECT_EQ(a + b, plain_product(constant(64, 48, 0.5), constant(48, 4, 0.5)));
  EXPECT_TRUE(uniform(words_in(parties.sent(Party::kA, steps::kMatrixDifference)))) << "a share by itself is";
  EXPECT_FALSE(uniform(opened_in(parties)));
}

}  // namespace
}  // namespace blindfl::lab::secureml::secrecy_test

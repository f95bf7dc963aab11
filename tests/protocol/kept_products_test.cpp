// Products that training does not change, X_B V_B, made once for all training rows.

#include "blindfl/protocol/layers/kept_products.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <numeric>

#include "blindfl/base/error.h"
#include "blindfl/protocol/plan/layer_cost.h"
#include "blindfl/share/products.h"
#include "protocol/matmul_fixture.h"
#include "testing/scratch_folder.h"
#include "testing/shares.h"
#include "testing/steps.h"
#include "testing/tampering_transport.h"
#include "testing/thrown.h"

namespace blindfl::protocol::kept_products_test {
namespace {

using ::testing::HasSubstr;
using Kind = IntMatrix::Kind;
using Numbers = std::vector<std::uint32_t>;

constexpr std::size_t kRows = 37;
constexpr std::size_t kBatch = 8;

/// A layer, and both parties' training rows.
struct Trained {
  Trained(const he::Scheme& scheme, const MatMulSpec& of, testing::Channels channels = testing::make_channels())
      : spec(of), pair(scheme, of, std::move(channels)) {
    SeededRandom random(9);
    x_a = features(spec.features_a, Kind::kCsr, spec.in_a, random);
    x_b = features(spec.features_b, Kind::kDense, spec.in_b, random);
  }

  static IntMatrix features(const FixedPointSpec& encoding, Kind kind, std::size_t cols, SeededRandom& random) {
    return cols == 0 ? IntMatrix::dense(kRows, 0, {}, encoding.scale, 1)
                     : random_features(encoding, kind, kRows, cols, random);
  }

  void keep(const KeepOptions& options = {}) {
    pair.parties.run([&](Session&) { pair.a.keep_products(kRows, {}, options); },
                     [&](Session&) { pair.b.keep_products(kRows, of_b(), options); });
  }
  [[nodiscard]] MatMul::FeaturesOfRows of_b() const {
    return
        [this](std::span<const std::uint32_t> numbers, std::size_t padded) { return x_b.select_rows(numbers, padded); };
  }

  ShareMatrix output(const Numbers& numbers, const Numbers& at_a, const Numbers& at_b) {
    const IntMatrix a = x_a.select_rows(numbers, kBatch);
    const IntMatrix b = x_b.select_rows(numbers, kBatch);
    const auto [share_a, share_b] = pair.parties.run([&](Session&) { return pair.a.forward(a, at_a); },
                                                     [&](Session&) { return pair.b.forward(b, at_b); });
    return open(share_a.share, share_b.share);
  }
  ShareMatrix output(const Numbers& numbers) { return output(numbers, numbers, numbers); }

  /// As if the tables lay side by side.
  [[nodiscard]] ShareMatrix joined(const Numbers& numbers) {
    ShareMatrix sum(kBatch, spec.out, pair.a.params().product_scale());
    if (spec.in_a > 0) sum += multiply(x_a.select_rows(numbers, kBatch), pair.weight(Party::kA));
    if (spec.in_b > 0) sum += multiply(x_b.select_rows(numbers, kBatch), pair.weight(Party::kB));
    return narrowed(sum, pair.a.params().output_ring());
  }

  [[nodiscard]] net::Traffic sent(Party from, net::Step step) const {
    const auto& all = pair.parties.recording(from).sent();
    const auto found = all.find(step);
    return found == all.end() ? net::Traffic{} : found->second;
  }

  MatMulSpec spec;
  MatMulPair pair;
  IntMatrix x_a;
  IntMatrix x_b;
};

class KeptProductsOf : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<he::Scheme> scheme_ = testing::make_scheme(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Schemes, KeptProductsOf, ::testing::ValuesIn(testing::scheme_names()),
                         [](const auto& scheme) { return scheme.param; });

TEST_P(KeptProductsOf, MakeTheSameZInAnyOrderAndWithPadding) {
  Trained layer(*scheme_, small_spec(4, 3, 2, kBatch));
  layer.keep();
  for (const Numbers& numbers : {Numbers{0, 1, 2, 3, 4, 5, 6, 7}, Numbers{36, 3, 17, 3}, Numbers{12}}) {
    EXPECT_TRUE(testing::same_output(GetParam(), layer.output(numbers), layer.joined(numbers)));
    EXPECT_TRUE(testing::same_output(GetParam(), layer.output(numbers, {}, {}), layer.joined(numbers)))
        << "without numbers the product is made";
  }
}

TEST_P(KeptProductsOf, LeaveNoProductOfBsFeaturesToAPass) {
  Trained layer(*scheme_, small_spec(4, 3, 2, kBatch));
  layer.keep();
  const net::Traffic operands = layer.sent(Party::kA, steps::kForwardOperand);
  EXPECT_EQ(operands.messages, 1U);
  const net::Traffic kept = layer.sent(Party::kB, steps::kKeptProduct);
  EXPECT_GE(kept.messages, 1U);
  for (int epoch = 0; epoch < 2; ++epoch) (void)layer.output({5, 9});
  EXPECT_EQ(layer.sent(Party::kB, steps::kForwardProduct).messages, 0U);
  EXPECT_EQ(layer.sent(Party::kA, steps::kForwardOperand), operands);
  EXPECT_EQ(layer.sent(Party::kB, steps::kKeptProduct), kept);
  EXPECT_EQ(layer.sent(Party::kA, steps::kForwardProduct).messages, 2U) << "of A's features";
}

TEST_P(KeptProductsOf, TakeWhatThePlanSays) {
  MatMulSpec spec = small_spec(4, 3, 2, kBatch);
  spec.run.kept_rows = kRows;
  Trained layer(*scheme_, spec);
  const LayerCost cost = cost_of(layer.pair.a.params(), Party::kB, *scheme_);
  layer.keep();
  (void)layer.output({5, 9});
  EXPECT_EQ(cost.step, StepCost{});
  EXPECT_EQ(layer.sent(Party::kA, steps::kForwardOperand).bytes, cost.setup.bytes_to_b);
  EXPECT_EQ(layer.sent(Party::kB, steps::kKeptProduct).bytes, cost.setup.bytes_to_a);
  spec.sgd.weight_decay = 0.1;
  EXPECT_GT(cost_of(MatMulParams(spec), Party::kB, *scheme_).step.bytes_to_a, 0U) << "V_B shrinks";
}

TEST_P(KeptProductsOf, AreFewWhereAPartyHasNoFeatures) {
  Trained only_b(*scheme_, small_spec(0, 3, 2, kBatch));
  only_b.keep();
  EXPECT_TRUE(testing::same_output(GetParam(), only_b.output({5, 9}), only_b.joined({5, 9})));
  EXPECT_EQ(only_b.sent(Party::kB, steps::kForwardProduct).messages, 0U);
  Trained only_a(*scheme_, small_spec(4, 0, 2, kBatch));
  only_a.keep();
  EXPECT_EQ(only_a.pair.b.kept_products(), nullptr);
  EXPECT_TRUE(testing::same_output(GetParam(), only_a.output({5, 9}), only_a.joined({5, 9})));
}

TEST_P(KeptProductsOf, AreSharesThatBIsMaskedIn) {
  // The same rows kept twice: A opens other values each time, and nothing of X_B V_B without B's half.
  Trained layer(*scheme_, small_spec(4, 3, 2, kBatch));
  const auto shares = [&] {
    layer.keep();
    return std::pair(layer.pair.a.kept_products()->pick(Numbers{0, 1, 2}, 3),
                     layer.pair.b.kept_products()->pick(Numbers{0, 1, 2}, 3));
  };
  const auto first = shares();
  const auto second = shares();
  EXPECT_TRUE(testing::same_output(GetParam(), open(first.first, first.second), open(second.first, second.second)));
  for (std::size_t i = 0; i < first.first.values().size(); ++i) {
    EXPECT_NE(first.first.values()[i], second.first.values()[i]);
  }
}

TEST_P(KeptProductsOf, ThatAreHurtOnTheWayAreRefused) {
  const auto run = [&](Party party, const testing::Tampering& tampering) {
    auto channels = net::make_memory_channels();
    auto& spoilt = party == Party::kA ? channels.first : channels.second;
    const auto tampered = std::make_shared<testing::TamperingTransport>(spoilt->transport(), tampering);
    spoilt = std::make_unique<net::Channel>(tampered);
    Trained layer(*scheme_, small_spec(4, 3, 2, kBatch), std::move(channels));
    const std::uint64_t before = tampered->sent_bytes().size();
    layer.keep();
    return std::pair<std::uint64_t, std::uint64_t>(before, tampered->sent_bytes().size());
  };
  for (const Party party : {Party::kA, Party::kB}) {
    const auto [begin, end] = run(party, {});
    const std::uint64_t stride = std::max<std::uint64_t>(1, (end - begin) / (GetParam() == "plain" ? 200 : 15));
    for (std::uint64_t i = begin; i + 1 < end; i += stride) {
      EXPECT_THROW(run(party, {.flip_bit = 8 * i + i % 8}), ProtocolError) << "byte " << i;
      EXPECT_THROW(run(party, {.cut_after = i + 1}), TransportError) << "after byte " << i;
    }
  }
}

class KeptProductsOfALayer : public ::testing::Test {
 protected:
  testing::PlainScheme scheme_;
  Trained layer_{scheme_, small_spec(4, 3, 2, kBatch)};
};

TEST_F(KeptProductsOfALayer, RefuseRowsThatAreNotThere) {
  layer_.keep();
  const IntMatrix x = layer_.x_a.select_rows(Numbers{1}, kBatch);
  for (const Numbers& wrong : {Numbers{kRows}, Numbers(kBatch + 1, 0)}) {
    EXPECT_THROW((void)layer_.pair.a.forward(x, wrong), InvalidArgument);
  }
  EXPECT_THAT(testing::message_of<InvalidArgument>([&] { (void)layer_.pair.a.forward(x, Numbers{40}); }),
              HasSubstr("there is no row 40 among the 37"));
  EXPECT_TRUE(testing::same_output("plain", layer_.output({1, 2}), layer_.joined({1, 2}))) << "nothing was sent";
}

TEST_F(KeptProductsOfALayer, RefuseAtBFeaturesOfOtherRows) {
  layer_.keep();
  const IntMatrix x = layer_.x_b.select_rows(Numbers{3, 4}, kBatch);
  EXPECT_THAT(testing::message_of<InvalidArgument>([&] {
                (void)layer_.pair.b.forward(x, Numbers{3, 5});
              }),
              HasSubstr("row 1 of the batch does not have the features of the training row"));
  EXPECT_THAT(testing::message_of<InvalidArgument>([&] { (void)layer_.pair.b.forward(x, Numbers{3}); }),
              HasSubstr("row 1 of the batch does not have the features of padding"));
}

TEST_F(KeptProductsOfALayer, RefuseDifferentNumbersOfRowsBeforeAnythingIsEncrypted) {
  EXPECT_THROW(layer_.pair.parties.run([&](Session&) { layer_.pair.a.keep_products(kRows + 1, {}); },
                                       [&](Session&) { layer_.pair.b.keep_products(kRows, layer_.of_b()); }),
               ConfigError);
  EXPECT_EQ(layer_.sent(Party::kA, steps::kForwardOperand).messages, 0U);
  EXPECT_THROW(layer_.pair.a.keep_products(0, {}), InvalidArgument);
}

TEST_F(KeptProductsOfALayer, AreNotUsedOnceTheWeightsHaveChanged) {
  layer_.keep();
  for (MatMul* half : {&layer_.pair.a, &layer_.pair.b}) ++half->weight(Party::kB).version;
  layer_.pair.a.weight(Party::kB).piece.values().front() += 12345;
  EXPECT_TRUE(testing::same_output("plain", layer_.output({1, 2}), layer_.joined({1, 2})));
  EXPECT_EQ(layer_.sent(Party::kB, steps::kForwardProduct).messages, 1U);
}

TEST_F(KeptProductsOfALayer, AreForgottenWhenStateIsLoaded) {
  layer_.keep();
  layer_.pair.parties.run([&](Session& session) {
    MatMul& half = layer_.pair.at(session.party());
    const Bytes saved = write_to_bytes([&](ByteSink& out) { half.save(out); });
    BufferSource in(saved);
    half.load(in);
    EXPECT_EQ(half.kept_products(), nullptr);
  });
  EXPECT_TRUE(testing::same_output("plain", layer_.output({1, 2}), layer_.joined({1, 2})));
}

TEST_F(KeptProductsOfALayer, AreTheSameInAFileWithoutAName) {
  const testing::ScratchFolder folder;
  std::atomic<std::size_t> told = 0;  // by both parties, each in its own thread
  layer_.keep({.most_memory = 100, .folder = folder.path(), .observer = [&](std::size_t done, std::size_t rows) {
                 EXPECT_EQ(rows, kRows);
                 EXPECT_LE(done, rows);
                 ++told;
               }});
  EXPECT_GE(told, 2U) << "by both parties";
  EXPECT_TRUE(layer_.pair.a.kept_products()->in_file());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_TRUE(testing::same_output("plain", layer_.output({36, 0, 8}), layer_.joined({36, 0, 8})));
  layer_.keep();
  EXPECT_FALSE(layer_.pair.a.kept_products()->in_file());
}

TEST(RowChunks, AreOfOneSizeAndCoverAllRows) {
  const auto scheme = testing::make_scheme("lattice");
  for (const std::size_t rows : {1U, 128U, 129U, 1500U, 9001U}) {
    const RowChunks chunks = chunks_of(MatMulParams(small_spec(10, 10, 1, 128)), *scheme, rows);
    EXPECT_GE(chunks.chunk * chunks.count(), rows);
    EXPECT_LT((chunks.count() - 1) * chunks.chunk, rows);
    EXPECT_LE(chunks.chunk, 4096U);
  }
}

TEST(RowChunks, TakeFewerBytesThanBatchByBatch) {
  const auto scheme = testing::make_scheme("lattice");
  const MatMulParams params(small_spec(60, 60, 1, 128));
  const RowChunks chunks = chunks_of(params, *scheme, 32561);
  const auto bytes = [&](std::size_t rows, std::size_t count) {
    return scheme->plan(product_of_rows(params, rows))->reply_bytes() * count;
  };
  EXPECT_LT(bytes(chunks.chunk, chunks.count()), bytes(128, 255) / 4 * 3);
}

}  // namespace
}  // namespace blindfl::protocol::kept_products_test

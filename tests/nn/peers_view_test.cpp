// What B sees of several A's: their sum, and nothing that tells one A's part from another's; the same where some of
// them help it. Controls take the masks away, and find each part.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "blindfl/net/channel.h"
#include "blindfl/protocol/session/output_masks.h"
#include "blindfl/protocol/session/steps.h"
#include "nn/peers_fixture.h"
#include "testing/uniformity.h"

namespace blindfl::nn::peers_view_test {
namespace {

using protocol::Sessions;
using Place = std::optional<std::size_t>;
using Words = std::vector<std::uint64_t>;

constexpr std::size_t kPeers = 3;
constexpr std::size_t kBatch = 16;
constexpr std::size_t kOut = 8;
constexpr std::size_t kPasses = 12;
constexpr int kScale = 16;
constexpr int kRing = 15 + kScale + protocol::kOutputHeadroom;  // largest_output is 2^15

Words words_of(const ShareMatrix& share) {
  Words words;
  for (const UInt128 v : share.values()) words.push_back(low64(v));
  return words;
}

Words sum(const Words& a, const Words& b) {
  Words both(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) both[i] = low64(low_bits(a[i] + b[i], kRing));
  return both;
}
Words difference(const Words& a, const Words& b) {
  Words both(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) both[i] = low64(low_bits(a[i] - b[i], kRing));
  return both;
}
double value_of(std::uint64_t word) {
  return std::ldexp(static_cast<double>(signed_low_bits(word, kRing)), -kScale);
}
std::vector<double> values_of(const Words& words) {
  std::vector<double> values;
  for (const std::uint64_t word : words) values.push_back(value_of(word));
  return values;
}

double correlation(const std::vector<double>& x, const std::vector<double>& y) {
  double sums[5] = {};
  for (std::size_t i = 0; i < x.size(); ++i) {
    sums[0] += x[i];
    sums[1] += y[i];
    sums[2] += x[i] * x[i];
    sums[3] += y[i] * y[i];
    sums[4] += x[i] * y[i];
  }
  const auto n = static_cast<double>(x.size());
  return (n * sums[4] - sums[0] * sums[1]) /
         std::sqrt((n * sums[2] - sums[0] * sums[0]) * (n * sums[3] - sums[1] * sums[1]));
}

/// Whether what B makes of one A's message, with its own share of that pair, says anything of that A's part of Z.
bool tells_the_part(const Words& of_b, const std::vector<double>& part) {
  return !testing::looks_uniform<std::uint64_t>(of_b, kRing) || std::abs(correlation(values_of(of_b), part)) > 0.15;
}

/// What there is of each pair.
struct Views {
  std::vector<Words> messages{kPeers};            ///< as B received them
  std::vector<Words> own{kPeers};                 ///< B's shares, rounded
  std::vector<Words> masks{kPeers};               ///< of the A's
  std::vector<double> z;                          ///< as opened
  std::vector<std::vector<double>> part{kPeers};  ///< of Z, which nobody has
  std::set<net::Step> received;                   ///< by B
};

void append(Words& to, const Words& more) {
  to.insert(to.end(), more.begin(), more.end());
}

enum class Masks { kAgreed, kZero };

/// Masks of three that are 0: whoever takes itself to be the second of them adds what it has with the third and
/// subtracts what it has with the first, and here these are the same.
std::shared_ptr<protocol::OutputMasks> masks_of_zero() {
  protocol::OutputMasks::Key key(32);
  Random().fill(key);
  return std::make_shared<protocol::OutputMasks>(testing::names_of_as(3), 1,
                                                 std::vector<protocol::OutputMasks::Key>{key, {}, key});
}

template <class Layer>
class View {
 public:
  /// `make(sessions, place)` makes the layer.
  template <class Make>
  static Views of(const PeersData& data, Masks masks, Make&& make) {
    testing::PlainScheme scheme;
    testing::SeveralParties parties(kPeers, scheme, testing::Record::kYes);
    for (std::size_t i = 0; masks == Masks::kZero && i < kPeers; ++i) {
      parties.a(i).take_place({i, kPeers}, masks_of_zero());
    }
    const auto pass = [&](const Sessions& sessions, Place place) {
      Layer layer = make(sessions, place);
      const torch::NoGradGuard no_grad;
      std::vector<std::pair<SourceOutput, torch::Tensor>> passes;
      for (std::uint32_t first = 0; first < kPasses; ++first) {
        std::vector<std::uint32_t> rows(kBatch);
        for (std::uint32_t i = 0; i < kBatch; ++i) rows[i] = first * kBatch + i;
        const SourceOutput output = layer->shares(data::make_batch(data.at(place), rows, kBatch));
        passes.emplace_back(output, open(output));
      }
      return passes;
    };
    const auto [of_a, of_b] = parties.run([&](std::size_t i, Session& s) { return pass(Sessions(s), Place(i)); },
                                          [&](const Sessions& all) { return pass(all, Place()); });
    Views views;
    for (std::size_t i = 0; i < kPeers; ++i) {
      Words of_this_a;
      for (std::size_t p = 0; p < kPasses; ++p) {
        const Words a = words_of(protocol::round_output(of_a[i][p].first.shares[0].output, kScale).share);
        const Words b = words_of(protocol::round_output(of_b[p].first.shares[i].output, kScale).share);
        append(views.own[i], b);
        const std::vector<double> part = values_of(sum(a, b));
        views.part[i].insert(views.part[i].end(), part.begin(), part.end());
        append(of_this_a, a);
      }
      const testing::Recording& seen = parties.recording(Party::kB, i);
      for (const testing::RecordedMessage& m : seen.messages()) {
        if (m.direction != net::Direction::kReceived || m.message.step != protocol::steps::kMaskedOutputShare) continue;
        Words words(m.payload.size() / 8);
        std::memcpy(words.data(), m.payload.data(), m.payload.size());
        append(views.messages[i], words);
      }
      views.masks[i] = difference(views.messages[i], of_this_a);
      for (const auto& [step, traffic] : seen.received()) views.received.insert(step);
    }
    for (const auto& [output, opened] : of_b) {
      const std::vector<double> z = to_vector(opened.reshape({-1}));
      views.z.insert(views.z.end(), z.begin(), z.end());
    }
    return views;
  }
};

const PeersData& the_data() {
  static const PeersData data({.columns_of_a = {4, 5, 6},
                               .columns_of_b = 3,
                               .fields_of_a = {{{.name = "a", .categories = 9}},
                                               {{.name = "b", .categories = 5}},
                                               {{.name = "c", .categories = 30}}},
                               .fields_of_b = {{.name = "d", .categories = 4}},
                               .rows = kBatch * kPasses,
                               .batch = kBatch});
  return data;
}

Views view_of(bool categories, Masks masks = Masks::kAgreed) {
  if (categories) {
    return View<EmbedMatMul>::of(the_data(), masks, [](const Sessions& sessions, Place place) {
      return EmbedMatMul(sessions, the_data().categories_of(place), kOut);
    });
  }
  return View<MatMul>::of(the_data(), masks, [](const Sessions& sessions, Place place) {
    return MatMul(sessions, the_data().shapes(place), kOut);
  });
}

class PeersView : public ::testing::TestWithParam<bool> {};

TEST_P(PeersView, OfBHasTheSumAndNoPartOfIt) {
  const Views views = view_of(GetParam());
  for (std::size_t i = 0; i < kPeers; ++i) {
    SCOPED_TRACE(testing::name_of_a(i));
    ASSERT_EQ(views.messages[i].size(), kBatch * kOut * kPasses);
    EXPECT_TRUE(testing::looks_uniform<std::uint64_t>(views.messages[i], kRing));
    const Words made = sum(views.messages[i], views.own[i]);
    EXPECT_FALSE(tells_the_part(made, views.part[i]));
  }
  for (std::size_t v = 0; v < views.z.size(); ++v) {
    EXPECT_NEAR(views.z[v], views.part[0][v] + views.part[1][v] + views.part[2][v], 6 * std::ldexp(1.0, -kScale));
  }
}

// The control: the same passes, of the same code, under masks that are 0. Each part is there to the last bit.
TEST_P(PeersView, OfBHasEachPartWhereMasksAreZero) {
  const Views views = view_of(GetParam(), Masks::kZero);
  for (std::size_t i = 0; i < kPeers; ++i) {
    SCOPED_TRACE(testing::name_of_a(i));
    const Words made = sum(views.messages[i], views.own[i]);
    EXPECT_TRUE(tells_the_part(made, views.part[i]));
    EXPECT_EQ(values_of(made), views.part[i]);
  }
}

// What only one A has fields for is no sum: the A's that have none add 0, and B has nothing of its own there.
TEST(PeersViewOfALayer, ThatOneAHasFeaturesForIsItsPart) {
  const PeersData data({.columns_of_a = {4, 5, 6},
                        .columns_of_b = 3,
                        .fields_of_a = {{}, {{.name = "b", .categories = 5}}, {}},
                        .rows = kBatch * kPasses,
                        .batch = kBatch});
  const Views views = View<EmbedMatMul>::of(data, Masks::kAgreed, [&](const Sessions& sessions, Place place) {
    return EmbedMatMul(sessions, data.categories_of(place), kOut);
  });
  ASSERT_EQ(views.z.size(), views.part[1].size());
  for (std::size_t v = 0; v < views.z.size(); ++v) {
    EXPECT_NEAR(views.z[v], views.part[1][v], 6 * std::ldexp(1.0, -kScale));
  }
  EXPECT_TRUE(testing::looks_uniform<std::uint64_t>(views.messages[1], kRing)) << "though each message is hidden";
}

// What SECURITY.md says of a B that does not follow the protocol: with a share of a1's weights that is 512 where it
// should be next to nothing, a1's first feature is in the upper digits of the sum, and no mask is in the way.
TEST(PeersViewOfABThatLies, HasOneAsFeaturesInTheUpperDigitsOfTheSum) {
  constexpr double kFactor = 512;
  const PeersData& data = the_data();
  const auto view = [&](bool lies) {
    return View<MatMul>::of(data, Masks::kAgreed, [&](const Sessions& sessions, Place place) {
      MatMul layer(sessions, data.shapes(place), kOut);
      if (lies && !place) {
        FederatedParameter weight = layer->weight_a(0);
        const ShareMatrix& piece = weight.piece();
        ShareMatrix step(piece.rows(), piece.cols(), piece.scale(), piece.ring_bits());
        step.row(0)[0] = static_cast<UInt128>(-static_cast<Int128>(std::ldexp(kFactor, piece.scale())));
        step.reduce();
        weight.subtract(step, false);
      }
      return layer;
    });
  };
  const torch::Tensor first = lab::features_tensor(data.joined.numeric).select(1, 0);
  const auto worst = [&](const Views& views) {
    double largest = 0;
    for (std::size_t row = 0; row < kBatch * kPasses; ++row) {
      const double feature = first[static_cast<std::int64_t>(row)].item<double>();
      largest = std::max(largest, std::abs(views.z[row * kOut] / kFactor - feature));
    }
    return largest;
  };
  EXPECT_LT(worst(view(true)), 0.05);
  EXPECT_GT(worst(view(false)), 0.5) << "the control: a B that does not lie";
}

// B and a1 together know a1's part and its mask. What a2 and a3 have between them is in OutputMasks' tests.
TEST_P(PeersView, OfBAndOneOfTheAsHasTheSumOverTheOthers) {
  const Views views = view_of(GetParam());
  // What a1 adds is what a2 and a3 subtract: with a1's masks, the sum over these two is known, and no more.
  const Words of_two = sum(views.messages[1], views.messages[2]);
  const Words own = sum(views.own[1], views.own[2]);
  const Words known = sum(sum(of_two, own), views.masks[0]);
  std::vector<double> both(known.size());
  for (std::size_t v = 0; v < known.size(); ++v) both[v] = views.part[1][v] + views.part[2][v];
  const std::vector<double> found = values_of(known);
  for (std::size_t v = 0; v < known.size(); ++v) EXPECT_NEAR(found[v], both[v], 1e-9) << "the masks do not fit";
  for (const std::size_t i : {1, 2}) {
    EXPECT_FALSE(tells_the_part(sum(sum(views.messages[i], views.own[i]), views.masks[0]), views.part[i]));
  }
}

TEST_P(PeersView, OfBHasNoOtherKindsOfMessagesThanWithOneA) {
  namespace steps = protocol::steps;
  std::set<net::Step> expected = {steps::kHello,     steps::kPublicKey,   steps::kAgreement,        steps::kMaskOffer,
                                  steps::kMaskProof, steps::kMaskVerdict, steps::kMaskedOutputShare};
  if (GetParam()) {
    expected.insert({steps::kTableOperand, steps::kLookupProduct, steps::kPieceCorrection, steps::kWeightOperand,
                     steps::kEmbeddingProduct});
  } else {
    expected.insert({steps::kForwardOperand, steps::kForwardProduct});
  }
  for (const net::Step step : view_of(GetParam()).received) EXPECT_TRUE(expected.contains(step)) << name_of(step);
}

INSTANTIATE_TEST_SUITE_P(Layers, PeersView, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "EmbedMatMul" : "MatMul"; });

}  // namespace
}  // namespace blindfl::nn::peers_view_test

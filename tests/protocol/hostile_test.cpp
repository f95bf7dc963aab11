// Bytes from a peer are hostile: whatever happens to them, the receiver gets an error of the right type. No crash, no
// hang, no wrong share.

#include <gtest/gtest.h>

#include "blindfl/base/error.h"
#include "protocol/matmul_fixture.h"
#include "testing/steps.h"
#include "testing/tampering_transport.h"

namespace blindfl::protocol::hostile_test {
namespace {

using testing::Tampering;
using testing::TamperingTransport;

/// A whole training step in which `party`'s bytes are tampered with. Returns how many it sent.
std::uint64_t run_step(const he::Scheme& scheme, Party party, const Tampering& tampering) {
  const MatMulSpec spec = small_spec(3, 2, 2, 4);
  SeededRandom random(3);
  auto channels = net::make_memory_channels();
  auto& spoilt = party == Party::kA ? channels.first : channels.second;
  const auto tampered = std::make_shared<TamperingTransport>(spoilt->transport(), tampering);
  spoilt = std::make_unique<net::Channel>(tampered);

  MatMulPair pair(scheme, spec, std::move(channels));
  const IntMatrix x_a = random_features(spec.features_a, IntMatrix::Kind::kDense, 4, 3, random);
  const IntMatrix x_b = random_features(spec.features_b, IntMatrix::Kind::kDense, 4, 2, random);
  const auto outputs = pair.forward(x_a, x_b);
  pair.parties.run([&](Session& s) { (void)open_output(s, 0, round_output(outputs.first, 16)); },
                   [&](Session& s) { (void)open_output(s, 0, round_output(outputs.second, 16)); });
  pair.backward(x_a, x_b, random_derivative(spec, random));
  return tampered->sent_bytes().size();
}

class Hostile : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<he::Scheme> scheme_ = testing::make_scheme(GetParam());
};

TEST_P(Hostile, EveryFlippedBitIsAProtocolError) {
  for (const Party party : {Party::kA, Party::kB}) {
    const std::uint64_t bytes = run_step(*scheme_, party, {});
    // Every byte of the stream in turn (a sample of them where there are many), a different bit each time.
    const std::uint64_t stride = std::max<std::uint64_t>(1, bytes / (GetParam() == "plain" ? 700 : 40));
    for (std::uint64_t i = 0; i < bytes; i += stride) {
      EXPECT_THROW(run_step(*scheme_, party, {.flip_bit = 8 * i + i % 8}), ProtocolError) << "byte " << i;
    }
  }
}

TEST_P(Hostile, EveryTruncationIsATransportError) {
  for (const Party party : {Party::kA, Party::kB}) {
    const std::uint64_t bytes = run_step(*scheme_, party, {});
    const std::uint64_t stride = std::max<std::uint64_t>(1, bytes / (GetParam() == "plain" ? 300 : 20));
    for (std::uint64_t i = 1; i < bytes; i += stride) {
      EXPECT_THROW(run_step(*scheme_, party, {.cut_after = i}), TransportError) << "after byte " << i;
    }
  }
}

TEST_P(Hostile, AMessageOutOfOrderIsAProtocolError) {
  const MatMulSpec spec = small_spec(3, 2, 2, 4);
  MatMulPair pair(*scheme_, spec);
  SeededRandom random(3);
  const IntMatrix x_a = random_features(spec.features_a, IntMatrix::Kind::kDense, 4, 3, random);
  const IntMatrix x_b = random_features(spec.features_b, IntMatrix::Kind::kDense, 4, 2, random);
  // B begins with the backward pass while A begins with the forward one.
  EXPECT_THROW(pair.parties.run([&](Session&) { (void)pair.a.forward(x_a); },
                                [&](Session&) { (void)pair.b.backward(x_b, random_derivative(spec, random)); }),
               ProtocolError);
}

TEST_P(Hostile, PartiesThatDisagreeAboutALayerStopBeforeAnythingIsComputed) {
  SeededRandom random(3);
  testing::TwoParties parties(*scheme_);
  // The parties disagree about the shape of the layer.
  MatMul a(parties.session(Party::kA), small_spec(3, 2, 2, 4));
  MatMul b(parties.session(Party::kB), small_spec(3, 2, 200, 4));
  const IntMatrix x_a = random_features({}, IntMatrix::Kind::kDense, 4, 3, random);
  const IntMatrix x_b = random_features({}, IntMatrix::Kind::kDense, 4, 2, random);
  EXPECT_THROW(parties.run([&](Session&) { (void)a.forward(x_a); }, [&](Session&) { (void)b.forward(x_b); }),
               ConfigError);
  EXPECT_FALSE(parties.recording(Party::kA).sent().contains(steps::kForwardOperand));
  EXPECT_FALSE(parties.recording(Party::kB).sent().contains(steps::kForwardOperand));
}

TEST_P(Hostile, AFailedMessageLeavesTheReceiversStateAsItWas) {
  const MatMulSpec spec = small_spec(3, 2, 2, 4);
  MatMulPair pair(*scheme_, spec);
  SeededRandom random(3);
  const IntMatrix x_a = random_features(spec.features_a, IntMatrix::Kind::kDense, 4, 3, random);
  const ShareMatrix before = pair.a.weight(Party::kA).piece;
  const std::uint64_t version = pair.a.weight(Party::kA).version;
  pair.parties.session(Party::kB).channel().send({steps::kForwardOperand, pair.a.layer(), 7}, Bytes(7));
  EXPECT_THROW((void)pair.a.forward(x_a), ProtocolError);
  EXPECT_EQ(pair.a.weight(Party::kA).piece, before);
  EXPECT_EQ(pair.a.weight(Party::kA).version, version);
}

INSTANTIATE_TEST_SUITE_P(Schemes, Hostile, ::testing::ValuesIn(testing::scheme_names()),
                         [](const auto& scheme) { return scheme.param; });

}  // namespace
}  // namespace blindfl::protocol::hostile_test

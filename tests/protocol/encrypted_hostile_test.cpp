// Hostile bytes in both messages of an update under encryption: an error that says what is wrong, no crash, no wrong
// share, and what was learnt so far stays as it was.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blindfl/base/error.h"
#include "he/paillier/tensor_lab.h"
#include "protocol/encrypted_fixture.h"
#include "testing/label.h"
#include "testing/steps.h"
#include "testing/tampering_transport.h"
#include "testing/thrown.h"

namespace blindfl::protocol::encrypted_hostile_test {
namespace {

using he::paillier::BigInt;
using he::paillier::Integers;
using he::paillier::PaillierKeyOwner;
using he::paillier::ReplyLayout;
using testing::message_of;
using testing::Tampering;
using testing::TamperingTransport;

constexpr std::size_t kBatch = 4;
constexpr const char* kNoCiphertext = "what the peer sent is not a ciphertext under this key";
constexpr const char* kTooLarge = "a masked product is larger than it can be";

MatMulSpec make_spec() {
  MatMulSpec spec = small_spec(3, 2, 7, kBatch);
  spec.features_a = spec.features_b = {.scale = 4, .largest = 2.0, .clip = false};
  spec.derivative = {.scale = 32, .largest = 4.0, .clip = false};
  spec.update = Update::kEncrypted;
  spec.sgd = {.learning_rate = 0.1, .momentum = 0.5, .steps = 10};
  return spec;
}

/// A layer after one step, with a session that still runs.
class Layer {
 public:
  explicit Layer(const he::Scheme& scheme, testing::Channels channels = testing::make_channels())
      : pair(scheme, spec, std::move(channels)),
        lab(dynamic_cast<const PaillierKeyOwner&>(pair.parties.session(Party::kB).key_owner()).secret_key()),
        params(pair.a.params(), updates_with(he::paillier::InsecureParams::make())) {}

  void forward() { shares = pair.forward(x_a, x_b); }
  void backward() { (void)pair.backward(x_a, x_b, random_derivative(spec, random)); }
  void step() {
    pair.a.holder()->step();
    pair.b.owner()->step();
    pair.b.row_update()->step();
  }
  Layer& trained() {
    forward();
    backward();
    step();
    return *this;
  }

  /// All that A and B would save.
  [[nodiscard]] Bytes state() {
    ThreadPool pool;
    return write_to_bytes([&](ByteSink& out) {
      pair.a.holder()->save(out, pool);
      pair.b.owner()->save(out);
      pair.b.row_update()->save(out);
    });
  }

  /// B sends `payload` for a derivative, and A takes it.
  void receive_derivative(ByteView payload) {
    pair.parties.session(Party::kB).channel().send(
        {steps::kDerivativeOperand, pair.a.layer(), payload.size(), kBatch, spec.out}, payload);
    (void)pair.a.backward(x_a, absent_derivative(kBatch, kBatch));
  }
  /// A sends `payload` for a masked product, and B takes it.
  void receive_product(ByteView payload) {
    pair.parties.session(Party::kA).channel().send(
        {steps::kForwardProduct, pair.b.layer(), payload.size(), kBatch, spec.out}, payload);
    (void)pair.b.owner()->receive_product(pair.parties.session(Party::kB), pair.b.layer(), kBatch);
  }
  /// `count` encryptions of what `plaintext(i)` says.
  [[nodiscard]] Bytes encryptions(std::size_t count, const std::function<BigInt(std::size_t)>& plaintext) {
    he::paillier::Rows rows(lab.ring(), count);
    Bytes bytes;
    for (std::size_t i = 0; i < count; ++i) {
      he::paillier::Limb* to = rows[i];
      const BigInt m = plaintext(i);
      lab.key().encrypt({&to, 1}, {&m, 1}, lab.random());
      const Bytes ciphertext = lab.wire(lab.ring().read(to));
      bytes.insert(bytes.end(), ciphertext.begin(), ciphertext.end());
    }
    return bytes;
  }
  [[nodiscard]] Bytes good_derivative() {
    return encryptions(params.derivative_bytes(kBatch) / lab.row_bytes(), [](std::size_t) { return BigInt(1); });
  }
  [[nodiscard]] Bytes good_reply() {
    return encryptions(layout_of(params, kBatch).ciphertexts(), [](std::size_t) { return BigInt(0); });
  }
  /// Numbers that have no inverse modulo n^2.
  [[nodiscard]] std::vector<BigInt> no_ciphertexts() const {
    return {BigInt(0), lab.n(), lab.n() * BigInt(99), lab.p(), lab.p() * BigInt(123456789), lab.p() * lab.p()};
  }

  MatMulSpec spec = make_spec();
  SeededRandom random{3};
  MatMulPair pair;
  he::paillier::testing::TensorLab lab;
  EncryptedUpdateParams params;
  IntMatrix x_a = random_features(spec.features_a, IntMatrix::Kind::kDense, kBatch, 3, random);
  IntMatrix x_b = random_features(spec.features_b, IntMatrix::Kind::kDense, kBatch, 2, random);
  std::pair<OutputShare, OutputShare> shares;
};

class EncryptedHostile : public ::testing::Test {
 protected:
  std::unique_ptr<he::Scheme> scheme_ = testing::make_scheme("paillier");

  /// `attack` must fail in this way, and leave everything as it was.
  void expect_refusal(const char* error, const std::function<void(Layer&)>& attack) {
    Layer layer(*scheme_);
    layer.trained();
    const Bytes before = layer.state();
    EXPECT_THAT(message_of<ProtocolError>([&] { attack(layer); }), ::testing::HasSubstr(error));
    EXPECT_EQ(layer.state(), before);
    EXPECT_THROW(layer.pair.a.holder()->step(), InvalidArgument) << "nothing was kept for a step";
  }
};

void put(Bytes& bytes, std::size_t at, const Bytes& what) {
  std::ranges::copy(what, bytes.begin() + static_cast<std::ptrdiff_t>(at));
}

TEST_F(EncryptedHostile, WhatTheseTestsSendIsOtherwiseTaken) {
  Layer layer(*scheme_);
  layer.trained();
  EXPECT_NO_THROW(layer.receive_derivative(layer.good_derivative()));
  EXPECT_NO_THROW(layer.receive_product(layer.good_reply()));
}

TEST_F(EncryptedHostile, ADerivativeThatIsNoCiphertextIsNamed) {
  Layer first(*scheme_);
  const std::size_t size = first.good_derivative().size();
  const std::size_t row = first.lab.row_bytes();
  // The first, the last of the sum's copy, the last of the window's.
  for (const std::size_t at : {std::size_t{0}, size / 2 - row, size - row}) {
    for (std::size_t i = 0; i < first.no_ciphertexts().size(); ++i) {
      // Every kind somewhere, and not every kind everywhere.
      if ((i + at / row) % 3 != 0) continue;
      expect_refusal(kNoCiphertext, [&](Layer& layer) {
        Bytes bytes = layer.good_derivative();
        put(bytes, at, layer.lab.wire(layer.no_ciphertexts()[i]));
        layer.receive_derivative(bytes);
      });
    }
  }
  expect_refusal(kNoCiphertext, [&](Layer& layer) { layer.receive_derivative(Bytes(size, std::byte{0xff})); });
}

TEST_F(EncryptedHostile, ADerivativeOfAnotherLengthIsNamed) {
  Layer first(*scheme_);
  const std::size_t size = first.good_derivative().size();
  for (const std::size_t wrong : {std::size_t{0}, size - 1, size / 2, size + 1}) {
    expect_refusal("bytes", [&](Layer& layer) { layer.receive_derivative(Bytes(wrong)); });
  }
}

TEST_F(EncryptedHostile, AReplyThatIsNoCiphertextIsNamed) {
  Layer first(*scheme_);
  const std::size_t size = first.good_reply().size();
  const std::size_t row = first.lab.row_bytes();
  for (std::size_t i = 0; i < first.no_ciphertexts().size(); ++i) {
    expect_refusal(kNoCiphertext, [&](Layer& layer) {
      Bytes bytes = layer.good_reply();
      put(bytes, i % 2 == 0 ? 0 : size - row, layer.lab.wire(layer.no_ciphertexts()[i]));
      layer.receive_product(bytes);
    });
  }
  expect_refusal(kNoCiphertext, [&](Layer& layer) { layer.receive_product(Bytes(size, std::byte{0xff})); });
  for (const std::size_t wrong : {std::size_t{0}, size - row, size + 1}) {
    expect_refusal("bytes", [&](Layer& layer) { layer.receive_product(Bytes(wrong)); });
  }
}

TEST_F(EncryptedHostile, AReplyWithNumbersThatCannotBeIsNamed) {
  Layer first(*scheme_);
  const ReplyLayout layout = layout_of(first.params, kBatch);
  const std::size_t last = layout.ciphertexts() - 1;
  const auto bits = static_cast<std::size_t>(layout.mask_bits);
  const auto used = static_cast<std::size_t>(layout.slots.width()) * layout.rows_per_ciphertext * layout.cols_per_group;
  const BigInt too_large[] = {
      BigInt::power_of_two(bits) + BigInt::power_of_two(static_cast<std::size_t>(layout.value_bits)),
      BigInt(0) - BigInt::power_of_two(static_cast<std::size_t>(layout.value_bits)) - BigInt(1),
      BigInt::power_of_two(used),
      BigInt(0) - BigInt::power_of_two(used),
      first.lab.n() / BigInt(2),
  };
  for (const BigInt& plaintext : too_large) {
    expect_refusal(kTooLarge, [&](Layer& layer) {
      layer.receive_product(layer.encryptions(
          last + 1, [&](std::size_t i) { return i == last ? plaintext % layer.lab.n() : BigInt(0); }));
    });
  }
}

TEST_F(EncryptedHostile, AChangedCiphertextBecomesAnErrorAndNoWrongShare) {
  SeededRandom random(8);
  for (int i = 0; i < (testing::kFull ? 20 : 3); ++i) {
    // A reply: the number it decrypts to is no sum of slots.
    Layer layer(*scheme_);
    layer.trained();
    Bytes reply = layer.good_reply();
    reply[random.below(reply.size())] ^= static_cast<std::byte>(1U << random.below(8));
    EXPECT_THROW(layer.receive_product(reply), ProtocolError);

    // A derivative: A, who has no key, cannot tell, but what it would make of it B will not open.
    Layer other(*scheme_);
    other.trained();
    Bytes derivative = other.good_derivative();
    derivative[random.below(derivative.size())] ^= static_cast<std::byte>(1U << random.below(8));
    try {
      other.receive_derivative(derivative);
    } catch (const ProtocolError&) {
      continue;  // a digit that is not below n
    }
    other.pair.a.holder()->step();
    EXPECT_EQ(message_of<ProtocolError>([&] { other.forward(); }), kTooLarge);
  }
}

/// A whole training step in which `party`'s bytes are tampered with. Returns how many it sent, and how many of them
/// before the backward pass.
std::pair<std::uint64_t, std::uint64_t> run_step(const he::Scheme& scheme, Party party, const Tampering& tampering) {
  auto channels = net::make_memory_channels();
  auto& spoilt = party == Party::kA ? channels.first : channels.second;
  const auto tampered = std::make_shared<TamperingTransport>(spoilt->transport(), tampering);
  spoilt = std::make_unique<net::Channel>(tampered);
  Layer layer(scheme, std::move(channels));
  layer.forward();
  const std::uint64_t before = tampered->sent_bytes().size();
  layer.backward();
  layer.step();
  layer.forward();
  return {tampered->sent_bytes().size(), before};
}

TEST_F(EncryptedHostile, EveryFlippedBitOnTheWayIsAProtocolError) {
  for (const Party party : {Party::kA, Party::kB}) {
    const std::uint64_t bytes = run_step(*scheme_, party, {}).first;
    for (std::uint64_t i = 5; i < bytes; i += bytes / (testing::kFull ? 60 : 6)) {
      EXPECT_THROW(run_step(*scheme_, party, {.flip_bit = 8 * i + i % 8}), ProtocolError) << "byte " << i;
    }
  }
}

TEST_F(EncryptedHostile, EveryTruncationIsATransportError) {
  for (const Party party : {Party::kA, Party::kB}) {
    const std::uint64_t bytes = run_step(*scheme_, party, {}).first;
    for (std::uint64_t i = 1; i < bytes; i += bytes / (testing::kFull ? 30 : 5)) {
      EXPECT_THROW(run_step(*scheme_, party, {.cut_after = i}), TransportError) << "after byte " << i;
    }
  }
}

// Ciphertexts are read while they arrive, before the checksum behind them is known.
TEST_F(EncryptedHostile, ADamagedDerivativeIsNotKeptForTheNextStep) {
  const std::uint64_t before = run_step(*scheme_, Party::kB, {}).second;
  auto channels = net::make_memory_channels();
  channels.second = std::make_unique<net::Channel>(std::make_shared<TamperingTransport>(
      channels.second->transport(), Tampering{.flip_bit = 8 * (before + 32 + 40)}));
  Layer layer(*scheme_, std::move(channels));
  layer.forward();
  EXPECT_THROW(layer.backward(), ProtocolError);
  EXPECT_THROW(layer.pair.a.holder()->step(), InvalidArgument);
  EXPECT_TRUE(own(layer.pair.a.holder()->sum()).written().empty());
  ThreadPool pool;
  EXPECT_NO_THROW((void)write_to_bytes([&](ByteSink& out) { layer.pair.a.holder()->save(out, pool); }));
}

}  // namespace
}  // namespace blindfl::protocol::encrypted_hostile_test

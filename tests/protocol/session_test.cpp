#include "blindfl/protocol/session.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <mutex>

#include "blindfl/base/error.h"
#include "testing/schemes.h"
#include "testing/two_parties.h"

namespace blindfl::protocol {
namespace {

TEST(Session, ExchangesPublicKeysAndNothingElse) {
  const he::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  for (const Party party : {Party::kA, Party::kB}) {
    const auto& sent = parties.recording(party).sent();
    ASSERT_EQ(sent.size(), 1U);
    EXPECT_EQ(sent.at(net::Step::kPublicKey), (net::Traffic{1, scheme.public_key_bytes()}));
  }
  EXPECT_NE(parties.session(Party::kA).key_owner().public_key(), parties.session(Party::kB).key_owner().public_key());
}

TEST(Session, RefusesWhatIsNotAPublicKey) {
  const he::PlainScheme scheme;
  const auto [mine, theirs] = net::make_memory_channels();
  const net::Message key{net::Step::kPublicKey, 0, scheme.public_key_bytes()};
  theirs->send(key, Bytes(key.size, std::byte{0xAB}));
  EXPECT_THROW(Session(Party::kA, *mine, scheme), ProtocolError);
}

TEST(Session, NumbersLayersAlikeAtBothParties) {
  const he::PlainScheme scheme;
  testing::TwoParties parties(scheme);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(parties.session(Party::kA).new_layer(), i);
    EXPECT_EQ(parties.session(Party::kB).new_layer(), i);
  }
}

// A link that takes nothing until the peer is receiving: what a network does with messages larger than its buffers.
class UnbufferedChannel final : public net::Channel {
 public:
  struct Rendezvous {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::byte> waiting;
    std::size_t wanted = 0;
  };
  UnbufferedChannel(std::shared_ptr<Rendezvous> out, std::shared_ptr<Rendezvous> in)
      : out_(std::move(out)), in_(std::move(in)) {}

  void write_raw(ByteView bytes) override {
    for (const std::byte b : bytes) {
      std::unique_lock lock(out_->mutex);
      out_->changed.wait(lock, [&] { return out_->wanted > out_->waiting.size(); });
      out_->waiting.push_back(b);
      out_->changed.notify_all();
    }
  }
  void read_raw(std::span<std::byte> out) override {
    std::unique_lock lock(in_->mutex);
    in_->wanted = out.size();
    in_->changed.notify_all();
    in_->changed.wait(lock, [&] { return in_->waiting.size() >= out.size(); });
    for (std::byte& b : out) {
      b = in_->waiting.front();
      in_->waiting.pop_front();
    }
    in_->wanted = 0;
  }
  [[nodiscard]] std::uint64_t send_capacity() const override { return 0; }

 private:
  void do_close() override {}

  std::shared_ptr<Rendezvous> out_;
  std::shared_ptr<Rendezvous> in_;
};

TEST(Session, TwoPartiesThatSendAtOnceDoNotBlockEachOther) {
  const auto there = std::make_shared<UnbufferedChannel::Rendezvous>();
  const auto back = std::make_shared<UnbufferedChannel::Rendezvous>();
  const he::PlainScheme scheme;
  // Making the sessions already exchanges keys both ways at once; it would hang if they took turns.
  testing::TwoParties parties(
      scheme, {std::make_unique<UnbufferedChannel>(there, back), std::make_unique<UnbufferedChannel>(back, there)});
  const net::Message message{net::Step::kForwardOperand, 0, 1000};
  const auto [at_a, at_b] = parties.run([&](Session& s) {
    Bytes received;
    const auto filler = s.party() == Party::kA ? std::byte{1} : std::byte{2};
    s.exchange(
        message.size, [&] { s.channel().send(message, Bytes(message.size, filler)); },
        [&] { received = s.channel().receive(message); });
    return received;
  });
  EXPECT_EQ(at_a, Bytes(1000, std::byte{2}));
  EXPECT_EQ(at_b, Bytes(1000, std::byte{1}));
}

}  // namespace
}  // namespace blindfl::protocol

#include "blindfl/protocol/session/peer.h"

#include <gtest/gtest.h>

#include <thread>

#include "blindfl/net/memory_channel.h"
#include "testing/plain/plain_scheme.h"
#include "testing/two_parties.h"

namespace blindfl::protocol::peer_test {
namespace {

TEST(Peer, KeepsChannelAndSchemesForAsLongAsItsSessionLives) {
  auto channels = net::make_memory_channels();
  const auto as = [](Party party, std::unique_ptr<net::Channel>& channel) {
    return [&, party] {
      return std::make_unique<Peer>(party, std::move(channel), he::Schemes{std::make_shared<testing::PlainScheme>()});
    };
  };
  const auto [a, b] = testing::run_both(as(Party::kA, channels.first), as(Party::kB, channels.second), [] {});
  EXPECT_EQ(a->session().id(), b->session().id());
  EXPECT_EQ(a->session().scheme().name(), "plain");
  a->session().agree("words", Settings().add("word", "yes"));
  b->session().agree("words", Settings().add("word", "yes"));
  EXPECT_NO_THROW(a->session().settle());
}

TEST(Peer, IsGivenUpWhereSomebodyClosesTheChannel) {
  const std::pair<std::shared_ptr<net::Channel>, std::unique_ptr<net::Channel>> channels = net::make_memory_channels();
  std::thread impatient([&] { channels.first->close(); });
  EXPECT_THROW(Peer(Party::kA, channels.first, {std::make_shared<testing::PlainScheme>()}), TransportError);
  impatient.join();
}

TEST(Peer, NeedsAChannelAndASchemeThatAreThere) {
  EXPECT_THROW(Peer(Party::kA, nullptr, {std::make_shared<testing::PlainScheme>()}), InvalidArgument);
  const std::pair<std::shared_ptr<net::Channel>, std::unique_ptr<net::Channel>> channels = net::make_memory_channels();
  EXPECT_THROW(Peer(Party::kA, channels.first, {nullptr}), InvalidArgument);
}

}  // namespace
}  // namespace blindfl::protocol::peer_test

#include "blindfl/net/grpc/grpc_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "blindfl/base/error.h"
#include "blindfl/net/grpc/link_words.h"
#include "testing/fault_proxy.h"
#include "testing/links.h"
#include "testing/steps.h"
#include "testing/thrown.h"

namespace blindfl::net::grpc_transport_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AnyOf;
using testing::GrpcEnd;
using ::testing::HasSubstr;
using testing::message_of;
using testing::tls_options;
using Role = GrpcOptions::Role;
using Clock = std::chrono::steady_clock;

const Message kMessage{protocol::steps::kForwardOperand, 3, 5};
const Bytes kPayload(5, std::byte{42});

Bytes pattern(std::size_t size, unsigned seed) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>((i + seed) * 2654435761U >> 11);
  return bytes;
}

std::string at(int port) {
  return "127.0.0.1:" + std::to_string(port);
}

/// What a party is told while it waits for the link.
class Notices {
 public:
  [[nodiscard]] std::function<void(const LinkNotice&)> hear() {
    return [this](const LinkNotice& notice) {
      const std::lock_guard lock(mutex_);
      all_.push_back(notice.words);
      details_ += notice.detail;
    };
  }
  [[nodiscard]] std::vector<std::string> all() const {
    const std::lock_guard lock(mutex_);
    return all_;
  }
  [[nodiscard]] std::string details() const {
    const std::lock_guard lock(mutex_);
    return details_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> all_;
  std::string details_;
};

/// No word that only gRPC, its libraries or the system say.
void expect_our_words(const std::string& text) {
  for (const std::string_view raw : {"Connection refused", "DNS", "errno", "grpc", "gRPC", "ipv4", "Socket", "syscall",
                                     "{", "status", "UNAVAILABLE", "failed to connect"}) {
    EXPECT_THAT(text, ::testing::Not(HasSubstr(std::string(raw))));
  }
}

void expect_works(Channel& a, Channel& b) {
  a.send(kMessage, kPayload);
  b.send(kMessage, kPayload);
  EXPECT_EQ(b.receive(kMessage), kPayload);
  EXPECT_EQ(a.receive(kMessage), kPayload);
}

/// Sends and receives `count` messages of random sizes at the same time, and checks every byte.
void exchange(Channel& channel, std::size_t count, std::uint64_t seed, std::size_t largest) {
  const auto size_of = [=](std::size_t i) { return SeededRandom(seed, i).below(largest); };
  auto sending = std::async(std::launch::async, [&] {
    for (std::size_t i = 0; i < count; ++i) {
      const Bytes bytes = pattern(size_of(i), static_cast<unsigned>(i));
      channel.send({protocol::steps::kForwardOperand, static_cast<std::uint32_t>(i), bytes.size()}, bytes);
    }
  });
  for (std::size_t i = 0; i < count; ++i) {
    const Message expected{protocol::steps::kForwardOperand, static_cast<std::uint32_t>(i), size_of(i)};
    ASSERT_EQ(channel.receive(expected), pattern(expected.size, static_cast<unsigned>(i))) << "message " << i;
  }
  sending.get();
}

void exchange_both(Channel& a, Channel& b, std::size_t count, std::size_t largest) {
  auto other = std::async(std::launch::async, [&] { exchange(b, count, 9, largest); });
  exchange(a, count, 9, largest);
  other.get();
}

TEST(GrpcTransport, CarriesMessagesOverMutualTls) {
  const auto [a, b] = testing::make_tls_channels();
  expect_works(*a, *b);
  EXPECT_EQ(a->reconnects(), 0U);
  exchange_both(*a, *b, 200, 100000);
}

TEST(GrpcTransport, CarriesMessagesLargerThanItsWindow) {
  const auto [a, b] = testing::make_tls_channels();
  const Message large{protocol::steps::kForwardOperand, 0, 50'000'000};
  ASSERT_GT(large.size, a->send_capacity());
  auto sent = std::async(std::launch::async, [&large, &first = *a] { first.send(large, pattern(large.size, 1)); });
  auto back = std::async(std::launch::async, [&large, &second = *b] { second.send(large, pattern(large.size, 2)); });
  auto received = std::async(std::launch::async, [&large, &first = *a] { return first.receive(large); });
  EXPECT_EQ(b->receive(large), pattern(large.size, 1));
  EXPECT_EQ(received.get(), pattern(large.size, 2));
}

TEST(GrpcTransport, MayBeDialledBeforeAnyoneListens) {
  // A port that is free now.
  const int port = GrpcEnd(tls_options(Role::kListen, "127.0.0.1:0")).port();
  GrpcEnd dialer(tls_options(Role::kDial, at(port)));
  dialer.send(kMessage, kPayload);  // waits in the window
  std::this_thread::sleep_for(milliseconds(300));
  GrpcEnd listener(tls_options(Role::kListen, at(port)));
  EXPECT_EQ(listener.receive(kMessage), kPayload);
}

TEST(GrpcTransport, SaysThatNobodyListens) {
  const int port = GrpcEnd(tls_options(Role::kListen, "127.0.0.1:0")).port();
  GrpcOptions options = tls_options(Role::kDial, at(port));
  options.patience = milliseconds(700);
  GrpcEnd dialer(options);
  const auto begin = Clock::now();
  const std::string why = message_of<TransportError>([&] { dialer.wait_for_peer(); });
  EXPECT_THAT(why, HasSubstr("nobody listens there: is the peer running, and is the port right?"));
  expect_our_words(why);
  EXPECT_LT(Clock::now() - begin, seconds(5));
  EXPECT_THROW((void)dialer.receive(kMessage), TransportError);
}

TEST(GrpcTransport, SaysAtOnceAndAgainThatNobodyListens) {
  const int port = GrpcEnd(tls_options(Role::kListen, "127.0.0.1:0")).port();
  GrpcOptions options = tls_options(Role::kDial, at(port));
  options.patience = milliseconds(2500);
  options.notice_every = milliseconds(700);
  Notices notices;
  options.on_notice = notices.hear();
  GrpcEnd dialer(options);
  EXPECT_THROW(dialer.wait_for_peer(), TransportError);
  const std::vector<std::string> all = notices.all();
  ASSERT_GE(all.size(), 3U) << "at once, and every 0.7 s of 2.5";
  EXPECT_LE(all.size(), 5U);
  for (const std::string& notice : all) {
    EXPECT_THAT(notice, HasSubstr("no link to the peer at " + at(port) + " yet: nobody listens there"));
    expect_our_words(notice);
  }
  EXPECT_THAT(notices.details(), HasSubstr("gRPC status 14")) << "for whoever debugs";
}

TEST(GrpcTransport, SaysAtOnceThatThereIsNoSuchHost) {
  GrpcOptions options = tls_options(Role::kDial, "no-such-host.invalid:7443");
  options.patience = seconds(8);
  Notices notices;
  options.on_notice = [&, hear = notices.hear()](const LinkNotice& notice) {
    hear(notice);
    throw TransportError("heard");
  };
  GrpcEnd dialer(options);
  const auto begin = Clock::now();
  EXPECT_EQ(message_of<TransportError>([&] { dialer.wait_for_peer(); }), "heard");
  EXPECT_LT(Clock::now() - begin, seconds(7));
  ASSERT_EQ(notices.all().size(), 1U);
  EXPECT_THAT(notices.all()[0], HasSubstr("there is no such host name"));
  expect_our_words(notices.all()[0]);
}

TEST(GrpcTransport, SaysThatTheLinkIsThereOnlyToWhoWasToldThatItWasNot) {
  const int port = GrpcEnd(tls_options(Role::kListen, "127.0.0.1:0")).port();
  GrpcOptions options = tls_options(Role::kDial, at(port));
  Notices notices;
  options.on_notice = notices.hear();
  GrpcEnd dialer(options);
  auto received = std::async(std::launch::async, [&] { return dialer.receive(kMessage); });
  std::this_thread::sleep_for(milliseconds(500));
  GrpcOptions listening = tls_options(Role::kListen, at(port));
  Notices of_listener;
  listening.on_notice = of_listener.hear();
  GrpcEnd listener(listening);
  listener.wait_for_peer();
  std::this_thread::sleep_for(milliseconds(300));
  listener.send(kMessage, kPayload);
  EXPECT_EQ(received.get(), kPayload);
  const std::vector<std::string> all = notices.all();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_THAT(all[0], HasSubstr("nobody listens there"));
  EXPECT_EQ(all[1], "the link to the peer is there");
  EXPECT_THAT(of_listener.all(), ::testing::IsEmpty());
}

TEST(LinkWords, AreOursWhateverGrpcSays) {
  for (const bool worked : {false, true}) {
    for (const std::string raw :
         {"failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:1: Connection refused",
          "DNS resolution failed for x: C-ares status is not ARES_SUCCESS qtype=A name=x: Domain name not found",
          "No route to host", "Socket closed", "recvmsg:Connection reset by peer", "wrong version number",
          "keepalive watchdog timeout", "Deadline Exceeded", "something of a newer release {grpc_status:14}", ""}) {
      const std::string words = link_words(raw, worked);
      EXPECT_FALSE(words.empty());
      expect_our_words(words);
    }
  }
  EXPECT_THAT(link_words("Socket closed", false), HasSubstr("does the peer have this party's certificate"));
  EXPECT_EQ(link_words("Socket closed", true), "the connection broke");
}

TEST(GrpcTransport, SaysThatNobodyCalled) {
  GrpcOptions options = tls_options(Role::kListen, "127.0.0.1:0");
  options.patience = milliseconds(500);
  GrpcEnd listener(options);
  EXPECT_THAT(message_of<TransportError>([&] { listener.wait_for_peer(); }), HasSubstr("nobody called"));
}

TEST(GrpcTransport, SaysThatThePortIsTaken) {
  const GrpcEnd first(tls_options(Role::kListen, "127.0.0.1:0"));
  EXPECT_THAT(message_of<TransportError>([&] { GrpcEnd(tls_options(Role::kListen, at(first.port()))); }),
              HasSubstr("is the port taken"));
}

TEST(GrpcTransport, RefusesAListenerWithAnotherCertificateAtOnceAndSaysSo) {
  GrpcEnd listener(tls_options(Role::kListen, "127.0.0.1:0"));
  GrpcOptions options = tls_options(Role::kDial, at(listener.port()));
  options.tls->peer_certificate = generate_identity("other", 30).certificate;
  GrpcEnd dialer(options);
  const auto begin = Clock::now();
  EXPECT_THAT(message_of<TransportError>([&] { dialer.wait_for_peer(); }), HasSubstr("is not the expected one"));
  EXPECT_LT(Clock::now() - begin, seconds(5)) << "waiting would not help";
}

TEST(GrpcTransport, ListenersSayWhoseCertificateTheyRefuseAndThatTheirsMayBe) {
  GrpcOptions listening = tls_options(Role::kListen, "127.0.0.1:0");
  listening.patience = seconds(4);
  Notices notices;
  listening.on_notice = notices.hear();
  GrpcEnd listener(listening);
  auto waiting =
      std::async(std::launch::async, [&] { return message_of<TransportError>([&] { listener.wait_for_peer(); }); });
  GrpcOptions options = tls_options(Role::kDial, at(listener.port()));
  const std::string expected = fingerprint(options.tls->identity.certificate);
  {
    GrpcOptions other = options;
    other.tls->peer_certificate = generate_identity("other", 30).certificate;
    EXPECT_THROW(GrpcEnd(other).wait_for_peer(), TransportError);
    std::this_thread::sleep_for(milliseconds(1900));
    ASSERT_EQ(notices.all().size(), 1U);
    EXPECT_THAT(notices.all()[0], HasSubstr("hung up before its first word: does it have this party's certificate, "
                                            "whose fingerprint is " +
                                            fingerprint(listening.tls->identity.certificate)));
  }
  options.tls->identity = generate_identity("stranger", 30);
  options.patience = milliseconds(500);
  EXPECT_THROW(GrpcEnd(options).wait_for_peer(), TransportError);
  EXPECT_THAT(waiting.get(), HasSubstr("is not the expected one"));
  ASSERT_EQ(notices.all().size(), 2U) << "again only while it goes on";
  EXPECT_THAT(notices.all()[1],
              ::testing::AllOf(HasSubstr("someone called and was refused"),
                               HasSubstr(fingerprint(options.tls->identity.certificate)), HasSubstr(expected)));
}

TEST(GrpcTransport, EndsWithAPeerThatIsThereAndSaysNothing) {
  GrpcOptions listening = tls_options(Role::kListen, "127.0.0.1:0");
  listening.silence = milliseconds(800);
  GrpcEnd listener(listening);
  GrpcEnd dialer(tls_options(Role::kDial, at(listener.port())));
  dialer.send(kMessage, kPayload);
  EXPECT_EQ(listener.receive(kMessage), kPayload);
  std::this_thread::sleep_for(milliseconds(1200));  // nobody waits: that is no silence
  dialer.send(kMessage, kPayload);
  EXPECT_EQ(listener.receive(kMessage), kPayload);
  const auto begin = Clock::now();
  EXPECT_THAT(message_of<TransportError>([&] { (void)listener.receive(kMessage); }),
              HasSubstr("the peer answers, but has sent nothing for 800 ms while this side waited for it"));
  EXPECT_GE(Clock::now() - begin, milliseconds(750));
  EXPECT_LT(Clock::now() - begin, seconds(5));
}

TEST(GrpcTransport, RefusesAStrangerAndStillServesItsPeer) {
  GrpcEnd listener(tls_options(Role::kListen, "127.0.0.1:0"));
  GrpcOptions options = tls_options(Role::kDial, at(listener.port()));
  options.tls->identity = generate_identity("stranger", 30);
  options.patience = milliseconds(1000);
  {
    GrpcEnd stranger(options);
    EXPECT_THAT(message_of<TransportError>([&] { stranger.wait_for_peer(); }),
                HasSubstr("does the peer have this party's certificate"));
  }
  GrpcEnd dialer(tls_options(Role::kDial, at(listener.port())));
  expect_works(listener, dialer);
}

TEST(GrpcTransport, RefusesItsOwnCertificateAsThePeers) {
  GrpcOptions options = tls_options(Role::kListen, "127.0.0.1:0");
  options.tls->peer_certificate = options.tls->identity.certificate;
  EXPECT_THROW(GrpcEnd{options}, ConfigError);
}

TEST(GrpcTransport, WorksInTheClearOnlyIfBothSaySo) {
  GrpcOptions open = tls_options(Role::kListen, "127.0.0.1:0");
  open.tls.reset();
  GrpcEnd listener(open);
  {
    GrpcOptions options = tls_options(Role::kDial, at(listener.port()));
    options.patience = milliseconds(700);
    GrpcEnd careful(options);
    EXPECT_THROW(careful.wait_for_peer(), TransportError);
  }
  open.role = Role::kDial;
  open.address = at(listener.port());
  GrpcEnd dialer(open);
  expect_works(listener, dialer);
}

TEST(GrpcTransport, TellsThePeerWhyItEnds) {
  const auto [a, b] = testing::make_tls_channels();
  a->interrupt();
  EXPECT_THAT(message_of<TransportError>([&, &peer = *b] { (void)peer.receive(kMessage); }), HasSubstr("interrupted"));

  const auto [c, d] = testing::make_tls_channels();
  c->send(kMessage, kPayload);
  EXPECT_THROW(c->send(kMessage, [](ByteSink&) { throw std::runtime_error("bad luck"); }), std::runtime_error);
  EXPECT_EQ(d->receive(kMessage), kPayload) << "what was sent before still arrives";
  EXPECT_THAT(message_of<TransportError>([&, &peer = *d] { (void)peer.receive(kMessage); }),
              HasSubstr("stopped after an error"));
}

TEST(GrpcTransport, TellsThePeerWhatItIsGivenToSayOfAnError) {
  const auto end_of = [](const std::function<void(Channel&)>& end, std::string words) {
    GrpcOptions options = tls_options(Role::kListen, "127.0.0.1:0");
    options.words_of_error = [said = std::move(words)] { return said; };
    GrpcEnd listener(options);
    GrpcEnd dialer(tls_options(Role::kDial, at(listener.port())));
    expect_works(listener, dialer);
    end(listener);
    return message_of<TransportError>([&] { (void)dialer.receive(kMessage); });
  };
  const auto in_a_handler = [](Channel& end) {
    try {
      throw std::runtime_error("of this side alone");
    } catch (const std::exception&) {
      end.close();
    }
  };
  EXPECT_EQ(end_of(in_a_handler, "it lost bank"), "the peer stopped after an error: it lost bank");
  EXPECT_EQ(end_of(in_a_handler, ""), "the peer stopped after an error; it says there which");
  EXPECT_EQ(end_of([](Channel& end) { end.close(); }, "it lost bank"), "the peer closed the link");
}

TEST(GrpcTransport, DeliversWhatWasSentBeforeItIsDestroyed) {
  auto [a, b] = testing::make_tls_channels();
  const Message large{protocol::steps::kForwardOperand, 0, 10'000'000};
  a->send(large, pattern(large.size, 4));
  auto gone = std::async(std::launch::async, [&ending = a] { ending.reset(); });
  EXPECT_EQ(b->receive(large), pattern(large.size, 4));
  gone.get();
  EXPECT_THROW((void)b->receive(kMessage), TransportError);
}

/// A listener, a dialer and a network between them that misbehaves.
class FaultyLink : public ::testing::Test {
 protected:
  GrpcOptions options(Role role, const std::string& address) const {
    GrpcOptions options = tls_options(role, address);
    options.keepalive = milliseconds(1000);
    options.patience = seconds(30);
    return options;
  }
  GrpcEnd listener_{options(Role::kListen, "127.0.0.1:0")};
  testing::FaultProxy network_{listener_.port(), 5};
};

TEST_F(FaultyLink, LosesNothingThroughHundredsOfCuts) {
  network_.cut_every(200'000);
  GrpcEnd dialer(options(Role::kDial, network_.address()));
  exchange_both(listener_, dialer, 500, 120'000);
  EXPECT_GE(network_.cuts(), 100);
  EXPECT_GE(dialer.reconnects(), 100U);
}

TEST_F(FaultyLink, SurvivesDelayAndThrottling) {
  network_.delay(milliseconds(20));
  network_.throttle(20'000'000);
  GrpcEnd dialer(options(Role::kDial, network_.address()));
  exchange_both(listener_, dialer, 60, 200'000);
  EXPECT_EQ(dialer.reconnects(), 0U);
}

TEST_F(FaultyLink, NeverLetsAGarbledByteThrough) {
  network_.garble_after(300'000);
  GrpcEnd dialer(options(Role::kDial, network_.address()));
  exchange_both(listener_, dialer, 100, 60'000);
  EXPECT_GE(dialer.reconnects(), 3U) << "TLS notices and ends each connection";
}

TEST_F(FaultyLink, NoticesASilentLinkAndComesBackWhenItDoes) {
  GrpcEnd dialer(options(Role::kDial, network_.address()));
  expect_works(listener_, dialer);
  network_.hold(true);
  dialer.send(kMessage, kPayload);
  std::this_thread::sleep_for(seconds(4));
  network_.hold(false);
  EXPECT_EQ(listener_.receive(kMessage), kPayload);
  expect_works(listener_, dialer);
}

TEST_F(FaultyLink, IsAnErrorAtBothEndsWhenPatienceIsOver) {
  GrpcOptions impatient = options(Role::kListen, "127.0.0.1:0");
  impatient.patience = seconds(2);
  GrpcEnd listener(impatient);
  testing::FaultProxy network(listener.port());
  impatient.role = Role::kDial;
  impatient.address = network.address();
  impatient.tls = tls_options(Role::kDial, "").tls;
  GrpcEnd dialer(impatient);
  expect_works(listener, dialer);
  network.refuse(true);
  network.cut();
  const auto begin = Clock::now();
  EXPECT_THAT(message_of<TransportError>([&] { (void)dialer.receive(kMessage); }), HasSubstr("no link to the peer"));
  EXPECT_THAT(message_of<TransportError>([&] { (void)listener.receive(kMessage); }), HasSubstr("did not come back"));
  EXPECT_LT(Clock::now() - begin, seconds(10));
}

TEST_F(FaultyLink, RefusesAPeerThatWasRestarted) {
  auto dialer = std::make_unique<GrpcEnd>(options(Role::kDial, network_.address()));
  expect_works(listener_, *dialer);
  // As if killed: the listener never hears a goodbye.
  network_.refuse(true);
  network_.cut();
  std::this_thread::sleep_for(milliseconds(200));
  network_.refuse(false);
  auto ending = std::async(std::launch::async, [&] { dialer.reset(); });
  GrpcEnd restarted(options(Role::kDial, at(listener_.port())));
  EXPECT_THAT(message_of<TransportError>([&] { (void)listener_.receive(kMessage); }),
              AnyOf(HasSubstr("restarted"), HasSubstr("closed the link")));
  ending.get();
}

}  // namespace
}  // namespace blindfl::net::grpc_transport_test

// Those who are not the peer, and a peer that does not keep to the protocol: errors, and bounded memory.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <csignal>

#include <fstream>
#include <memory>
#include <string>

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>

#include "blindfl/base/error.h"
#include "blindfl/base/free_with.h"
#include "blindfl/net/grpc/tls.h"
#include "blindfl/net/link_packet.h"
#include "testing/links.h"
#include "testing/loopback.h"
#include "testing/sanitizers.h"
#include "testing/steps.h"
#include "testing/thrown.h"

namespace blindfl::net::hostile_client_test {
namespace {

using ::testing::AnyOf;
using testing::GrpcEnd;
using ::testing::HasSubstr;
using testing::message_of;
using testing::tls_options;
using Role = GrpcOptions::Role;

const Message kMessage{protocol::steps::kForwardOperand, 3, 5};

std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  file >> size >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

/// Speaks TLS to a port, as openssl's own client would: without a certificate.
class TlsClient {
 public:
  TlsClient(int port, int highest_version) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    signal(SIGPIPE, SIG_IGN);  // who is thrown out writes into nothing
    const sockaddr_in address = testing::loopback(port);
    EXPECT_EQ(connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    const timeval patience{5, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    SSL_CTX_set_max_proto_version(context_.get(), highest_version);
    const unsigned char http2[] = {2, 'h', '2'};
    SSL_CTX_set_alpn_protos(context_.get(), http2, sizeof http2);
    ssl_.reset(SSL_new(context_.get()));
    SSL_set_fd(ssl_.get(), socket_);
    connected_ = SSL_connect(ssl_.get()) == 1;
  }
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;
  ~TlsClient() { close(socket_); }

  [[nodiscard]] bool connected() const { return connected_; }
  [[nodiscard]] std::string version() const { return SSL_get_version(ssl_.get()); }
  /// Whether anything comes back. Under TLS 1.3 a client learns only now that its (missing) certificate was refused.
  [[nodiscard]] bool gets_in() {
    if (!connected_) return false;
    const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    SSL_write(ssl_.get(), preface.data(), static_cast<int>(preface.size()));
    char byte = 0;
    return SSL_read(ssl_.get(), &byte, 1) == 1;
  }

 private:
  int socket_;
  std::unique_ptr<SSL_CTX, FreeWith<SSL_CTX_free>> context_{SSL_CTX_new(TLS_client_method())};
  std::unique_ptr<SSL, FreeWith<SSL_free>> ssl_;
  bool connected_ = false;
};

TEST(HostileClient, WithoutACertificateDoesNotGetIn) {
  GrpcEnd listener(tls_options(Role::kListen, "127.0.0.1:0"));
  EXPECT_FALSE(TlsClient(listener.port(), TLS1_3_VERSION).gets_in());
  EXPECT_FALSE(TlsClient(listener.port(), TLS1_2_VERSION).gets_in());
  GrpcEnd peer(tls_options(Role::kDial, "127.0.0.1:" + std::to_string(listener.port())));
  EXPECT_NO_THROW(listener.wait_for_peer());
}

TEST(HostileClient, IsOfferedTls13) {
  // The handshake itself succeeds: what keeps the client of the test above out is its missing certificate.
  GrpcEnd listener(tls_options(Role::kListen, "127.0.0.1:0"));
  const TlsClient client(listener.port(), TLS1_3_VERSION);
  ASSERT_TRUE(client.connected());
  EXPECT_EQ(client.version(), "TLSv1.3");
}

/// The right certificate, and packets of its own making.
class RoguePeer {
 public:
  explicit RoguePeer(int port) {
    const GrpcOptions options = tls_options(Role::kDial, "");
    grpc::ChannelArguments arguments;
    arguments.SetMaxSendMessageSize(-1);
    stub_ = std::make_unique<grpc::GenericStub>(
        grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port),
                                  dialer_credentials(options.tls, std::make_shared<Handshakes>()), arguments));
    rpc_ = stub_->PrepareCall(&context_, "/blindfl.Link/Connect", &queue_);
    rpc_->StartCall(this);
    EXPECT_TRUE(next());
  }
  RoguePeer(const RoguePeer&) = delete;
  RoguePeer& operator=(const RoguePeer&) = delete;
  ~RoguePeer() {
    context_.TryCancel();
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }

  /// Whether it went out.
  bool send(const Bytes& packet) {
    const grpc::Slice slice(packet.data(), packet.size());
    rpc_->Write(grpc::ByteBuffer(&slice, 1), this);
    return next();
  }
  /// Whether there was an answer.
  bool receive() {
    grpc::ByteBuffer answer;
    rpc_->Read(&answer, this);
    return next();
  }
  /// What the listener says of it in the end.
  std::string verdict() {
    while (receive()) {
    }
    grpc::Status status;
    rpc_->Finish(&status, this);
    (void)next();
    return status.error_message();
  }

 private:
  bool next() {
    void* tag = nullptr;
    bool ok = false;
    queue_.Next(&tag, &ok);
    return ok;
  }

  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericStub> stub_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> rpc_;
};

HelloPacket honest_hello() {
  HelloPacket hello;
  hello.mine.fill(std::byte{9});
  hello.window = 1 << 20;
  return hello;
}

TEST(RoguePeer, IsRefusedWithTheReasonAndTheRunEnds) {
  HelloPacket ahead = honest_hello();
  ahead.received = ~std::uint64_t{0};
  HelloPacket narrow = honest_hello();
  narrow.window = 0;
  HelloPacket newer = honest_hello();
  newer.version = 99;
  const Bytes data{kDataKind, std::byte{1}};
  for (const Bytes& first : {Bytes{std::byte{'X'}}, Bytes{}, data, encode_packet(ahead), encode_packet(narrow),
                             encode_packet(newer), encode_packet(CreditPacket{1})}) {
    GrpcEnd listener(tls_options(Role::kListen, "127.0.0.1:0"));
    RoguePeer rogue(listener.port());
    (void)rogue.send(first);
    EXPECT_THAT(rogue.verdict(), HasSubstr("the peer"));
    EXPECT_THAT(message_of<TransportError>([&] { (void)listener.receive(kMessage); }), HasSubstr("the peer"));
  }
}

TEST(RoguePeer, CannotMakeUpCreditOrGoBeyondTheWindow) {
  const Bytes piece(1 + kLargestData, kDataKind);
  const std::vector<std::vector<Bytes>> stories = {
      {encode_packet(CreditPacket{1})}, {encode_packet(CreditPacket{~std::uint64_t{0}})},
      {encode_packet(honest_hello())},  {encode_packet(ByePacket{}), Bytes{kDataKind, std::byte{1}}},
      std::vector<Bytes>(66, piece),  // the window is 64 of them
  };
  for (const auto& packets : stories) {
    GrpcEnd listener(tls_options(Role::kListen, "127.0.0.1:0"));
    RoguePeer rogue(listener.port());
    ASSERT_TRUE(rogue.send(encode_packet(honest_hello())));
    ASSERT_TRUE(rogue.receive());
    for (const Bytes& packet : packets) {
      if (!rogue.send(packet)) break;
    }
    EXPECT_THAT(rogue.verdict(), AnyOf(HasSubstr("the peer"), HasSubstr("closed")));
  }
}

TEST(RoguePeer, CostsBoundedMemoryWithAHugePacket) {
#if defined(BLINDFL_ADDRESS_SANITIZER) || defined(BLINDFL_THREAD_SANITIZER)
  GTEST_SKIP() << "a sanitizer keeps what was freed, and more: memory says nothing here";
#endif
  GrpcEnd listener(tls_options(Role::kListen, "127.0.0.1:0"));
  const Bytes huge(std::size_t{600} << 20, kDataKind);
  RoguePeer rogue(listener.port());
  const std::uint64_t before = resident_bytes();
  // The copy that gRPC sends from is this process' too.
  const std::uint64_t own = huge.size() + (std::uint64_t{64} << 20);
  (void)rogue.send(huge);
  std::uint64_t most = 0;
  for (int i = 0; i < 20; ++i) {
    most = std::max(most, resident_bytes());
    usleep(50'000);
  }
  EXPECT_LT(most - before, own + (std::uint64_t{320} << 20));
}

TEST(RoguePeer, SendsFramesThatAreRefusedLikeAnyOthers) {
  GrpcEnd listener(tls_options(Role::kListen, "127.0.0.1:0"));
  RoguePeer rogue(listener.port());
  ASSERT_TRUE(rogue.send(encode_packet(honest_hello())));
  ASSERT_TRUE(rogue.receive());
  Bytes garbage(100, std::byte{0x55});
  garbage[0] = kDataKind;
  ASSERT_TRUE(rogue.send(garbage));
  EXPECT_THROW((void)listener.receive(kMessage), ProtocolError);
  EXPECT_THROW((void)listener.receive(kMessage), TransportError);
}

}  // namespace
}  // namespace blindfl::net::hostile_client_test

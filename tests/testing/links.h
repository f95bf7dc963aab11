#pragma once

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "blindfl/net/grpc/grpc_transport.h"
#include "blindfl/net/memory_channel.h"
#include "testing/sanitizers.h"

#if defined(BLINDFL_ADDRESS_SANITIZER)
// gRPC 1.51 now and then loses a TLS connection's memory when it is closed while a handshake runs. Programs without
// this header, those that test our own use of OpenSSL among them, are checked for all leaks.
extern "C" __attribute__((weak, used)) const char* __lsan_default_suppressions() {  // NOLINT: the sanitizer's name
  return "leak:libcrypto.so\n";
}
#endif

namespace blindfl::testing {

using Channels = std::pair<std::unique_ptr<net::Channel>, std::unique_ptr<net::Channel>>;

/// The two parties' identities, made once per process.
inline const net::Identity& identity(bool first) {
  static const net::Identity of_first = net::generate_identity("first", 30);
  static const net::Identity of_second = net::generate_identity("second", 30);
  return first ? of_first : of_second;
}

inline net::GrpcOptions tls_options(net::GrpcOptions::Role role, const std::string& address) {
  const bool listens = role == net::GrpcOptions::Role::kListen;
  net::GrpcOptions options;
  options.role = role;
  options.address = address;
  options.tls = net::TlsOptions{identity(listens), identity(!listens).certificate};
  options.patience = std::chrono::seconds(20);
  return options;
}

/// One end of a real link, and the channel on it.
class GrpcEnd {
 public:
  explicit GrpcEnd(const net::GrpcOptions& options)
      : link_(std::make_shared<net::GrpcTransport>(options)), channel_(link_) {}

  operator net::Channel&() { return channel_; }  // NOLINT: most tests want only the channel
  void send(const net::Message& message, ByteView payload) { channel_.send(message, payload); }
  void send(const net::Message& message, const std::function<void(ByteSink&)>& body) { channel_.send(message, body); }
  [[nodiscard]] Bytes receive(const net::Message& expected) { return channel_.receive(expected); }
  [[nodiscard]] std::uint64_t send_capacity() const { return channel_.send_capacity(); }
  void wait_for_peer() { link_->wait_for_peer(); }
  [[nodiscard]] int port() const { return link_->port(); }
  void interrupt() { link_->interrupt(); }
  [[nodiscard]] std::uint64_t reconnects() const { return link_->reconnects(); }
  /// A channel that outlives this.
  [[nodiscard]] std::unique_ptr<net::Channel> channel() const { return std::make_unique<net::Channel>(link_); }

 private:
  std::shared_ptr<net::GrpcTransport> link_;
  net::Channel channel_;
};

/// Two ends of a real link over loopback, with TLS and certificates. The first end listens.
inline std::pair<std::unique_ptr<GrpcEnd>, std::unique_ptr<GrpcEnd>> make_tls_channels() {
  auto listener = std::make_unique<GrpcEnd>(tls_options(net::GrpcOptions::Role::kListen, "127.0.0.1:0"));
  auto dialer = std::make_unique<GrpcEnd>(
      tls_options(net::GrpcOptions::Role::kDial, "127.0.0.1:" + std::to_string(listener->port())));
  dialer->wait_for_peer();
  listener->wait_for_peer();
  return {std::move(listener), std::move(dialer)};
}

/// What two-party tests talk over: memory, or TLS where BLINDFL_TEST_LINK says so.
inline Channels make_channels() {
  const char* link = std::getenv("BLINDFL_TEST_LINK");
  if (link == nullptr || std::string_view(link) != "tls") return net::make_memory_channels();
  const auto ends = make_tls_channels();
  return {ends.first->channel(), ends.second->channel()};
}

}  // namespace blindfl::testing

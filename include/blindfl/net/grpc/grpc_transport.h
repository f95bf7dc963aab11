#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "blindfl/net/identity.h"
#include "blindfl/net/link_notice.h"
#include "blindfl/net/transport.h"

namespace blindfl::net {

/// Who this party is and whom it talks to. Both certificates must be the very ones that the other side has pinned.
struct TlsOptions {
  Identity identity;
  std::string peer_certificate;
};

struct GrpcOptions {
  enum class Role { kListen, kDial };
  Role role = Role::kDial;
  /// host:port; for a listener, the interface to listen on, and port 0 for any that is free.
  std::string address;
  /// Mutual TLS 1.3. Nothing: in the clear, without knowing who the peer is; for a link that something else protects.
  std::optional<TlsOptions> tls;
  /// How long a lost or missing link may stay away before it is an error.
  std::chrono::milliseconds patience = std::chrono::minutes(5);
  /// How long a peer that is there, and answers the link's own questions, may send nothing while this side waits for a
  /// message, or for room to send one; 0: for ever. The longest that a party computes without sending is seconds to
  /// minutes: alignment, keys and operands all travel in pieces.
  std::chrono::milliseconds silence = std::chrono::minutes(30);
  /// Told why there is no link: at once when the reason is known, and every `notice_every` while there is none. Runs on
  /// the thread that waits for the peer, in `wait_for_peer`, `write` or `read`.
  std::function<void(const LinkNotice&)> on_notice = {};
  std::chrono::milliseconds notice_every = std::chrono::seconds(10);
  /// Asked where a link is closed in the handler of an error: what the people at the other end are told of it, at most
  /// 200 characters of printable ASCII. Empty: that there was one.
  std::function<std::string()> words_of_error = {};
  /// A link that is silent for this long is asked whether it still is one, and has as long again to answer.
  std::chrono::milliseconds keepalive = std::chrono::seconds(5);
  /// Bytes that may be under way each way; also what a party keeps to send again after a cut.
  std::uint64_t window = std::uint64_t{16} << 20;
};

/// A link to a peer on another machine: one gRPC stream in both directions, mutual TLS 1.3, peers pinned by
/// certificate. A cut link is dialled again until `patience` is over; nothing is lost or doubled by it. Computing and
/// sending overlap.
class GrpcTransport final : public Transport {
 public:
  /// Begins to listen or to dial. Bytes may be written at once; they wait.
  /// Throws ConfigError or DataError if certificates are unusable, TransportError if the port is taken.
  explicit GrpcTransport(const GrpcOptions& options);
  GrpcTransport(const GrpcTransport&) = delete;
  GrpcTransport& operator=(const GrpcTransport&) = delete;
  /// Waits a few seconds for the peer to have received everything.
  ~GrpcTransport() override;

  void write(ByteView bytes) override;
  void read(std::span<std::byte> out) override;
  [[nodiscard]] bool has_arrived() const override;
  [[nodiscard]] std::uint64_t send_capacity() const override;
  /// Tells the peer whether this happens because of an error.
  void close() override;

  /// Waits until the two sides have met.
  /// Throws TransportError, with the reason, if they do not within `patience`, or sooner where waiting cannot help: the
  /// peer's certificate is another, or has expired. So do `write` and `read`, and they do when the peer is silent for
  /// longer than `silence`.
  void wait_for_peer();
  /// The port that a listener listens on.
  [[nodiscard]] int port() const;

  /// Tells the people at the other end something, where they wait for this side: `GrpcOptions::on_notice` there, with
  /// "the peer says: " before it. At most 200 characters of printable ASCII. Any thread.
  void note(const std::string& words);
  /// Tells the peer that this side's user stopped it. Any thread.
  void interrupt();
  /// How often the link was made again.
  [[nodiscard]] std::uint64_t reconnects() const;

 private:
  class Link;
  std::unique_ptr<Link> link_;
  std::function<std::string()> words_of_error_;
};

}  // namespace blindfl::net

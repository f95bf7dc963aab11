#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include "blindfl/net/grpc/grpc_transport.h"

namespace blindfl::net {

/// What handshakes came to, for whoever has to explain a link that does not come about. Any thread.
class Handshakes {
 public:
  using Clock = std::chrono::steady_clock;

  void refused(const std::string& why);
  void accepted();
  /// A link came about: what was before explains nothing any more.
  void forget();

  /// Why the last certificate that was refused was; empty if none was.
  [[nodiscard]] std::string refusal() const;
  /// How many were, so far.
  [[nodiscard]] std::uint64_t refusals() const;
  /// When the peer's certificate was last found to be the expected one.
  [[nodiscard]] std::optional<Clock::time_point> accepted_at() const;

 private:
  mutable std::mutex mutex_;
  std::string refusal_;
  std::uint64_t refusals_ = 0;
  std::optional<Clock::time_point> accepted_at_;
};

/// Mutual TLS 1.3 with exactly one peer, or no TLS at all if `tls` is empty.
/// Throws ConfigError if this side's certificate cannot be used.
[[nodiscard]] std::shared_ptr<grpc::ChannelCredentials> dialer_credentials(
    const std::optional<TlsOptions>& tls, const std::shared_ptr<Handshakes>& handshakes);
[[nodiscard]] std::shared_ptr<grpc::ServerCredentials> listener_credentials(
    const std::optional<TlsOptions>& tls, const std::shared_ptr<Handshakes>& handshakes);

}  // namespace blindfl::net

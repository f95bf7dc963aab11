#pragma once

#include <memory>
#include <mutex>
#include <string>

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include "blindfl/net/grpc/grpc_channel.h"

namespace blindfl::net {

/// Why a peer's certificate was refused, for whoever has to explain a link that does not come about.
class Refusals {
 public:
  void note(const std::string& why);
  [[nodiscard]] std::string last() const;

 private:
  mutable std::mutex mutex_;
  std::string last_;
};

/// Mutual TLS 1.3 with exactly one peer, or no TLS at all if `tls` is empty.
/// Throws ConfigError if this side's certificate cannot be used.
[[nodiscard]] std::shared_ptr<grpc::ChannelCredentials> dialer_credentials(const std::optional<TlsOptions>& tls,
                                                                           const std::shared_ptr<Refusals>& refusals);
[[nodiscard]] std::shared_ptr<grpc::ServerCredentials> listener_credentials(const std::optional<TlsOptions>& tls,
                                                                            const std::shared_ptr<Refusals>& refusals);

}  // namespace blindfl::net

#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "blindfl/app/cli/command.h"
#include "blindfl/net/grpc/grpc_transport.h"

namespace blindfl::app {

/// The options of every command that talks to the peer: address, certificates, patience.
[[nodiscard]] std::vector<Option> link_options();

/// What they say. Throws UsageError if they contradict each other, ConfigError or DataError if a file is unusable.
[[nodiscard]] net::GrpcOptions read_link_options(const Arguments& arguments);

/// --certificate, --key and, under this name, the certificate of whom it is with; nothing with --plaintext.
/// Throws UsageError if one is missing, ConfigError or DataError if a file is unusable.
[[nodiscard]] std::optional<net::TlsOptions> tls_with(const Arguments& arguments, std::string_view certificate_option);

}  // namespace blindfl::app

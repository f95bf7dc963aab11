#pragma once

#include <vector>

#include "blindfl/app/cli/command.h"
#include "blindfl/net/grpc/grpc_transport.h"

namespace blindfl::app {

/// The options of every command that talks to the peer: address, certificates, patience.
[[nodiscard]] std::vector<Option> link_options();

/// What they say. Throws UsageError if they contradict each other, ConfigError or DataError if a file is unusable.
[[nodiscard]] net::GrpcOptions read_link_options(const Arguments& arguments);

}  // namespace blindfl::app

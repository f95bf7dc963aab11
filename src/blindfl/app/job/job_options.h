#pragma once

#include <iosfwd>
#include <vector>

#include "blindfl/app/cli/command.h"
#include "blindfl/app/job/job.h"
#include "blindfl/net/grpc/grpc_transport.h"

namespace blindfl::app {

/// The options of every command that works on a job: its file, and what it says otherwise.
[[nodiscard]] std::vector<Option> job_options();

/// `--threads N`, of commands that compute with the peer: what private.resources.threads says.
[[nodiscard]] Option threads_option();

/// The job that they name. Throws ConfigError, saying where and what to write instead, if it is none.
[[nodiscard]] job::Job read_job_options(const Arguments& arguments);

/// A line for somebody who waits for the link; what the library below it said only for debugging.
void print_notice(const net::LinkNotice& notice, bool debug, std::ostream& out);

/// The way to the peer, as a job says it. Throws ConfigError or DataError if a certificate or the key is unusable, or
/// if the peer's certificate has another fingerprint than the job says.
[[nodiscard]] net::GrpcOptions link_of(const job::Link& link);

}  // namespace blindfl::app

#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/app/cli/command.h"
#include "blindfl/app/job/job.h"
#include "blindfl/net/grpc/grpc_transport.h"
#include "blindfl/protocol/session/settings.h"

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

/// One of the links of a job.
struct NamedLink {
  std::string name;  ///< of the A at its other end, where there are several; else empty
  net::GrpcOptions options;
};
/// All of them, in the job's order: one, but at B with several A's. Throws as `link_of` does.
[[nodiscard]] std::vector<NamedLink> links_of(const job::Link& link);

struct NamedCertificate {
  std::string name;
  std::string certificate;  ///< PEM
};
/// Of several A's, as this party knows them, its own included; empty if there is only one. Throws as `link_of` does,
/// and ConfigError if two are the same.
[[nodiscard]] std::vector<NamedCertificate> certificates_of_as(const job::Link& link);

/// What B and the A called `name` must both say of several A's: their names, and fingerprints of their certificates.
[[nodiscard]] protocol::Settings roster_settings(const std::vector<NamedCertificate>& all, std::string_view name);

}  // namespace blindfl::app

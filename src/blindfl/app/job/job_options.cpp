#include "blindfl/app/job/job_options.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <ostream>

namespace blindfl::app {

namespace {

/// What is left of a fingerprint that was written down by hand.
std::string digits_of(std::string_view fingerprint) {
  std::string digits;
  for (const char c : fingerprint) {
    if (c != ' ' && c != ':') digits += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return digits;
}

/// The link would say so only after the first call, and the listener not at all.
void check_dates(std::string_view certificate, const std::filesystem::path& path, std::string_view who) {
  const net::Validity valid = net::validity_of(certificate);
  const auto now = std::chrono::system_clock::now();
  require<ConfigError>(now <= valid.not_after, path.string(), ": the certificate has expired; ", who,
                       " must make a new one with `blindfl keygen`");
  require<ConfigError>(now >= valid.not_before, path.string(),
                       ": the certificate is not valid yet; check the clock of this machine, and of whoever made it");
}

net::TlsOptions tls_of(const job::Link& link) {
  require<ConfigError>(link.certificate && link.key && link.peer,
                       "private.link: needs certificate, key and peer; make the first two with `blindfl keygen`");
  net::TlsOptions tls{net::load_identity(*link.certificate, *link.key), net::load_certificate(*link.peer)};
  const bool is_the_peer =
      !link.peer_fingerprint || digits_of(*link.peer_fingerprint) == digits_of(net::fingerprint(tls.peer_certificate));
  require<ConfigError>(is_the_peer, link.peer->string(),
                       ": has another fingerprint than private.link.peer_fingerprint; ask the peer for both again, in "
                       "two different ways, for somebody may have replaced the file");
  check_dates(tls.identity.certificate, *link.certificate, "this party");
  check_dates(tls.peer_certificate, *link.peer, "the peer");
  return tls;
}

}  // namespace

std::vector<Option> job_options() {
  return {{.name = "job",
           .placeholder = "FILE",
           .summary = "the job file; `blindfl parameters` explains what it may say",
           .need = Option::Need::kRequired},
          {.name = "set",
           .placeholder = "KEY=VALUE",
           .summary = "instead of what the file says: --set shared.training.epochs=5",
           .repeats = true}};
}

Option threads_option() {
  return {.name = "threads", .placeholder = "N", .summary = "threads that compute: private.resources.threads"};
}

job::Job read_job_options(const Arguments& arguments) {
  std::vector<std::string> overrides = arguments.all("set");
  if (arguments.has("threads")) {
    const std::int64_t threads = arguments.integer("threads", 1, 4096);
    overrides.push_back("private.resources.threads=" + std::to_string(threads));
  }
  return job::load_job(arguments.text("job"), overrides);
}

void print_notice(const net::LinkNotice& notice, bool debug, std::ostream& out) {
  out << notice.words << '\n';
  if (debug && !notice.detail.empty()) out << "  " << notice.detail << '\n';
  out << std::flush;
}

net::GrpcOptions link_of(const job::Link& link) {
  require<ConfigError>(link.listen.has_value() != link.dial.has_value(),
                       "private.link: say where the peer is: either listen or dial");
  net::GrpcOptions options;
  options.role = link.listen ? net::GrpcOptions::Role::kListen : net::GrpcOptions::Role::kDial;
  options.address = link.listen ? *link.listen : link.dial.value_or("");
  options.patience = std::chrono::seconds(link.patience);
  options.silence = std::chrono::seconds(link.patience_silent);
  options.keepalive = std::chrono::seconds(link.keepalive);
  options.window = std::uint64_t{link.window} << 20;
  if (!link.plaintext) options.tls = tls_of(link);
  return options;
}

}  // namespace blindfl::app

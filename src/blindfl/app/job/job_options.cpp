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

/// A certificate of somebody else, as a job names it: where, and whose.
struct OthersCertificate {
  const std::filesystem::path& path;
  const std::optional<std::string>& fingerprint;
  std::string fingerprint_key;
  std::string who;
};

std::string load_certificate_of(const OthersCertificate& other) {
  std::string certificate = net::load_certificate(other.path);
  const bool is_theirs =
      !other.fingerprint || digits_of(*other.fingerprint) == digits_of(net::fingerprint(certificate));
  require<ConfigError>(is_theirs, other.path.string(), ": has another fingerprint than ", other.fingerprint_key,
                       "; ask ", other.who,
                       " for both again, in two different ways, for somebody may have replaced the file");
  check_dates(certificate, other.path, other.who);
  return certificate;
}

std::string key_of(const char* list, std::size_t index, const char* option) {
  return std::string("private.link.").append(list) + "[" + std::to_string(index) + "]." + option;
}

std::string certificate_of_peer(const job::Link& link, std::size_t i) {
  const job::PeerLink& peer = link.peers[i];
  return load_certificate_of({peer.certificate, peer.fingerprint, key_of("peers", i, "fingerprint"), peer.name});
}

net::Identity identity_of(const job::Link& link) {
  require<ConfigError>(link.certificate && link.key,
                       "private.link: needs certificate and key; make them with `blindfl keygen`");
  net::Identity identity = net::load_identity(*link.certificate, *link.key);
  check_dates(identity.certificate, *link.certificate, "this party");
  return identity;
}

net::TlsOptions tls_of(const job::Link& link) {
  require<ConfigError>(link.certificate && link.key && link.peer,
                       "private.link: needs certificate, key and peer; make the first two with `blindfl keygen`");
  return {identity_of(link),
          load_certificate_of({*link.peer, link.peer_fingerprint, "private.link.peer_fingerprint", "the peer"})};
}

/// What a job says alike of all its links.
net::GrpcOptions common_options(const job::Link& link) {
  net::GrpcOptions options;
  options.patience = std::chrono::seconds(link.patience);
  options.silence = std::chrono::seconds(link.patience_silent);
  options.keepalive = std::chrono::seconds(link.keepalive);
  options.window = std::uint64_t{link.window} << 20;
  return options;
}

void set_address(const std::optional<std::string>& listen, const std::optional<std::string>& dial,
                 net::GrpcOptions& options) {
  options.role = listen ? net::GrpcOptions::Role::kListen : net::GrpcOptions::Role::kDial;
  options.address = listen ? *listen : dial.value_or("");
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
  net::GrpcOptions options = common_options(link);
  set_address(link.listen, link.dial, options);
  if (!link.plaintext) options.tls = tls_of(link);
  return options;
}

std::vector<NamedLink> links_of(const job::Link& link) {
  if (link.peers.empty()) return {{.name = {}, .options = link_of(link)}};
  std::vector<NamedLink> links;
  links.reserve(link.peers.size());
  for (std::size_t i = 0; i < link.peers.size(); ++i) {
    const job::PeerLink& peer = link.peers[i];
    NamedLink& named = links.emplace_back(NamedLink{.name = peer.name, .options = common_options(link)});
    set_address(peer.listen, peer.dial, named.options);
    named.options.tls = net::TlsOptions{identity_of(link), certificate_of_peer(link, i)};
  }
  return links;
}

std::vector<NamedCertificate> certificates_of_as(const job::Link& link) {
  std::vector<NamedCertificate> all;
  for (std::size_t i = 0; i < link.peers.size(); ++i) {
    all.push_back({link.peers[i].name, certificate_of_peer(link, i)});
  }
  if (!link.others.empty()) all.push_back({link.name.value_or(""), identity_of(link).certificate});
  for (std::size_t i = 0; i < link.others.size(); ++i) {
    const job::OtherA& other = link.others[i];
    all.push_back({other.name, load_certificate_of({other.certificate, other.fingerprint,
                                                    key_of("others", i, "fingerprint"), other.name})});
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      require<ConfigError>(!net::same_certificate(all[i].certificate, all[k].certificate),
                           "private.link: ", all[k].name, " and ", all[i].name,
                           " have the same certificate; each A has one of its own, from `blindfl keygen`");
    }
  }
  return all;
}

protocol::Settings roster_settings(const std::vector<NamedCertificate>& all, std::string_view name) {
  std::vector<const NamedCertificate*> sorted;
  sorted.reserve(all.size());
  for (const NamedCertificate& each : all) sorted.push_back(&each);
  std::ranges::sort(sorted, {}, &NamedCertificate::name);
  protocol::Settings settings;
  settings.add("the name of this A", name);
  for (const NamedCertificate* each : sorted) {
    settings.add("the certificate of " + each->name, net::fingerprint(each->certificate));
  }
  return settings;
}

}  // namespace blindfl::app

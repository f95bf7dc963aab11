#include <algorithm>
#include <charconv>
#include <set>
#include <system_error>

#include "blindfl/app/job/check.h"
#include "blindfl/protocol/align/psi_all.h"

namespace blindfl::app::job {

namespace {

constexpr std::size_t kLongestName = 64;

void check_address(const std::optional<std::string>& address, const std::string& key, std::uint16_t lowest_port,
                   const Given& given) {
  if (!address) return;
  const std::size_t colon = address->rfind(':');
  const bool has_port = colon != std::string::npos && colon > 0;
  const char* const end = address->data() + address->size();
  std::uint16_t port = 0;
  const auto [stopped, problem] = std::from_chars(has_port ? address->data() + colon + 1 : end, end, port);
  check(has_port && problem == std::errc() && stopped == end && port >= lowest_port, given, key,
        "must be HOST:PORT, as in 10.0.0.5:7000");
}

bool is_fingerprint(std::string_view text) {
  constexpr std::ptrdiff_t kDigits = 64;
  const auto is_digit = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  };
  return std::ranges::count_if(text, is_digit) == kDigits &&
         std::ranges::all_of(text, [&](char c) { return is_digit(c) || c == ' ' || c == ':'; });
}

void check_fingerprint(const std::optional<std::string>& fingerprint, const std::string& key, const Given& given) {
  check(!fingerprint || is_fingerprint(*fingerprint), given, key,
        "must be 64 hexadecimal digits, as `blindfl fingerprint` prints them");
}

/// Whoever pastes a key where its path belongs must not find it in an error, nor try to open it.
void check_path(const std::optional<std::filesystem::path>& path, const std::string& key, const Given& given) {
  check(!path || path->string().find("-----BEGIN") == std::string::npos, given, key,
        "must be the path of a file, and not what is in it");
}

/// Names are parts of lines in logs, and of names of files.
void check_name(const std::string& name, const std::string& key, const Given& given) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  };
  check(!name.empty() && name.size() <= kLongestName && name.front() != '.' && std::ranges::all_of(name, is_plain),
        given, key, "must be 1 to ", kLongestName, " letters, digits, '-', '_' and '.', and not begin with '.'");
}

/// Names of A's that were seen, and what each is called again.
class Names {
 public:
  explicit Names(const Given& given) : given_(given) {}
  void add(const std::string& name, const std::string& key) {
    check_name(name, key, given_);
    check(names_.insert(name).second, given_, key, "there are two A's called '", name,
          "'; give one of them another name, in its own job and in those of all others too");
  }

 private:
  const Given& given_;
  std::set<std::string> names_;
};

/// What is said of one peer, with several has another place.
void check_not_of_one(const Link& link, const Given& given) {
  const bool is_of_one = link.listen || link.dial || link.peer || link.peer_fingerprint;
  check(!is_of_one, given, "private.link.peers",
        "says where each A is; leave out listen, dial, peer and peer_fingerprint beside it");
}

void check_peers(const Link& link, const Given& given) {
  check(link.peers.size() > 1, given, "private.link.peers", "is for several A's; of one, say listen or dial, and peer");
  check_not_of_one(link, given);
  Names names(given);
  std::set<std::string> ports;
  for (std::size_t i = 0; i < link.peers.size(); ++i) {
    const PeerLink& peer = link.peers[i];
    const std::string key = "private.link.peers[" + std::to_string(i) + "]";
    names.add(peer.name, key + ".name");
    check(peer.listen.has_value() != peer.dial.has_value(), given, key, "say where ", peer.name,
          " is: either listen or dial");
    check_address(peer.listen, key + ".listen", 0, given);
    check_address(peer.dial, key + ".dial", 1, given);
    const bool is_free = !peer.listen || peer.listen->ends_with(":0") || ports.insert(*peer.listen).second;
    check(is_free, given, key + ".listen", "another A is waited for at this address; each needs a port of its own");
    check_path(peer.certificate, key + ".certificate", given);
    check_fingerprint(peer.fingerprint, key + ".fingerprint", given);
  }
}

void check_others(const Link& link, const Given& given) {
  check(link.name.has_value(), given, "private.link.name",
        "is missing: what B and the other A's call this one, since there are several");
  Names names(given);
  names.add(*link.name, "private.link.name");
  for (std::size_t i = 0; i < link.others.size(); ++i) {
    const std::string key = "private.link.others[" + std::to_string(i) + "]";
    names.add(link.others[i].name, key + ".name");
    check_path(link.others[i].certificate, key + ".certificate", given);
    check_fingerprint(link.others[i].fingerprint, key + ".fingerprint", given);
  }
}

/// What there is for one A alone.
void check_several(const Job& job, const Given& given) {
  const Link& link = job.own.link;
  check(!link.plaintext, given, "private.link.plaintext",
        "with several A's there is no link without certificates: the A's sign with them what B passes on");
  check(!job.shared.model.shared_top(), given, "shared.model.top",
        "a shared top is between B and one A, and this job has ", link.names_of_as().size(),
        "; say shared.model.top: open, and at each A that accepts it private.accept: open_top");
  check(!job.own.run.keep_view, given, "private.run.keep_view",
        "keeps what is seen of one peer, for `blindfl audit --attacks`, and this job has several A's; leave it out");
  const AlignmentMode mode = job.shared.alignment.mode;
  if (mode != AlignmentMode::kOnlyB && mode != AlignmentMode::kUnion) return;
  const auto kind = mode == AlignmentMode::kUnion ? protocol::AlignmentKind::kUnion : protocol::AlignmentKind::kOnlyB;
  check(false, given, "shared.alignment.mode", Value<AlignmentMode>::write(mode), " is for one A: with several ",
        protocol::reason_against_several(kind), "; take intersection or aligned");
}

void check_one(const Link& link, const Given& given) {
  check(link.listen.has_value() != link.dial.has_value(), given, "private.link",
        "say where the peer is: either listen or dial");
  check_address(link.listen, "private.link.listen", 0, given);
  check_address(link.dial, "private.link.dial", 1, given);
  check_path(link.certificate, "private.link.certificate", given);
  check_path(link.key, "private.link.key", given);
  check_path(link.peer, "private.link.peer", given);
  check(!link.plaintext || (!link.certificate && !link.key && !link.peer && !link.peer_fingerprint), given,
        "private.link.plaintext", "uses no certificates: leave out either it or certificate, key and peer");
  check(link.plaintext || (link.certificate && link.key && link.peer), given, "private.link",
        "needs certificate, key and peer; make the first two with `blindfl keygen`");
  check_fingerprint(link.peer_fingerprint, "private.link.peer_fingerprint", given);
}

}  // namespace

void check_link(const Job& job, const Given& given) {
  const Link& link = job.own.link;
  const bool is_b = job.own.party == Party::kB;
  check(is_b || link.peers.empty(), given, "private.link.peers",
        "is for B, who talks to all A's, and this is A, who talks to B: say listen or dial and peer of B, and list the "
        "other A's as private.link.others");
  check(!is_b || link.others.empty(), given, "private.link.others",
        "is for A, and this is B: list the A's as private.link.peers");
  check(!link.name || !link.others.empty(), given, "private.link.name",
        is_b ? "is for A, where there are several; leave it out"
             : "is for jobs with several A's; leave it out, or list the others as private.link.others");
  if (link.several_as()) check_several(job, given);
  if (!link.others.empty()) check_others(link, given);
  if (link.peers.empty()) return check_one(link, given);
  check_peers(link, given);
  check_path(link.certificate, "private.link.certificate", given);
  check_path(link.key, "private.link.key", given);
  check(link.certificate && link.key, given, "private.link",
        "needs certificate and key; make them with `blindfl keygen`");
}

}  // namespace blindfl::app::job

#include "blindfl/app/init/link_draft.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blindfl/app/init/party_draft.h"
#include "blindfl/base/error.h"

namespace blindfl::app::init {

namespace {

using std::filesystem::path;

constexpr const char* kLocalAddress = "127.0.0.1:7000";

void check_typed_address(const std::string& address, std::string_view flag) {
  const std::size_t colon = address.rfind(':');
  const std::string_view port =
      colon == std::string::npos ? std::string_view() : std::string_view(address).substr(colon + 1);
  const bool fine = colon > 0 && !port.empty() && port.size() <= 5 &&
                    std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; });
  require<UsageError>(fine, "--", flag, " must be HOST:PORT, as in 10.0.0.5:7000, not '", address, "'");
}

/// What is said of one of several A's: "NAME=VALUE".
struct Named {
  std::string name;
  std::string value;
};
std::vector<Named> named(const Arguments& arguments, std::string_view flag, std::string_view value) {
  std::vector<Named> all;
  for (const std::string& said : arguments.all(flag)) {
    const std::size_t equals = said.find('=');
    require<UsageError>(equals != std::string::npos && equals > 0, "--", flag, ": with several A's say NAME=", value,
                        " for each, not '", said, "'");
    all.push_back({said.substr(0, equals), said.substr(equals + 1)});
  }
  return all;
}

/// The one of that name, which is taken out.
std::optional<std::string> take(std::vector<Named>& all, const std::string& name) {
  const auto found = std::ranges::find(all, name, &Named::name);
  if (found == all.end()) return std::nullopt;
  std::string value = std::move(found->value);
  all.erase(found);
  return value;
}

job::PeerLink peer_link(const Named& address, bool listens, std::vector<Named>& certificates, const path& folder,
                        std::vector<path>& files) {
  const std::string_view flag = listens ? "listen" : "dial";
  check_typed_address(address.value, flag);
  const std::optional<std::string> certificate = take(certificates, address.name);
  require<UsageError>(certificate.has_value(), "--peer ", address.name, "=FILE is missing: the certificate of ",
                      address.name);
  files.emplace_back(*certificate);
  job::PeerLink peer{.name = address.name, .certificate = seen_from(folder, *certificate)};
  (listens ? peer.listen : peer.dial) = address.value;
  return peer;
}

/// B's link to several A's, each with an address and a certificate.
void draft_peers(const path& folder, const Arguments& arguments, LinkDraft& draft) {
  std::vector<Named> certificates = named(arguments, "peer", "FILE");
  for (const bool listens : {true, false}) {
    for (const Named& address : named(arguments, listens ? "listen" : "dial", "HOST:PORT")) {
      draft.link.peers.push_back(peer_link(address, listens, certificates, folder, draft.certificates));
    }
  }
  require<UsageError>(certificates.empty(), "--peer ", certificates.empty() ? "" : certificates.front().name,
                      ": there is neither --listen nor --dial for it, or it is there twice");
}

void draft_others(const path& folder, const Arguments& arguments, LinkDraft& draft) {
  draft.link.name = arguments.has("name") ? arguments.text("name") : std::string();
  require<UsageError>(!draft.link.name->empty(), "--name is missing: what B and the other A's call this one");
  for (const Named& other : named(arguments, "other", "FILE")) {
    draft.link.others.push_back({.name = other.name, .certificate = seen_from(folder, other.value)});
    draft.certificates.emplace_back(other.value);
  }
}

void check_flags(Party party, bool several, const Arguments& arguments) {
  const bool is_a = party == Party::kA;
  require<UsageError>(is_a || !(arguments.has("other") || arguments.has("name")),
                      "--name and --other are for A, where there are several; B says --listen NAME=HOST:PORT or --dial "
                      "NAME=HOST:PORT, and --peer NAME=FILE, of each A");
  require<UsageError>(arguments.has("other") || !arguments.has("name"),
                      "--name is for several A's: --other is missing");
  require<UsageError>((several && !is_a) || !arguments.has("listen") || !arguments.has("dial"),
                      "--listen and --dial exclude each other: one party waits, and the other calls");
  for (const std::string_view flag : {"listen", "dial", "peer"}) {
    require<UsageError>((several && !is_a) || arguments.all(flag).size() <= 1, "--", flag, " is given twice");
  }
  if (!arguments.has("plaintext")) return;
  require<UsageError>(!several, "--plaintext is for one A: several sign with their certificates what B passes on");
  for (const std::string_view flag : {"certificate", "key", "peer"}) {
    require<UsageError>(!arguments.has(flag), "--plaintext uses no certificates: leave out --", flag);
  }
}

/// Of the one peer.
void draft_address(Party party, const Arguments& arguments, Questions& questions, job::Link& link) {
  if (arguments.has("listen") || (party == Party::kB && !arguments.has("dial"))) {
    link.listen =
        questions.said_or_asked(arguments, "listen", "Address to wait for the peer at, as HOST:PORT", "0.0.0.0:7000",
                                [](const std::string& a) { check_typed_address(a, "listen"); });
  } else {
    link.dial =
        questions.said_or_asked(arguments, "dial", "Address where the peer listens, as HOST:PORT (or give --listen)",
                                std::nullopt, [](const std::string& a) { check_typed_address(a, "dial"); });
  }
}

}  // namespace

bool names_several(const Arguments& arguments) {
  const auto is_named = [](const std::string& said) { return said.find('=') != std::string::npos; };
  return arguments.has("other") || std::ranges::any_of(arguments.all("listen"), is_named) ||
         std::ranges::any_of(arguments.all("dial"), is_named);
}

LinkDraft draft_link(Party party, const path& folder, const Arguments& arguments, Questions& questions) {
  const bool is_a = party == Party::kA;
  const bool several = names_several(arguments);
  check_flags(party, several, arguments);
  LinkDraft draft;
  if (is_a || !several) draft_address(party, arguments, questions, draft.link);
  draft.link.plaintext = arguments.has("plaintext");
  if (draft.link.plaintext) return draft;
  const auto flag = [&](std::string_view name) {
    return arguments.has(name) ? std::optional<path>(arguments.text(name)) : std::nullopt;
  };
  LinkFlags flags{.certificate = flag("certificate"), .key = flag("key"), .peer = flag("peer")};
  if (several && !is_a && flags.peer) flags.peer = flags.peer->string().substr(flags.peer->string().find('=') + 1);
  draft.files = find_link_files(party, folder, flags);
  draft.link.certificate = seen_from(folder, draft.files->own.certificate);
  draft.link.key = seen_from(folder, draft.files->own.key);
  if (several && !is_a) {
    draft_peers(folder, arguments, draft);
  } else {
    draft.link.peer = seen_from(folder, draft.files->peer);
    draft.certificates = {draft.files->peer};
    if (several) draft_others(folder, arguments, draft);
  }
  return draft;
}

job::Link local_link(Party party) {
  job::Link link;
  (party == Party::kA ? link.dial : link.listen) = kLocalAddress;
  link.plaintext = true;
  return link;
}

}  // namespace blindfl::app::init

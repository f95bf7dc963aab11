#include "blindfl/app/init/link_files.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <vector>

#include "blindfl/app/cli/command.h"
#include "blindfl/base/error.h"
#include "blindfl/net/identity.h"

namespace blindfl::app::init {

namespace {

using std::filesystem::path;

/// Files of a folder that end so, by name.
std::vector<path> files_in(const path& folder, std::string_view ending) {
  std::vector<path> files;
  std::error_code unreadable;
  for (const auto& entry : std::filesystem::directory_iterator(folder, unreadable)) {
    if (entry.path().extension() == ending) files.push_back(folder / entry.path().filename());
  }
  std::ranges::sort(files);
  return files;
}

std::string list_of_files(const std::vector<path>& files) {
  constexpr std::size_t kShown = 20;
  std::string list;
  for (std::size_t i = 0; i < std::min(files.size(), kShown); ++i) {
    list.append(list.empty() ? "" : ", ").append(files[i].string());
  }
  return files.size() > kShown ? list + ", ..." : list;
}

/// What is in the first folder that has something.
struct Found {
  std::vector<path> certificates;
  std::vector<path> keys;
};

Found look_around(const path& job_folder, const LinkFlags& flags) {
  std::vector<path> folders{job_folder / "keys", "keys", "."};
  if (flags.certificate) folders.insert(folders.begin(), flags.certificate->parent_path());
  for (const path& folder : folders) {
    Found found{files_in(folder, ".crt"), files_in(folder, ".key")};
    if (!found.certificates.empty() || !found.keys.empty()) return found;
  }
  return {};
}

bool belong_together(const path& certificate, const path& key) {
  try {
    (void)net::load_identity(certificate, key);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// The certificate of a key: of the same name, where any fault is an error, or any that fits.
path certificate_of(const path& key, const std::vector<path>& certificates) {
  path same = key;
  same.replace_extension(".crt");
  if (std::ranges::find(certificates, same) != certificates.end()) {
    (void)net::load_identity(same, key);
    return same;
  }
  const auto fits = std::ranges::find_if(certificates, [&](const path& file) { return belong_together(file, key); });
  require<ConfigError>(fits != certificates.end(), key.string(),
                       ": no certificate beside it belongs to this key; name both with --certificate and --key");
  return *fits;
}

bool is_same(const path& one, const path& other) {
  try {
    return net::same_certificate(net::load_certificate(one), net::load_certificate(other));
  } catch (const Error&) {
    return one == other;
  }
}

IdentityFiles find_own(const Found& found, const LinkFlags& flags) {
  if (flags.certificate || flags.key) {
    require<UsageError>(flags.certificate.has_value(), "--certificate is missing: the certificate of --key");
    require<UsageError>(flags.key.has_value(), "--key is missing: the private key of --certificate");
    return {*flags.certificate, *flags.key};
  }
  require<UsageError>(found.keys.size() == 1,
                      "--certificate and --key are missing, and there are several: ", list_of_files(found.keys));
  return {certificate_of(found.keys.front(), found.certificates), found.keys.front()};
}

void find_peer(LinkFiles& files, const Found& found, const LinkFlags& flags, const path& expected) {
  files.peer = flags.peer.value_or(expected);
  files.peer_is_there = flags.peer && std::filesystem::exists(*flags.peer);
  if (flags.peer) return;
  std::vector<path> others;
  std::ranges::copy_if(found.certificates, std::back_inserter(others),
                       [&](const path& file) { return files.is_new || !is_same(file, files.own.certificate); });
  require<UsageError>(others.size() <= 1,
                      "--peer is missing: which of these is the peer's certificate: ", list_of_files(others));
  if (others.empty()) return;
  files.peer = others.front();
  files.peer_is_there = true;
}

}  // namespace

LinkFiles find_link_files(Party party, const path& job_folder, const LinkFlags& flags) {
  const bool is_a = party == Party::kA;
  const Found found = look_around(job_folder, flags);
  LinkFiles files;
  files.is_new = !flags.certificate && !flags.key && found.keys.empty();
  const path keys = job_folder / "keys";
  if (files.is_new) {
    files.own = {keys / (is_a ? "a.crt" : "b.crt"), keys / (is_a ? "a.key" : "b.key")};
  } else {
    files.own = find_own(found, flags);
  }
  const path folder = files.own.certificate.parent_path();
  find_peer(files, found, flags, folder / (is_a ? "b.crt" : "a.crt"));
  require<UsageError>(
      !files.is_new || files.peer != files.own.certificate, "--peer ", files.peer.string(),
      ": this party's own certificate goes there; make the identity with `blindfl keygen` under another "
      "name");
  return files;
}

}  // namespace blindfl::app::init

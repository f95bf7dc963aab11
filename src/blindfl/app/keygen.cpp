#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <ostream>
#include <string>
#include <system_error>

#include "blindfl/app/certificate_text.h"
#include "blindfl/app/commands.h"
#include "blindfl/net/identity.h"

namespace blindfl::app {

namespace {

constexpr mode_t kOwnerOnly = 0700;

void make_folder(const std::filesystem::path& folder) {
  if (mkdir(folder.c_str(), kOwnerOnly) == 0) return;
  const int problem = errno;
  std::error_code unreadable;
  if (problem == EEXIST && std::filesystem::is_directory(folder, unreadable)) return;
  require<ConfigError>(problem != EEXIST, folder.string(), ": is not a folder; choose another one for --out");
  fail<ConfigError>(folder.string(), ": cannot be created: ", std::strerror(problem),
                    "; check that the folder above it exists and that you may write to it");
}

void run_keygen(const Arguments& arguments, std::ostream& out) {
  const std::string& name = arguments.text("name");
  require<UsageError>(name.find('/') == std::string::npos && !name.starts_with('.'),
                      "--name must not contain '/' or begin with '.': it is also the name of the files");
  const auto days = static_cast<int>(arguments.integer("days", 1, net::kMaxValidDays));
  const net::Identity identity = net::generate_identity(name, days);

  const std::filesystem::path folder = arguments.text("out");
  const std::filesystem::path certificate_path = folder / (name + ".crt");
  const std::filesystem::path key_path = folder / (name + ".key");
  make_folder(folder);
  net::save_identity(identity, certificate_path, key_path);

  out << "certificate: " << certificate_path.string() << "\nprivate key: " << key_path.string() << '\n'
      << describe_certificate(identity.certificate)
      << "\n"
         "What to do next:\n"
         "  1. Send the certificate (.crt) to your peer, and get theirs. It is not secret.\n"
         "  2. Compare fingerprints by phone: each reads out their own, and the other checks it with\n"
         "     `blindfl fingerprint --certificate FILE`. If they differ, somebody replaced the file on its way.\n"
         "  3. Never send the private key (.key) to anybody, and keep it readable by you alone.\n";
}

std::string more_help() {
  return "Do this once, on the machine that will run; nothing is replaced. The .crt goes to the peer, the .key to "
         "nobody.\n"
         "\n"
         "example:\n"
         "  blindfl keygen --name bank --out keys      writes keys/bank.crt and keys/bank.key\n";
}

}  // namespace

Command keygen_command() {
  return {.name = "keygen",
          .summary = "makes this party's identity: a private key, and a certificate for the peer",
          .options = {{.name = "name",
                       .placeholder = "NAME",
                       .summary = "the party's name, in the certificate and of the files",
                       .need = Option::Need::kRequired},
                      {.name = "out",
                       .placeholder = "FOLDER",
                       .summary = "where to write NAME.crt and NAME.key; created if it does not exist",
                       .need = Option::Need::kRequired},
                      {.name = "days",
                       .placeholder = "DAYS",
                       .summary = "how long the certificate is valid",
                       .fallback = "825"}},
          .run = run_keygen,
          .more_help = more_help};
}

}  // namespace blindfl::app

#include <ostream>
#include <string>

#include "blindfl/app/commands/commands.h"
#include "blindfl/app/link/certificate_text.h"
#include "blindfl/app/link/identity_files.h"
#include "blindfl/net/identity.h"

namespace blindfl::app {

namespace {

void run_keygen(const Arguments& arguments, std::ostream& out) {
  const std::string& name = arguments.text("name");
  require<UsageError>(name.find('/') == std::string::npos && !name.starts_with('.'),
                      "--name must not contain '/' or begin with '.': it is also the name of the files");
  const auto days = static_cast<int>(arguments.integer("days", 1, net::kMaxValidDays));
  const IdentityFiles files = make_identity_files(name, arguments.text("out"), days);

  out << "certificate: " << files.certificate.string() << "\nprivate key: " << files.key.string() << '\n'
      << describe_certificate(net::load_certificate(files.certificate))
      << "\n"
         "What to do next:\n"
         "  1. Send the certificate (.crt) to your peer, and get theirs. It is not secret.\n"
         "  2. Compare fingerprints by phone: each reads out their own, and the other checks it with\n"
         "     `blindfl fingerprint --certificate FILE`. If they differ, somebody replaced the file on its way.\n"
         "  3. Never send the private key (.key) to anybody, and keep it readable by you alone.\n";
}

std::string more_help_of_keygen() {
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
          .more_help = more_help_of_keygen};
}

}  // namespace blindfl::app

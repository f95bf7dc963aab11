#include <ostream>

#include "blindfl/app/commands/commands.h"
#include "blindfl/app/link/certificate_text.h"
#include "blindfl/net/identity.h"

namespace blindfl::app {

namespace {

void run_fingerprint(const Arguments& arguments, std::ostream& out) {
  out << describe_certificate(net::load_certificate(arguments.text("certificate")));
}

std::string more_help_of_fingerprint() {
  return "example:\n"
         "  blindfl fingerprint --certificate keys/bank.crt      its owner reads out the same 64 digits, or it was "
         "replaced\n";
}

}  // namespace

Command fingerprint_command() {
  return {.name = "fingerprint",
          .summary = "shows a certificate's fingerprint, to compare with what its owner reads to you",
          .options = {{.name = "certificate",
                       .placeholder = "FILE",
                       .summary = "the certificate, for instance the one a peer sent",
                       .need = Option::Need::kRequired}},
          .run = run_fingerprint,
          .more_help = more_help_of_fingerprint};
}

}  // namespace blindfl::app

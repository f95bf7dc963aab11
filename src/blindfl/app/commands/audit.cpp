#include <ostream>

#include "blindfl/app/commands/commands.h"
#include "blindfl/app/link/steps.h"
#include "blindfl/net/ledger/ledger_comparison.h"
#include "blindfl/net/ledger/ledger_file.h"
#include "blindfl/net/ledger/ledger_report.h"

namespace blindfl::app {

namespace {

void run_audit(const Arguments& arguments, std::ostream& out) {
  const net::LedgerFile ledger = net::read_ledger(arguments.text("ledger"), all_steps());
  net::print_audit(out, ledger);
  if (!arguments.has("peer-ledger")) return;

  const net::LedgerFile peer = net::read_ledger(arguments.text("peer-ledger"), all_steps());
  out << '\n';
  net::print_audit(out, peer);
  const net::LedgerComparison comparison = net::compare(ledger, peer);
  require<DataError>(comparison.strangers.empty(), "nothing was compared: ", comparison.strangers);
  out << '\n';
  net::print_comparison(out, comparison);
  require<DataError>(comparison.agree(), "the two ledgers contradict each other: see above");
}

std::string more_help_of_audit() {
  return "A ledger names every message that crossed the link, its size and a hash, and nothing of what is in it. "
         "Training\n"
         "writes one into the run's folder, unless private.run.ledger is false. The exit code is 1 if two ledgers "
         "differ.\n"
         "\n"
         "examples:\n"
         "  blindfl audit --ledger run/transcript.ledger\n"
         "  blindfl audit --ledger run/transcript.ledger --peer-ledger from_peer.ledger\n";
}

}  // namespace

Command audit_command() {
  return {.name = "audit",
          .summary = "shows what crossed the link, from a party's ledger; compares it with the peer's",
          .options = {{.name = "ledger",
                       .placeholder = "FILE",
                       .summary = "the ledger that this party wrote",
                       .need = Option::Need::kRequired},
                      {.name = "peer-ledger", .placeholder = "FILE", .summary = "the peer's ledger of the same run"}},
          .run = run_audit,
          .more_help = more_help_of_audit};
}

}  // namespace blindfl::app

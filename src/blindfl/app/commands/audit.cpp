#include <ostream>
#include <string>
#include <string_view>

#include "blindfl/app/commands/commands.h"
#include "blindfl/app/commands/hand_over.h"
#include "blindfl/app/link/steps.h"
#include "blindfl/net/ledger/ledger_comparison.h"
#include "blindfl/net/ledger/ledger_file.h"
#include "blindfl/net/ledger/ledger_report.h"

namespace blindfl::app {

namespace {

void show_ledgers(const Arguments& arguments, std::ostream& out) {
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
         "With --attacks, the attacks that this program knows are run on what this party has of its own finished run, "
         "each\n"
         "beside what it makes of random numbers, and the run's report gets a page about them, attacks.html. Source "
         "layers can\n"
         "be looked at if the run kept this party's view (private.run.keep_view). The peer is not needed, and nothing "
         "is sent.\n"
         "What needs the peer's columns to compare with needs --truth, for a rehearsal with both parties' folders on "
         "one machine.\n"
         "\n"
         "examples:\n"
         "  blindfl audit --ledger run/transcript.ledger\n"
         "  blindfl audit --ledger run/transcript.ledger --peer-ledger from_peer.ledger\n"
         "  blindfl audit --attacks run\n"
         "  blindfl audit --attacks b/run --truth a/run\n";
}

void check_options(const Arguments& arguments) {
  const bool attacks = arguments.has("attacks");
  if (attacks == arguments.has("ledger")) {
    throw UsageError(attacks ? "--ledger and --attacks are two audits: run one after the other"
                             : "--ledger is missing: the ledger that this party wrote; or --attacks, with the folder "
                               "of a finished run");
  }
  for (const std::string_view option : {"truth", "training-scores"}) {
    if (!attacks && arguments.has(option)) throw UsageError("--" + std::string(option) + " is for --attacks");
  }
  if (attacks && arguments.has("peer-ledger")) throw UsageError("--peer-ledger is for --ledger");
}

}  // namespace

void run_audit(const Arguments& arguments, std::ostream& out) {
  check_options(arguments);
  if (arguments.has("attacks")) {
    hand_over(arguments, out);
  } else {
    show_ledgers(arguments, out);
  }
}

Command audit_command(Command::Run run) {
  return {.name = "audit",
          .summary = "shows what crossed the link, and compares it with the peer's; or attacks this party's own view",
          .options = {{.name = "ledger", .placeholder = "FILE", .summary = "the ledger that this party wrote"},
                      {.name = "peer-ledger", .placeholder = "FILE", .summary = "the peer's ledger of the same run"},
                      {.name = "attacks",
                       .placeholder = "FOLDER",
                       .summary = "of this party's finished run: what its own view gives away"},
                      {.name = "truth",
                       .placeholder = "FOLDER",
                       .summary = "the peer's folder of the same run, in a rehearsal, to compare with"},
                      {.name = "training-scores",
                       .placeholder = "FILE",
                       .summary = "B: scores of rows that were trained with, as `predict` writes them"}},
          .run = run,
          .more_help = more_help_of_audit};
}

}  // namespace blindfl::app

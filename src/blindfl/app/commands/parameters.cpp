#include <ostream>

#include "blindfl/app/commands/commands.h"
#include "blindfl/app/job/reference.h"

namespace blindfl::app {

namespace {

void run_parameters(const Arguments& arguments, std::ostream& out) {
  require<UsageError>(!(arguments.has("markdown") && arguments.has("only")),
                      "--markdown prints the whole page: leave out --only");
  if (arguments.has("markdown")) {
    out << job::reference_page();
  } else {
    out << job::reference_text(arguments.has("only") ? arguments.text("only") : std::string());
  }
}

std::string more_help_of_parameters() {
  return "examples:\n"
         "  blindfl parameters --only shared.training\n"
         "  blindfl parameters --only private.data.columns\n";
}

}  // namespace

Command parameters_command() {
  return {.name = "parameters",
          .summary = "explains every option of a job file",
          .options = {{.name = "only", .placeholder = "KEY", .summary = "one section or option: shared.training"},
                      {.name = "markdown", .placeholder = {}, .summary = "as the page docs/parameters.md"}},
          .run = run_parameters,
          .more_help = more_help_of_parameters};
}

}  // namespace blindfl::app

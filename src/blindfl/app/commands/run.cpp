#include "blindfl/app/commands/run.h"

#include <algorithm>
#include <exception>
#include <ostream>

#include "blindfl/app/cli/manual.h"
#include "blindfl/app/commands/commands.h"
#include "blindfl/app/plan/open_top.h"
#include "blindfl/base/error.h"

namespace blindfl::app {

namespace {

// What was typed is part of many messages, and no message may command a terminal or break a line of a log.
std::string without_control_characters(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return (c >= 0 && c < ' ') || c == '\x7F'; }, '?');
  return text;
}

void run_words(std::span<const Command> commands, std::span<const std::string> args, std::ostream& out,
               const Program& program) {
  const std::string& first = args.front();
  if (first == "--help" || first == "-h") {
    out << help_of(commands, program);
    return;
  }
  if (first == "--version") {
    out << program.name << " " << BLINDFL_VERSION << '\n';
    return;
  }
  // For whoever builds the program: its manual page comes from the same table as its help.
  if (first == "--manual" && program.name == kBlindfl.name) {
    out << manual_of(commands, BLINDFL_VERSION);
    return;
  }
  const Command& command = find_command(commands, first);
  const auto words = args.subspan(1);
  if (asks_for_help(words)) {
    out << help_of(command, program);
  } else {
    command.run(Arguments(command, words), out);
  }
}

}  // namespace

std::string_view version() {
  return BLINDFL_VERSION;
}

int run(std::span<const Command> commands, std::span<const std::string> args, std::ostream& out, std::ostream& err,
        const Program& program) {
  if (args.empty()) {
    err << help_of(commands, program);
    return kWrongUsage;
  }
  const bool known = std::ranges::find(commands, args.front(), &Command::name) != commands.end();
  const std::string caller = std::string(program.name) + (known ? " " + args.front() : "");
  try {
    run_words(commands, args, out, program);
    require<Error>(static_cast<bool>(out.flush()),
                   "the output cannot be written; check the disk or the pipe it goes to");
    return kDone;
  } catch (const UsageError& error) {
    err << caller << ": " << without_control_characters(error.what()) << "\nSee: " << caller << " --help\n";
    return kWrongUsage;
  } catch (const ConsentError& error) {
    std::string begin = caller + ": ";
    for (const std::string& line : error.lines()) {
      err << begin << without_control_characters(line) << '\n';
      begin = "  ";
    }
    return kFailed;
  } catch (const std::exception& error) {
    err << caller << ": " << without_control_characters(error.what()) << '\n';
    return kFailed;
  }
}

int run(std::span<const std::string> args, std::ostream& out, std::ostream& err) {
  return run(all_commands(), args, out, err);
}

}  // namespace blindfl::app

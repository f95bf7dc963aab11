#include "blindfl/app/cli/manual.h"

#include <sstream>

namespace blindfl::app {

namespace {

// As plain text in a manual page: no backslash, hyphen, quote or leading dot means anything else.
std::string roff(std::string_view text) {
  std::string plain = text.starts_with('.') ? "\\&" : "";
  for (const char c : text) {
    switch (c) {
      case '\\':
        plain += "\\e";
        break;
      case '-':
        plain += "\\-";
        break;
      case '\'':
        plain += "\\(aq";
        break;
      case '`':
        plain += "\\(ga";
        break;
      default:
        plain += c;
    }
  }
  return plain;
}

void write_manual_rows(std::ostream& out, const std::vector<HelpRow>& rows) {
  for (const auto& [name, what] : rows) out << ".TP\n.B " << roff(name) << '\n' << roff(what) << '\n';
}

void write_command(std::ostream& out, const Command& command) {
  out << ".SS \"blindfl " << roff(command.name) << "\"\n" << roff(command.summary) << "\n.PP\n";
  out << roff(usage_of(command)) << '\n';
  write_manual_rows(out, rows_of(command));
  if (command.more_help == nullptr) return;
  out << ".PP\n.nf\n";
  std::istringstream lines(command.more_help());
  for (std::string line; std::getline(lines, line);) out << roff(line) << '\n';
  out << ".fi\n";
}

}  // namespace

std::string manual_of(std::span<const Command> commands, std::string_view version) {
  std::ostringstream out;
  out << ".TH BLINDFL 1 \"\" \"blindfl " << version << "\" \"User commands\"\n.SH NAME\nblindfl \\- "
      << roff(kBlindfl.summary) << "\n.SH SYNOPSIS\n"
      << roff(kBlindfl.usage) << "\n.SH OPTIONS\n";
  write_manual_rows(out, program_rows());
  out << ".SH COMMANDS\n";
  for (const Command& command : commands) write_command(out, command);
  out << ".SH SEE ALSO\nThe documents in /usr/share/doc/blindfl, README.md first.\n";
  return out.str();
}

}  // namespace blindfl::app

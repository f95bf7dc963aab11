#include "blindfl/net/ledger/ledger_report.h"

#include <iomanip>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/base/number_text.h"

namespace blindfl::net {

namespace {

constexpr int kNameWidth = 20;
constexpr int kWordWidth = 11;
constexpr int kCountWidth = 10;
constexpr int kBytesWidth = 16;

std::string row(std::string_view step, std::string_view protection, const Traffic& sent, const Traffic& received) {
  std::ostringstream line;
  line << std::left << std::setw(kNameWidth) << step << std::setw(kWordWidth) << protection << std::right;
  for (const Traffic& traffic : {sent, received}) {
    line << std::setw(kCountWidth) << traffic.messages << std::setw(kBytesWidth) << traffic.bytes;
  }
  return line.str() + "\n";
}

std::string heading() {
  std::ostringstream lines;
  lines << std::right << std::setw(kNameWidth + kWordWidth + kCountWidth + kBytesWidth) << "sent"
        << std::setw(kCountWidth + kBytesWidth) << "received"
        << "\n";
  lines << std::left << std::setw(kNameWidth) << "step" << std::setw(kWordWidth) << "protection" << std::right;
  for (int direction = 0; direction < 2; ++direction) {
    lines << std::setw(kCountWidth) << "messages" << std::setw(kBytesWidth) << "bytes";
  }
  return lines.str() + "\n";
}

std::string_view state(const LedgerFile& ledger) {
  if (ledger.closed) return "Complete: it has its closing line, and all hashes are right.";
  if (ledger.cut_within_line) {
    return "NOT COMPLETE: it ends within a line. Its party was stopped, or the file was cut; the last messages are "
           "missing. All hashes up to there are right.";
  }
  return "NOT COMPLETE: it has no closing line. Its party was stopped, or the file was cut; the last messages may be "
         "missing. All hashes up to there are right.";
}

std::string chain_line(std::string_view direction, const LedgerChain& chain) {
  std::ostringstream line;
  line << "  " << std::left << std::setw(kCountWidth) << direction << chain.hash << "  after "
       << plainly_counted(chain.traffic.messages, "message") << "\n";
  return line.str();
}

std::string direction_lines(const DirectionComparison& direction) {
  std::ostringstream lines;
  lines << direction.sender << " to " << direction.receiver << ": " << direction.sent << " sent, " << direction.received
        << " received, " << direction.alike << " alike from the first on.\n";
  if (!direction.difference.empty()) lines << "  DIFFERENT, first at " << direction.difference << ".\n";
  if (!direction.shorter.empty()) lines << "  " << direction.shorter << ".\n";
  return lines.str();
}

}  // namespace

void print_audit(std::ostream& out, const LedgerFile& ledger) {
  out << ledger.name << ": party " << ledger.head.party << ", "
      << (ledger.head.session.empty() ? std::string("no session name") : "session '" + ledger.head.session + "'")
      << ", started " << time_text(ledger.head.started) << "\n"
      << state(ledger) << "\n\n";

  const std::vector<StepTotals> steps = audit(ledger);
  out << heading();
  for (const StepTotals& totals : steps) {
    const StepInfo& step = describe(totals.step);
    out << row(step.name, name_of(step.protection), totals.sent, totals.received);
  }
  out << row("all", "", ledger.sent.traffic, ledger.received.traffic) << "\n";

  out << "What they contain, and what they reveal to their receiver:\n";
  for (const StepTotals& totals : steps) {
    const StepInfo& step = describe(totals.step);
    out << "  " << step.name << " (" << name_of(step.protection) << ")\n"
        << "    contains  " << step.contains << "\n"
        << "    reveals   " << step.reveals << "\n";
  }

  out << "\nThe chains end with (the peer's ledger has the same two, the other way round):\n"
      << chain_line(name_of(Direction::kSent), ledger.sent)
      << chain_line(name_of(Direction::kReceived), ledger.received);
}

void print_comparison(std::ostream& out, const LedgerComparison& comparison) {
  if (!comparison.strangers.empty()) {
    out << "These do not belong together: " << comparison.strangers << ".\n";
    return;
  }
  out << direction_lines(comparison.first_to_second) << direction_lines(comparison.second_to_first);
  if (comparison.same()) {
    out << "The ledgers agree: each party received what the other sent, and nothing else.\n";
  } else if (comparison.agree()) {
    out << "The ledgers agree as far as both go, but one is shorter.\n";
  } else {
    out << "THE LEDGERS DO NOT AGREE.\n";
  }
}

}  // namespace blindfl::net

#include "blindfl/net/ledger/ledger_comparison.h"

#include <algorithm>
#include <sstream>

namespace blindfl::net {

namespace {

std::string in_words(const LedgerEntry& entry) {
  const Message& message = entry.message;
  std::ostringstream text;
  text << "'" << name_of(message.step) << "' of layer " << message.layer;
  if (const std::string shape = shape_text(message); shape != "-") text << ", " << shape;
  text << ", " << message.size << " bytes, CRC-32C " << checksum_text(entry.checksum);
  return text.str();
}

std::string ledger_of(const LedgerFile& ledger) {
  return ledger.head.party + "'s ledger" + (ledger.closed ? "" : ", which has no closing line,");
}

// Nobody can receive what was not sent, but a message can be under way when its receiver stops.
void compare_lengths(const LedgerFile& sender, const LedgerFile& receiver, DirectionComparison& result) {
  if (result.sent == result.received) return;
  std::ostringstream text;
  if (result.sent < result.received && sender.closed) {
    text << "message " << result.sent << ": " << result.receiver << " received "
         << in_words(receiver.received.entries[result.sent]) << ", and " << result.sender
         << "'s ledger, which is complete, does not have it as sent";
    result.difference = text.str();
    return;
  }
  const bool sender_is_short = result.sent < result.received;
  const LedgerFile& shorter = sender_is_short ? sender : receiver;
  const std::uint64_t missing = sender_is_short ? result.received - result.sent : result.sent - result.received;
  text << ledger_of(shorter) << " lacks the last " << missing << " that "
       << (sender_is_short ? receiver : sender).head.party << (sender_is_short ? " received: " : " sent: ")
       << shorter.head.party;
  if (shorter.closed) {
    text << " stopped before they arrived";
  } else {
    text << " was stopped before it wrote them down, or the file was cut";
  }
  result.shorter = text.str();
}

DirectionComparison compare_direction(const LedgerFile& sender, const LedgerFile& receiver) {
  const std::vector<LedgerEntry>& sent = sender.sent.entries;
  const std::vector<LedgerEntry>& received = receiver.received.entries;
  DirectionComparison result;
  result.sender = sender.head.party;
  result.receiver = receiver.head.party;
  result.sent = sent.size();
  result.received = received.size();
  const auto differs = std::ranges::mismatch(sent, received);
  result.alike = static_cast<std::uint64_t>(differs.in1 - sent.begin());
  if (differs.in1 == sent.end() || differs.in2 == received.end()) {
    compare_lengths(sender, receiver, result);
  } else {
    std::ostringstream text;
    text << "message " << result.alike << ": " << result.sender << " sent " << in_words(*differs.in1) << "; "
         << result.receiver << " received " << in_words(*differs.in2);
    result.difference = text.str();
  }
  return result;
}

/// The first messages hold random numbers of both parties: where they differ, so do the sessions.
bool begin_alike(const LedgerChain& sent, const LedgerChain& received) {
  if (sent.entries.empty() || received.entries.empty()) return true;
  const LedgerEntry& first = sent.entries.front();
  const LedgerEntry& theirs = received.entries.front();
  return first == theirs || first.message.step != theirs.message.step || !describe(first.message.step).names_session;
}

}  // namespace

LedgerComparison compare(const LedgerFile& first, const LedgerFile& second) {
  LedgerComparison result;
  if (first.head.party == second.head.party) {
    result.strangers = "both ledgers are party " + first.head.party + "'s; compare one of A's with one of B's";
  } else if (!first.head.session.empty() && !second.head.session.empty() && first.head.session != second.head.session) {
    result.strangers = "the two ledgers are of different runs, or of different sessions of one: '" +
                       first.head.session + "' and '" + second.head.session +
                       "'. Each start of a command is a session; compare the ledgers of the same one";
  }
  if (result.strangers.empty() &&
      !(begin_alike(first.sent, second.received) || begin_alike(second.sent, first.received))) {
    result.strangers =
        "the two ledgers are of different runs, or of different sessions of one: their first messages, "
        "which hold random numbers of both parties, are not the same. Each start of a command is a "
        "session, with a ledger of its own; compare those of the same one";
  }
  if (!result.strangers.empty()) return result;
  result.first_to_second = compare_direction(first, second);
  result.second_to_first = compare_direction(second, first);
  return result;
}

}  // namespace blindfl::net

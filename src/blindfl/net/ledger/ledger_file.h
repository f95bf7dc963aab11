#pragma once

#include <cstddef>
#include <filesystem>
#include <istream>
#include <string>
#include <vector>

#include "blindfl/net/ledger/ledger_lines.h"

namespace blindfl::net {

/// The messages of one direction, in order.
struct LedgerChain {
  std::vector<LedgerEntry> entries;
  Traffic traffic;
  std::string hash;  ///< where the chain ends: covers every entry
};

/// A ledger that was read and found to be consistent.
struct LedgerFile {
  std::string name;  ///< of the file
  LedgerHead head;
  LedgerChain sent;
  LedgerChain received;
  /// Whether it has its closing line. If not, its party was stopped, or the file was cut: messages may be missing.
  bool closed = false;
  /// Whether it ends within a line, which was then left out.
  bool cut_within_line = false;

  [[nodiscard]] const LedgerChain& chain(Direction direction) const {
    return direction == Direction::kSent ? sent : received;
  }
};

/// Reads a ledger of messages of `steps` and checks all that can be checked: the form of every line, steps and their
/// descriptions, numbers, the chains, the totals. A file without its closing line is not an error; see
/// `LedgerFile::closed`. Cost: memory for about 40 bytes per message. Throws DataError, naming file and line, if
/// anything else is wrong.
[[nodiscard]] LedgerFile read_ledger(const std::filesystem::path& path, const StepTable& steps);
/// The same from a stream, to its end; `name` is what errors call it.
[[nodiscard]] LedgerFile read_ledger(std::istream& in, const std::string& name, const StepTable& steps);

/// What one step's messages add up to.
struct StepTotals {
  Step step;
  Traffic sent;
  Traffic received;
};

/// Totals of every step that occurs, in the order of their numbers.
[[nodiscard]] std::vector<StepTotals> audit(const LedgerFile& ledger);

}  // namespace blindfl::net

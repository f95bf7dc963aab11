#pragma once

#include <cstdint>
#include <string>

#include "blindfl/net/ledger/ledger_file.h"

namespace blindfl::net {

/// One direction of the link, as its two ends wrote it down.
struct DirectionComparison {
  std::string sender;
  std::string receiver;
  std::uint64_t sent = 0;      ///< messages in the sender's ledger
  std::uint64_t received = 0;  ///< messages in the receiver's
  std::uint64_t alike = 0;     ///< of these, from the first on, the same in both
  /// The first message that differs, in words; empty if the ledgers agree as far as both go.
  std::string difference;
  /// If they agree, but one has fewer messages: which, and what that may come from.
  std::string shorter;
};

/// What two parties' ledgers say of each other.
struct LedgerComparison {
  /// Why these two do not belong together at all; empty if nothing speaks against it.
  std::string strangers;
  DirectionComparison first_to_second;
  DirectionComparison second_to_first;

  /// Nothing in the one contradicts the other.
  [[nodiscard]] bool agree() const {
    return strangers.empty() && first_to_second.difference.empty() && second_to_first.difference.empty();
  }
  /// They agree, and neither has messages that the other lacks.
  [[nodiscard]] bool same() const {
    return agree() && first_to_second.shorter.empty() && second_to_first.shorter.empty();
  }
};

/// Compares what each sent with what the other received, unless the two do not belong together. Where one ledger is
/// shorter because its party was stopped, the common part is compared.
[[nodiscard]] LedgerComparison compare(const LedgerFile& first, const LedgerFile& second);

}  // namespace blindfl::net

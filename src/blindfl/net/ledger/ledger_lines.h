#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "blindfl/net/channel.h"

namespace blindfl::net {

/// The first line of a ledger: whose it is.
struct LedgerHead {
  std::string party;    ///< "A" or "B"; any word of up to 64 printable characters
  std::string session;  ///< a name that both parties know the run by; empty if there is none
  std::chrono::sys_seconds started = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
};

/// One message as a ledger has it: everything but the payload. Both parties have the same of the same message.
struct LedgerEntry {
  Message message;
  std::uint32_t checksum = 0;  ///< the frame's: over its header, the message's number among others, and its payload

  /// Unlike on the wire, shapes count.
  friend bool operator==(const LedgerEntry& a, const LedgerEntry& b) {
    return a.message == b.message && a.message.rows == b.message.rows && a.message.cols == b.message.cols &&
           a.checksum == b.checksum;
  }
};

/// What a ledger begins with.
constexpr std::string_view kLedgerTitle = "BlindFL ledger";
constexpr std::string_view kLedgerVersion = "1";
/// No line of a ledger is longer, its end included.
constexpr std::size_t kMaxLedgerLineBytes = 512;
constexpr std::size_t kLedgerHashDigits = 64;

/// The lines of one ledger, one after the other, as net/ledger/ledger.h describes them, without line ends. Whoever
/// writes a ledger writes these; whoever reads one makes them again from what they say, and compares.
class LedgerLines {
 public:
  LedgerLines();

  /// Throws InvalidArgument if a name in it is too long or has characters that do not belong in a line, or the year
  /// does not have four digits.
  [[nodiscard]] std::string head(const LedgerHead& head);
  /// Throws InvalidArgument if the step is a number alone, or the bytes add up to more than can be counted.
  [[nodiscard]] std::string message(Direction direction, const LedgerEntry& entry);
  [[nodiscard]] std::string closing();

  /// What the messages so far add up to.
  [[nodiscard]] const Traffic& traffic(Direction direction) const { return chain(direction).traffic; }
  /// The hash of the last message of a direction; without one, the hash that the chain starts from.
  [[nodiscard]] const std::string& hash(Direction direction) const { return chain(direction).hash; }

 private:
  struct Chain {
    Traffic traffic;
    std::string hash;
  };

  [[nodiscard]] const Chain& chain(Direction direction) const { return chains_[static_cast<std::size_t>(direction)]; }
  [[nodiscard]] std::string sealed(std::string text, const std::string& hash);

  std::array<Chain, 2> chains_;
  /// Over whole lines in the order of the file.
  std::string file_hash_;
};

/// "sent" or "received".
[[nodiscard]] std::string_view name_of(Direction direction);
/// "128x62", or "-" if the message has no shape.
[[nodiscard]] std::string shape_text(const Message& message);
/// Eight hexadecimal digits.
[[nodiscard]] std::string checksum_text(std::uint32_t checksum);
/// As in "2026-11-15T14:30:00Z".
[[nodiscard]] std::string time_text(std::chrono::sys_seconds time);
/// The time that `time_text` wrote; nothing if it is not one.
[[nodiscard]] std::optional<std::chrono::sys_seconds> time_of(std::string_view text);

}  // namespace blindfl::net

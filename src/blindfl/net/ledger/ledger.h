#pragma once

#include <cstddef>
#include <filesystem>
#include <mutex>
#include <string>

#include "blindfl/net/ledger/ledger_lines.h"
#include "blindfl/net/message_log.h"

// A ledger is what one party writes down of the messages that crossed its link: what each was, never what was in it.
//
// Text, one line per message, fields separated by tabs, lines ended by LF. Numbers are decimal without leading zeros,
// hashes are SHA-256 and checksums CRC-32C in lower-case hexadecimal digits.
//
//   BlindFL ledger  1  party  A  session  -  started  2026-11-15T14:30:00Z  <hash>
//   0  sent  forward operand  0  62x1  196608  encrypted  the sender's share of ...  0a1b2c3d  <hash>
//   ...
//   end  sent  12  983040  received  12  983040  <hash>
//
// The head has the format's version, the party, the session's name ("-": none) and when this party started (UTC).
//
// A message has its number, counted from 0 in each direction; its direction; step; layer; shape of the matrix inside
// ("-": none); bytes of payload; protection and content in the step's words; the checksum that ended its
// frame; and a hash. The hash continues that of the message before it in the same direction:
//
//   SHA-256(64 digits of the hash before, then the line without its second and its last field)
//
// starting from SHA-256("BlindFL ledger 1"). Without the direction the line is the same at both parties, so that the
// hashes of what A sent are those of what B received, however the two directions were interleaved.
//
// The closing line has messages and bytes of both directions; without it the file is known to be cut short. Its hash,
// and the head's, protect the rest and the order of the lines: they continue a third chain, from the same start,
// SHA-256(64 digits of the hash before, then the whole line), over all lines before.

namespace blindfl::net {

/// One party's ledger, being written. Any thread may write.
class Ledger final : public MessageLog {
 public:
  /// A party that is killed loses no more than this many messages from the end of its ledger.
  static constexpr std::size_t kLinesPerFlush = 16;

  /// Makes the file, which must not be there yet, for its owner's eyes only, and writes the head.
  /// Throws DataError, naming the file, if that fails, InvalidArgument if `head` has a name that cannot be written.
  Ledger(std::filesystem::path path, const LedgerHead& head);
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;
  /// Closes the ledger. Call `close` to learn of a failure; here, the missing closing line is all that tells of it.
  ~Ledger() override;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  /// Adds a line for a message that has been sent, or received, completely. `checksum` is what ended its frame.
  /// Throws DataError if the file cannot be written, now or before, InvalidArgument if the ledger is closed.
  void write(Direction direction, const Message& message, std::uint32_t checksum) override;

  /// Writes the closing line and waits until all is on disk. Harmless the second time.
  /// Throws DataError if that fails, or writing failed before.
  void close() override;

 private:
  void append(const std::string& line);
  void flush();
  [[noreturn]] void fail_writing(int error);
  void check_writable() const;
  void release() noexcept;

  std::filesystem::path path_;
  int file_ = -1;
  std::mutex mutex_;
  LedgerLines lines_;
  std::string unwritten_;
  std::size_t unwritten_lines_ = 0;
  bool closed_ = false;
  std::string failure_;
};

}  // namespace blindfl::net

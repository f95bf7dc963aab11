#include "blindfl/net/ledger/ledger_lines.h"

#include <charconv>
#include <iomanip>
#include <limits>
#include <sstream>
#include <utility>

#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"
#include "blindfl/base/text.h"

namespace blindfl::net {

namespace {

constexpr std::size_t kMaxNameBytes = 64;

// Hashes are chained as text, so that `sha256sum` is enough to follow a chain.
std::string next_hash(const std::string& hash, std::string_view text) {
  return to_hex(digest_of(hash + std::string(text)));
}

std::string first_hash() {
  return to_hex(digest_of(std::string(kLedgerTitle) + " " + std::string(kLedgerVersion)));
}

// A tab or a line end in a name would make another ledger of it; an escape, another terminal.
void check_name(std::string_view what, std::string_view name) {
  require<InvalidArgument>(name.size() <= kMaxNameBytes && is_printable(name), "a ledger's ", what, " has at most ",
                           kMaxNameBytes, " printable ASCII characters");
}

template <class... Fields>
std::string joined(const Fields&... fields) {
  std::ostringstream text;
  const char* separator = "";
  ((text << separator << fields, separator = "\t"), ...);
  return text.str();
}

}  // namespace

std::string_view name_of(Direction direction) {
  return direction == Direction::kSent ? "sent" : "received";
}

std::string shape_text(const Message& message) {
  if (message.rows == 0 && message.cols == 0) return "-";
  return std::to_string(message.rows) + "x" + std::to_string(message.cols);
}

std::string checksum_text(std::uint32_t checksum) {
  std::ostringstream text;
  text << std::hex << std::setw(8) << std::setfill('0') << checksum;
  return text.str();
}

std::string time_text(std::chrono::sys_seconds time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  std::ostringstream text;
  text << std::setfill('0') << std::setw(4) << static_cast<int>(date.year()) << '-' << std::setw(2)
       << static_cast<unsigned>(date.month()) << '-' << std::setw(2) << static_cast<unsigned>(date.day()) << 'T'
       << std::setw(2) << clock.hours().count() << ':' << std::setw(2) << clock.minutes().count() << ':' << std::setw(2)
       << clock.seconds().count() << 'Z';
  return text.str();
}

std::optional<std::chrono::sys_seconds> time_of(std::string_view text) {
  // Places of the digits in "2026-11-15T14:30:00Z".
  constexpr std::size_t kLength = 20;
  constexpr std::array<std::pair<std::size_t, std::size_t>, 6> kParts = {
      {{0, 4}, {5, 2}, {8, 2}, {11, 2}, {14, 2}, {17, 2}}};
  if (text.size() != kLength) return std::nullopt;
  std::array<unsigned, kParts.size()> parts{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string_view digits = text.substr(kParts[i].first, kParts[i].second);
    const char* const end = digits.data() + digits.size();
    if (std::from_chars(digits.data(), end, parts[i]).ptr != end) return std::nullopt;
  }
  const auto [year, month, day, hour, minute, second] = parts;
  const std::chrono::year_month_day date(std::chrono::year(static_cast<int>(year)), std::chrono::month(month),
                                         std::chrono::day(day));
  if (!date.ok()) return std::nullopt;
  const std::chrono::sys_seconds time = std::chrono::sys_days(date) + std::chrono::hours(hour) +
                                        std::chrono::minutes(minute) + std::chrono::seconds(second);
  // There is one way to write a time: other separators, or a minute of 61 seconds, are none.
  return time_text(time) == text ? std::optional(time) : std::nullopt;
}

LedgerLines::LedgerLines() : file_hash_(first_hash()) {
  for (Chain& chain : chains_) chain.hash = file_hash_;
}

std::string LedgerLines::sealed(std::string text, const std::string& hash) {
  text += '\t';
  text += hash;
  file_hash_ = next_hash(file_hash_, text);
  return text;
}

std::string LedgerLines::head(const LedgerHead& head) {
  require<InvalidArgument>(!head.party.empty(), "a ledger must say whose it is: A's or B's");
  check_name("party", head.party);
  check_name("session", head.session);
  const int year =
      static_cast<int>(std::chrono::year_month_day(std::chrono::floor<std::chrono::days>(head.started)).year());
  require<InvalidArgument>(year >= 1000 && year <= 9999, "a ledger cannot start in the year ", year,
                           "; set this machine's clock");
  const std::string text = joined(kLedgerTitle, kLedgerVersion, "party", head.party, "session",
                                  head.session.empty() ? "-" : head.session, "started", time_text(head.started));
  return sealed(text, next_hash(file_hash_, text));
}

std::string LedgerLines::message(Direction direction, const LedgerEntry& entry) {
  const Message& message = entry.message;
  const StepInfo& step = describe(message.step);
  Chain& chain = chains_[static_cast<std::size_t>(direction)];
  require<InvalidArgument>(message.size <= std::numeric_limits<std::uint64_t>::max() - chain.traffic.bytes,
                           "the messages ", name_of(direction), " have more bytes than can be counted");
  const std::uint64_t number = chain.traffic.messages;
  const std::string rest = joined(step.name, message.layer, shape_text(message), message.size, name_of(step.protection),
                                  step.contains, checksum_text(entry.checksum));
  // What the two parties must have alike: the direction is not part of it, nor is anything that only one of them knows.
  chain.hash = next_hash(chain.hash, joined(number, rest));
  ++chain.traffic.messages;
  chain.traffic.bytes += message.size;
  return sealed(joined(number, name_of(direction), rest), chain.hash);
}

std::string LedgerLines::closing() {
  const Traffic& sent = traffic(Direction::kSent);
  const Traffic& received = traffic(Direction::kReceived);
  const std::string text = joined("end", name_of(Direction::kSent), sent.messages, sent.bytes,
                                  name_of(Direction::kReceived), received.messages, received.bytes);
  return sealed(text, next_hash(file_hash_, text));
}

}  // namespace blindfl::net

#include "blindfl/net/ledger/ledger_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "blindfl/base/error.h"

namespace blindfl::net {

namespace {

constexpr std::size_t kHeadFields = 9;
constexpr std::size_t kMessageFields = 10;
constexpr std::size_t kClosingFields = 8;

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (std::size_t tab = 0; tab != std::string_view::npos;) {
    tab = line.find('\t');
    fields.push_back(line.substr(0, tab));
    line.remove_prefix(tab == std::string_view::npos ? line.size() : tab + 1);
  }
  return fields;
}

template <std::unsigned_integral T>
std::optional<T> number(std::string_view text, int base = 10) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// What a file says is shown only as far as it can do no harm on a terminal.
std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 40;
  std::string shown = "'";
  for (const char c : text.substr(0, kShown)) shown += c >= ' ' && c <= '~' ? c : '?';
  return shown + (text.size() > kShown ? "...'" : "'");
}

/// Takes a ledger apart line by line. Whatever a line says, the line that a writer would have made of it is made again
/// and compared: there is one way to write a ledger, and one place that knows it.
class Reader {
 public:
  Reader(std::istream& in, const std::string& name, const StepTable& steps) : in_(in), steps_(steps) {
    ledger_.name = name;
  }

  [[nodiscard]] LedgerFile read();

 private:
  [[nodiscard]] bool next_line();
  void read_head();
  void read_message(const std::vector<std::string_view>& fields);
  void read_closing(const std::vector<std::string_view>& fields);
  [[nodiscard]] LedgerEntry entry_of(const std::vector<std::string_view>& fields) const;
  void check_line(std::string_view made_again) const;

  template <class... Parts>
  void check(bool condition, const Parts&... parts) const {
    require<DataError>(condition, ledger_.name, ": line ", line_number_, ": ", parts...);
  }

  std::istream& in_;
  const StepTable& steps_;
  std::array<char, kMaxLedgerLineBytes> buffer_{};
  std::string_view line_;
  std::size_t line_number_ = 0;
  LedgerLines lines_;
  LedgerFile ledger_;
};

LedgerFile Reader::read() {
  read_head();
  while (next_line()) {
    check(!ledger_.closed, "something follows the closing line; the file was changed after it was written");
    const std::vector<std::string_view> fields = fields_of(line_);
    if (fields.front() == "end") {
      read_closing(fields);
    } else {
      read_message(fields);
    }
  }
  for (const Direction direction : {Direction::kSent, Direction::kReceived}) {
    LedgerChain& chain = direction == Direction::kSent ? ledger_.sent : ledger_.received;
    chain.traffic = lines_.traffic(direction);
    chain.hash = lines_.hash(direction);
  }
  return std::move(ledger_);
}

// Goes to the next whole line; false at the end of the file.
bool Reader::next_line() {
  ++line_number_;
  in_.getline(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  require<DataError>(!in_.bad(), ledger_.name, ": reading failed; check the disk and the file");
  const auto length = static_cast<std::size_t>(in_.gcount());
  if (in_.eof()) {
    // A party that was killed may have left half a line, which says nothing; half a line after the end is no accident.
    check(length == 0 || !ledger_.closed,
          "something follows the closing line; the file was changed after it was written");
    ledger_.cut_within_line = length > 0;
    return false;
  }
  check(!in_.fail(), "is longer than ", kMaxLedgerLineBytes, " bytes; this is not a ledger");
  line_ = std::string_view(buffer_.data(), length - 1);
  return true;
}

void Reader::read_head() {
  require<DataError>(next_line(), ledger_.name,
                     ": ends before its first line; it is not a ledger, or its party was stopped at once");
  const std::vector<std::string_view> fields = fields_of(line_);
  check(fields.size() >= 2 && fields[0] == kLedgerTitle, "does not begin as a ledger does");
  check(fields[1] == kLedgerVersion, "the ledger has version ", quoted(fields[1]), ", this program reads version ",
        kLedgerVersion);
  const auto started = fields.size() == kHeadFields ? time_of(fields[7]) : std::nullopt;
  check(started.has_value(), "does not say which party's ledger this is, and since when");
  ledger_.head = {std::string(fields[3]), fields[5] == "-" ? "" : std::string(fields[5]), *started};
  std::string made_again;
  try {
    made_again = lines_.head(ledger_.head);
  } catch (const InvalidArgument& error) {
    check(false, error.what());
  }
  check_line(made_again);
}

LedgerEntry Reader::entry_of(const std::vector<std::string_view>& fields) const {
  const StepInfo* const step = steps_.find(fields[2]);
  check(step != nullptr, "there is no step ", quoted(fields[2]), "; read the ledger with the version that wrote it");
  const auto layer = number<std::uint32_t>(fields[3]);
  const auto bytes = number<std::uint64_t>(fields[5]);
  const auto checksum = number<std::uint32_t>(fields[8], 16);
  check(layer && bytes && checksum, "layer, bytes or checksum is not a number");
  Message message{*step, *layer, *bytes};
  if (fields[4] != "-") {
    const std::size_t x = fields[4].find('x');
    const auto rows = number<std::uint64_t>(fields[4].substr(0, x));
    const auto cols = number<std::uint64_t>(x == std::string_view::npos ? "" : fields[4].substr(x + 1));
    check(rows && cols, "has a shape that is not two numbers");
    message.rows = *rows;
    message.cols = *cols;
  }
  // The words are for people: they must not tell them anything but what the step is.
  check(fields[6] == name_of(step->protection) && fields[7] == step->contains, "a ", step->name,
        " message is described otherwise than this version does; the file was changed, or another version wrote it");
  return {message, *checksum};
}

void Reader::read_message(const std::vector<std::string_view>& fields) {
  check(fields.size() == kMessageFields, "has ", fields.size(), " fields, a message has ", kMessageFields);
  const bool sent = fields[1] == name_of(Direction::kSent);
  check(sent || fields[1] == name_of(Direction::kReceived), "a message is ", quoted(fields[1]),
        ", neither sent nor received");
  const Direction direction = sent ? Direction::kSent : Direction::kReceived;
  const std::uint64_t expected = lines_.traffic(direction).messages;
  const auto found = number<std::uint64_t>(fields[0]);
  check(found.has_value(), "does not begin with a message's number");
  check(found == expected, "message number ", *found, " is in place of number ", expected, " of those ", fields[1],
        "; a line was removed, repeated or moved");
  const LedgerEntry entry = entry_of(fields);
  std::string made_again;
  try {
    made_again = lines_.message(direction, entry);
  } catch (const InvalidArgument& error) {
    check(false, error.what());
  }
  check_line(made_again);
  (sent ? ledger_.sent : ledger_.received).entries.push_back(entry);
}

void Reader::read_closing(const std::vector<std::string_view>& fields) {
  check(fields.size() == kClosingFields, "the closing line has ", fields.size(), " fields instead of ", kClosingFields);
  check_line(lines_.closing());
  ledger_.closed = true;
}

void Reader::check_line(std::string_view made_again) const {
  if (line_ == made_again) return;
  const std::string_view text = made_again.substr(0, made_again.size() - kLedgerHashDigits);
  check(line_.starts_with(text), "differs from what a ledger would say here; the file was changed");
  check(false, "its hash does not follow from what is before it; the file was changed");
}

}  // namespace

LedgerFile read_ledger(const std::filesystem::path& path, const StepTable& steps) {
  const std::string name = path.string();
  std::error_code unreadable;
  const auto type = std::filesystem::status(path, unreadable).type();
  require<DataError>(type != std::filesystem::file_type::not_found, name,
                     ": there is no such file; check the path of the ledger");
  // A pipe could keep the reader waiting for ever.
  require<DataError>(type == std::filesystem::file_type::regular, name,
                     ": is not a regular file; name a ledger that a party wrote");
  std::ifstream file(path, std::ios::binary);
  require<DataError>(file.is_open(), name, ": cannot be opened; check who may read it");
  return read_ledger(file, name, steps);
}

LedgerFile read_ledger(std::istream& in, const std::string& name, const StepTable& steps) {
  return Reader(in, name, steps).read();
}

std::vector<StepTotals> audit(const LedgerFile& ledger) {
  std::map<Step, StepTotals> totals;
  const auto add = [&](const LedgerChain& chain, Traffic StepTotals::*direction) {
    for (const LedgerEntry& entry : chain.entries) {
      StepTotals& step = totals[entry.message.step];
      step.step = entry.message.step;
      ++(step.*direction).messages;
      (step.*direction).bytes += entry.message.size;
    }
  };
  add(ledger.sent, &StepTotals::sent);
  add(ledger.received, &StepTotals::received);
  std::vector<StepTotals> list;
  list.reserve(totals.size());
  for (const auto& [step, sums] : totals) list.push_back(sums);
  return list;
}

}  // namespace blindfl::net

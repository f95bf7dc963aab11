#include "blindfl/app/command.h"

#include <algorithm>
#include <charconv>
#include <iomanip>
#include <limits>
#include <sstream>
#include <system_error>
#include <utility>

namespace blindfl::app {

namespace {

using Row = std::pair<std::string, std::string>;

// No name is nearly as long as this; a word that is resembles none.
constexpr std::size_t kLongestMistake = 40;

/// How many letters were left out, added, changed or swapped with their neighbour.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

/// "; did you mean <prefix><name>?" for the named thing that `word` resembles most, or nothing if it resembles none.
template <class Things>
std::string suggestion(const Things& things, std::string_view word, std::string_view prefix) {
  if (word.empty() || word.size() > kLongestMistake) return {};
  std::string_view nearest;
  std::size_t best = std::numeric_limits<std::size_t>::max();
  for (const auto& thing : things) {
    const std::size_t mistakes = distance(word, thing.name);
    // A third of the letters: with more, any short name would resemble any other.
    const bool resembles = mistakes <= std::max<std::size_t>(1, thing.name.size() / 3) || thing.name.starts_with(word);
    if (resembles && mistakes < best) {
      best = mistakes;
      nearest = thing.name;
    }
  }
  if (nearest.empty()) return {};
  return std::string("; did you mean ").append(prefix).append(nearest).append("?");
}

std::string usage_of(const Option& option) {
  std::string text = "--";
  text += option.name;
  if (!option.placeholder.empty()) text.append(" ").append(option.placeholder);
  return text;
}

void write_rows(std::ostream& out, const std::vector<Row>& rows) {
  std::size_t width = 0;
  for (const Row& row : rows) width = std::max(width, row.first.size());
  for (const auto& [left, right] : rows) {
    out << "  " << std::left << std::setw(static_cast<int>(width)) << left << "  " << right << '\n';
  }
}

const Option& find_option(const Command& command, std::string_view name) {
  const auto found = std::ranges::find(command.options, name, &Option::name);
  require<UsageError>(found != command.options.end(), "there is no option --", name,
                      suggestion(command.options, name, "--"));
  return *found;
}

bool is_option(std::string_view word) {
  return word.starts_with("--") && word.size() > 2;
}

}  // namespace

Arguments::Arguments(const Command& command, std::span<const std::string> words) {
  constexpr auto kNone = std::string_view::npos;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    require<UsageError>(is_option(word), "what is '", word, "'? Options are written --name VALUE");
    const std::size_t equals = word.find('=');
    const Option& option = find_option(command, word.substr(2, equals == kNone ? kNone : equals - 2));
    std::string value;
    if (equals != kNone) {
      require<UsageError>(!option.placeholder.empty(), "--", option.name, " takes no value");
      value = word.substr(equals + 1);
    } else if (!option.placeholder.empty()) {
      require<UsageError>(i + 1 < words.size() && !is_option(words[i + 1]), "--", option.name,
                          " needs a value: ", usage_of(option));
      value = words[++i];
    }
    const bool first = values_.emplace(option.name, std::move(value)).second;
    require<UsageError>(first, "--", option.name, " is given twice");
  }
  for (const Option& option : command.options) {
    if (!option.fallback.empty()) values_.emplace(option.name, option.fallback);
    require<UsageError>(option.need == Option::Need::kOptional || values_.contains(option.name), "--", option.name,
                        " is missing: ", usage_of(option), ", ", option.summary);
  }
}

bool Arguments::has(std::string_view option) const {
  return values_.contains(option);
}

const std::string& Arguments::text(std::string_view option) const {
  const auto found = values_.find(option);
  require<UsageError>(found != values_.end() && !found->second.empty(), "--", option, " needs a value");
  return found->second;
}

std::int64_t Arguments::integer(std::string_view option, std::int64_t lowest, std::int64_t highest) const {
  const std::string& digits = text(option);
  std::int64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stopped, problem] = std::from_chars(digits.data(), end, value);
  require<UsageError>(problem == std::errc() && stopped == end && lowest <= value && value <= highest, "--", option,
                      " needs a whole number from ", lowest, " to ", highest, ", not '", digits, "'");
  return value;
}

bool asks_for_help(std::span<const std::string> words) {
  return std::ranges::any_of(words, [](const std::string& word) { return word == "--help" || word == "-h"; });
}

std::string help_of(std::span<const Command> commands) {
  std::ostringstream out;
  out << "BlindFL: two parties train one model, and neither sees the other's data.\n\n"
         "usage: blindfl COMMAND [OPTIONS]\n\ncommands:\n";
  std::vector<Row> rows;
  for (const Command& command : commands) rows.emplace_back(command.name, command.summary);
  write_rows(out, rows);
  out << "\noptions:\n";
  write_rows(out,
             {{"--help", "this text; after a command, its options"}, {"--version", "the version of this program"}});
  return out.str();
}

std::string help_of(const Command& command) {
  std::ostringstream out;
  out << command.summary << "\n\nusage: blindfl " << command.name;
  std::vector<Row> rows;
  for (const Option& option : command.options) {
    const bool required = option.need == Option::Need::kRequired;
    out << (required ? " " : " [") << usage_of(option) << (required ? "" : "]");
    rows.emplace_back(usage_of(option), option.summary);
    if (!option.fallback.empty()) rows.back().second.append(" (default: ").append(option.fallback).append(")");
  }
  rows.emplace_back("--help", "this text");
  out << "\n\noptions:\n";
  write_rows(out, rows);
  return out.str();
}

const Command& find_command(std::span<const Command> commands, std::string_view name) {
  const auto found = std::ranges::find(commands, name, &Command::name);
  require<UsageError>(found != commands.end(), "there is no command '", name, "'", suggestion(commands, name, ""));
  return *found;
}

}  // namespace blindfl::app

#include "blindfl/app/cli/command.h"

#include <algorithm>
#include <charconv>
#include <iomanip>
#include <sstream>
#include <system_error>

#include "blindfl/app/cli/suggestion.h"

namespace blindfl::app {

namespace {

/// "; did you mean <prefix><name>?" for the named thing that `word` resembles most, or nothing if it resembles none.
template <class Things>
std::string suggestion(const Things& things, std::string_view word, std::string_view prefix) {
  std::vector<std::string_view> names;
  names.reserve(things.size());
  for (const auto& thing : things) names.push_back(thing.name);
  const std::string_view meant = nearest(word, names);
  if (meant.empty()) return {};
  return std::string("; did you mean ").append(prefix).append(meant).append("?");
}

std::string usage_of(const Option& option) {
  std::string text = "--";
  text += option.name;
  if (!option.placeholder.empty()) text.append(" ").append(option.placeholder);
  return text;
}

void write_rows(std::ostream& out, const std::vector<HelpRow>& rows) {
  std::size_t width = 0;
  for (const HelpRow& row : rows) width = std::max(width, row.first.size());
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

Arguments::Arguments(const Command& command, std::span<const std::string> words)
    : command_(command.name), words_(words.begin(), words.end()) {
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
    std::vector<std::string>& values = values_[std::string(option.name)];
    values.push_back(std::move(value));
    require<UsageError>(values.size() == 1 || option.repeats, "--", option.name, " is given twice");
  }
  for (const Option& option : command.options) {
    if (!option.fallback.empty()) values_.emplace(option.name, std::vector{std::string(option.fallback)});
    require<UsageError>(option.need == Option::Need::kOptional || values_.contains(option.name), "--", option.name,
                        " is missing: ", usage_of(option), ", ", option.summary);
  }
}

bool Arguments::has(std::string_view option) const {
  return values_.contains(option);
}

const std::string& Arguments::text(std::string_view option) const {
  const auto found = values_.find(option);
  require<UsageError>(found != values_.end() && !found->second.front().empty(), "--", option, " needs a value");
  return found->second.front();
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

std::vector<std::string> Arguments::all(std::string_view option) const {
  const auto found = values_.find(option);
  return found == values_.end() ? std::vector<std::string>() : found->second;
}

bool asks_for_help(std::span<const std::string> words) {
  return std::ranges::any_of(words, [](const std::string& word) { return word == "--help" || word == "-h"; });
}

std::vector<HelpRow> program_rows() {
  return {{"--help", "this text; after a command, its options"}, {"--version", "the version of this program"}};
}

std::vector<HelpRow> rows_of(const Command& command) {
  std::vector<HelpRow> rows;
  for (const Option& option : command.options) {
    rows.emplace_back(usage_of(option), option.summary);
    if (!option.fallback.empty()) rows.back().second.append(" (default: ").append(option.fallback).append(")");
  }
  rows.emplace_back("--help", "this text");
  return rows;
}

std::string usage_of(const Command& command, const Program& program) {
  std::string text(program.name);
  text.append(" ").append(command.name);
  for (const Option& option : command.options) {
    const bool required = option.need == Option::Need::kRequired;
    text.append(required ? " " : " [").append(usage_of(option)).append(required ? "" : "]");
    if (option.repeats) text += "...";
  }
  return text;
}

std::string help_of(std::span<const Command> commands, const Program& program) {
  std::ostringstream out;
  out << "BlindFL: " << program.summary << ".\n\nusage: " << program.usage << "\n\ncommands:\n";
  std::vector<HelpRow> rows;
  for (const Command& command : commands) rows.emplace_back(command.name, command.summary);
  write_rows(out, rows);
  out << "\noptions:\n";
  write_rows(out, program_rows());
  return out.str();
}

std::string help_of(const Command& command, const Program& program) {
  std::ostringstream out;
  out << command.summary << "\n\nusage: " << usage_of(command, program) << "\n\noptions:\n";
  write_rows(out, rows_of(command));
  if (command.more_help != nullptr) out << '\n' << command.more_help();
  return out.str();
}

const Command& find_command(std::span<const Command> commands, std::string_view name) {
  const auto found = std::ranges::find(commands, name, &Command::name);
  require<UsageError>(found != commands.end(), "there is no command '", name, "'", suggestion(commands, name, ""));
  return *found;
}

}  // namespace blindfl::app

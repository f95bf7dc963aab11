#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blindfl/base/error.h"

namespace blindfl::app {

/// The command line cannot be understood. Says what to write instead.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// `--name VALUE`, or a flag. This is the only place that knows it: help, parsing and errors come from here.
struct Option {
  enum class Need { kRequired, kOptional };

  std::string_view name;         ///< without the dashes
  std::string_view placeholder;  ///< what stands for its value in the help, in capitals; empty for a flag
  std::string_view summary;
  Need need = Need::kOptional;
  std::string_view fallback = {};  ///< the value if it is not given; empty for none
  bool repeats = false;            ///< it may be given several times
};

class Arguments;

struct Command {
  /// Writes results to `out`. A failure is an exception.
  using Run = void (*)(const Arguments& arguments, std::ostream& out);

  std::string_view name;
  std::string_view summary;
  std::vector<Option> options;
  Run run;
  /// What its help says after the options.
  std::string (*more_help)() = nullptr;
};

/// The options of one call of a command: all of them known, those that are required given.
class Arguments {
 public:
  /// Throws UsageError, naming the option, if `words` do not fit the command.
  Arguments(const Command& command, std::span<const std::string> words);

  /// Whether an option has a value, its own or its fallback, or a flag was given.
  [[nodiscard]] bool has(std::string_view option) const;
  /// Throws UsageError if the option has no value or an empty one; so does `integer()`, or if it is out of range.
  [[nodiscard]] const std::string& text(std::string_view option) const;
  [[nodiscard]] std::int64_t integer(std::string_view option, std::int64_t lowest, std::int64_t highest) const;
  /// All values of an option that repeats, in the order of the words; none if it was not given.
  [[nodiscard]] std::vector<std::string> all(std::string_view option) const;

  /// The command's name, and the words after it as they were written.
  [[nodiscard]] const std::string& command() const { return command_; }
  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }

 private:
  std::string command_;
  std::vector<std::string> words_;
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
};

/// Whether the words ask for help. They need not fit the command otherwise.
[[nodiscard]] bool asks_for_help(std::span<const std::string> words);

/// A program with commands: what its help and its errors call it.
struct Program {
  std::string_view name;
  std::string_view summary;  ///< after "BlindFL: "
  std::string_view usage;
};
inline constexpr Program kBlindfl{.name = "blindfl",
                                  .summary = "two parties train one model, and neither sees the other's data",
                                  .usage = "blindfl COMMAND [OPTIONS]"};

/// An option and what it does.
using HelpRow = std::pair<std::string, std::string>;
/// The options before any command, those of a command, and how it is called.
[[nodiscard]] std::vector<HelpRow> program_rows();
[[nodiscard]] std::vector<HelpRow> rows_of(const Command& command);
[[nodiscard]] std::string usage_of(const Command& command, const Program& program = kBlindfl);

/// What `blindfl --help` and `blindfl <command> --help` print.
[[nodiscard]] std::string help_of(std::span<const Command> commands, const Program& program = kBlindfl);
[[nodiscard]] std::string help_of(const Command& command, const Program& program = kBlindfl);

/// Throws UsageError, with the nearest name there is, if there is no such command.
[[nodiscard]] const Command& find_command(std::span<const Command> commands, std::string_view name);

}  // namespace blindfl::app

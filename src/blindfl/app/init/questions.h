#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include "blindfl/app/cli/command.h"

namespace blindfl::app::init {

/// Asks somebody at a terminal; where nobody is, takes the guess.
class Questions {
 public:
  /// Throws UsageError if an answer is none.
  using Check = std::function<void(const std::string& answer)>;

  /// `in` is null where nobody answers. Both must outlive this.
  Questions(std::istream* in, std::ostream& out) : in_(in), out_(out) {}

  [[nodiscard]] bool are_answered() const { return in_ != nullptr; }

  /// One line; an empty one is the guess. Without a guess, and after an answer that `check` refuses, it asks again.
  /// Throws UsageError, naming `flag`, if nobody answers and there is no guess; as `check` does, if nobody answers.
  [[nodiscard]] std::string ask(std::string_view flag, std::string_view question,
                                const std::optional<std::string>& guess, const Check& check = {});

  /// What the command line says, which is checked, too; else what is asked.
  [[nodiscard]] std::string said_or_asked(const Arguments& arguments, std::string_view flag, std::string_view question,
                                          const std::optional<std::string>& guess, const Check& check = {});

 private:
  [[nodiscard]] std::string ask_once(std::string_view flag, std::string_view question,
                                     const std::optional<std::string>& guess);

  std::istream* in_;
  std::ostream& out_;
};

}  // namespace blindfl::app::init

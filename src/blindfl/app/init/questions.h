#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

namespace blindfl::app::init {

/// Asks somebody at a terminal; where nobody is, takes the guess.
class Questions {
 public:
  /// `in` is null where nobody answers. Both must outlive this.
  Questions(std::istream* in, std::ostream& out) : in_(in), out_(out) {}

  [[nodiscard]] bool are_answered() const { return in_ != nullptr; }

  /// One line; an empty one is the guess. Without a guess, it asks until there is an answer.
  /// Throws UsageError, naming `flag`, if nobody answers and there is no guess.
  [[nodiscard]] std::string ask(std::string_view flag, std::string_view question,
                                const std::optional<std::string>& guess);

 private:
  std::istream* in_;
  std::ostream& out_;
};

}  // namespace blindfl::app::init

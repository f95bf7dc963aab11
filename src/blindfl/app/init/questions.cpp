#include "blindfl/app/init/questions.h"

#include <istream>
#include <ostream>

#include "blindfl/base/error.h"
#include "blindfl/base/text.h"

namespace blindfl::app::init {

std::string Questions::ask(std::string_view flag, std::string_view question, const std::optional<std::string>& guess,
                           const Check& check) {
  require<UsageError>(in_ != nullptr || guess.has_value(), "--", flag, " is missing: ", question);
  while (true) {
    std::string answer = in_ == nullptr ? *guess : ask_once(flag, question, guess);
    try {
      if (check) check(answer);
      return answer;
    } catch (const UsageError& error) {
      if (in_ == nullptr) throw;
      out_ << error.what() << '\n';
    }
  }
}

std::string Questions::said_or_asked(const Arguments& arguments, std::string_view flag, std::string_view question,
                                     const std::optional<std::string>& guess, const Check& check) {
  if (!arguments.has(flag)) return ask(flag, question, guess, check);
  if (check) check(arguments.text(flag));
  return arguments.text(flag);
}

std::string Questions::ask_once(std::string_view flag, std::string_view question,
                                const std::optional<std::string>& guess) {
  while (true) {
    out_ << question << (guess ? " [" + printable(*guess) + "]" : std::string()) << ": " << std::flush;
    std::string line;
    require<UsageError>(static_cast<bool>(std::getline(*in_, line)), "--", flag,
                        " is missing, and the answers ended: ", question);
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin != std::string::npos) return line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
    if (guess) return *guess;
  }
}

}  // namespace blindfl::app::init

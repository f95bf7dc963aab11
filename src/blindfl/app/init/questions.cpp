#include "blindfl/app/init/questions.h"

#include <istream>
#include <ostream>

#include "blindfl/app/command.h"
#include "blindfl/base/error.h"
#include "blindfl/base/text.h"

namespace blindfl::app::init {

std::string Questions::ask(std::string_view flag, std::string_view question, const std::optional<std::string>& guess) {
  require<UsageError>(in_ != nullptr || guess.has_value(), "--", flag, " is missing: ", question);
  if (in_ == nullptr) return *guess;
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

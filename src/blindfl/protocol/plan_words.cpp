#include "blindfl/protocol/plan_words.h"

namespace blindfl::protocol {

std::string way_in_words(Update update, std::string_view scheme) {
  std::string way = update == Update::kEncrypted ? "encrypted updates over " : "exchanged over ";
  return way.append(scheme);
}

std::string whose(Party party) {
  return party == Party::kA ? "A's" : "B's";
}

void append(std::string& to, std::string_view separator, std::string_view what) {
  if (!to.empty()) to += separator;
  to += what;
}

}  // namespace blindfl::protocol

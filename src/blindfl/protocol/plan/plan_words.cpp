#include "blindfl/protocol/plan/plan_words.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace blindfl::protocol {

std::string way_in_words(Update update, std::string_view scheme) {
  std::string way = update == Update::kEncrypted ? "encrypted updates over " : "exchanged over ";
  return way.append(scheme);
}

std::string whose(Party party) {
  return party == Party::kA ? "A's" : "B's";
}

std::string security_in_words(int bits) {
  if (bits == 0) return "none";
  return std::to_string(bits) + " bits" + (bits < 128 ? " (NIST: until 2030)" : "");
}

std::string hiding_in_words(double exposure) {
  // Nothing travels masked where one party has no features and the other no product.
  if (exposure <= 0) return "nothing is masked";
  const double bits = std::floor(-std::log2(exposure));
  std::ostringstream text;
  text << std::max(bits, 0.0) << " bits for the whole run";
  if (bits < he::kHidingOfRun) {
    text
        << ", below the " << he::kHidingOfRun
        << " that are aimed at: the lattice has no room for more at so many values. Fewer fractional bits of features, "
           "or Paillier, hide more";
  }
  return text.str();
}

void append(std::string& to, std::string_view separator, std::string_view what) {
  if (!to.empty()) to += separator;
  to += what;
}

}  // namespace blindfl::protocol

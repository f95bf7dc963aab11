#include "blindfl/protocol/plan_words.h"

#include <cmath>
#include <sstream>

namespace blindfl::protocol {

namespace {

/// With two digits that count.
std::string in_unit(double value, const char* unit) {
  const double step = value >= 100 ? 10.0 : value >= 10 ? 1.0 : 0.1;
  std::ostringstream text;
  text.precision(12);
  text << std::round(value / step) * step << " " << unit;
  return text.str();
}

}  // namespace

std::string time_in_words(double seconds) {
  if (seconds >= 1) return in_unit(seconds, "s");
  return seconds >= 1e-3 ? in_unit(seconds * 1e3, "ms") : in_unit(seconds * 1e6, "us");
}

std::string size_in_words(std::uint64_t bytes) {
  const auto b = static_cast<double>(bytes);
  if (b >= 1e9) return in_unit(b / 1e9, "GB");
  return b >= 1e6 ? in_unit(b / 1e6, "MB") : in_unit(b / 1e3, "kB");
}

std::string memory_in_words(std::uint64_t bytes) {
  std::ostringstream text;
  text << std::ceil(static_cast<double>(bytes) / 0x1p30 * 10) / 10 << " GiB";
  return text.str();
}

std::string cost_in_words(const StepCost& cost, const Link& link) {
  return time_in_words(cost.seconds(link)) + " and " + size_in_words(cost.bytes());
}

std::string way_in_words(Update update, std::string_view scheme) {
  std::string way = update == Update::kEncrypted ? "updated under encryption with " : "exchanged over ";
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

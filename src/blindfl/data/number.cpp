#include "blindfl/data/number.h"

#include <cmath>

namespace blindfl::data {

std::pair<Parsed, double> parse_real(std::string_view word) {
  // from_chars knows no plus sign; without this check "+-1" would pass.
  if (word.starts_with('+')) {
    word.remove_prefix(1);
    if (word.starts_with('-')) return {Parsed::kMalformed, 0};
  }
  const auto [parsed, number] = parse_number<double>(word);
  if (parsed == Parsed::kFine && !std::isfinite(number)) return {Parsed::kOutOfRange, 0};
  return {parsed, number};
}

}  // namespace blindfl::data

#pragma once

#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

namespace blindfl::data {

/// What became of a word that should be a number.
enum class Parsed { kFine, kMalformed, kOutOfRange };

/// A whole word as a number, as `std::from_chars` reads it, whatever the locale.
template <class Number>
[[nodiscard]] std::pair<Parsed, Number> parse_number(std::string_view word) {
  Number number{};
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number);
  if (error == std::errc::invalid_argument || stop != end) return {Parsed::kMalformed, number};
  return {error == std::errc{} ? Parsed::kFine : Parsed::kOutOfRange, number};
}

/// A finite real, with a plus sign if it likes. What is infinite, not a number or beyond a double is out of range.
[[nodiscard]] std::pair<Parsed, double> parse_real(std::string_view word);

}  // namespace blindfl::data

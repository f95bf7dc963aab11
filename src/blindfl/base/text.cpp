#include "blindfl/base/text.h"

#include <algorithm>

namespace blindfl {

namespace {

bool is_printable_character(char c) {
  return c >= ' ' && c <= '~';
}

}  // namespace

std::string to_hex(ByteView bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte b : bytes) {
    text += kDigits[std::to_integer<std::size_t>(b >> 4)];
    text += kDigits[std::to_integer<std::size_t>(b & std::byte{15})];
  }
  return text;
}

bool is_printable(std::string_view text) {
  return std::ranges::all_of(text, is_printable_character);
}

std::string printable(std::string_view text) {
  std::string clean(text);
  std::ranges::replace_if(
      clean, [](char c) { return !is_printable_character(c); }, '?');
  return clean;
}

void append(std::string& to, std::string_view separator, std::string_view what) {
  if (!to.empty()) to += separator;
  to += what;
}

std::string listed(const std::vector<std::string>& items) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) append(text, i + 1 < items.size() ? ", " : " and ", items[i]);
  return text;
}

}  // namespace blindfl

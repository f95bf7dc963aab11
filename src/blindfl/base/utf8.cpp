#include "blindfl/base/utf8.h"

#include "blindfl/base/error.h"

namespace blindfl {

namespace {

constexpr char32_t kLast = 0x10FFFF;

bool is_character(char32_t c) {
  return c <= kLast && (c < 0xD800 || c > 0xDFFF);
}

std::size_t length_of(char32_t c) {
  if (c < 0x80) return 1;
  if (c < 0x800) return 2;
  return c < 0x10000 ? 3 : 4;
}

// What the first byte says: how many there should be.
std::size_t length_by_first(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC0 && first < 0xE0) return 2;
  if (first >= 0xE0 && first < 0xF0) return 3;
  return first >= 0xF0 && first < 0xF8 ? 4 : 0;
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = length_by_first(first);
  if (length == 1) return 1;
  if (length == 0 || text.size() < length) return 0;
  char32_t c = first & (0x7FU >> length);
  for (const char next : text.substr(1, length - 1)) {
    const auto byte = static_cast<unsigned char>(next);
    if ((byte & 0xC0U) != 0x80U) return 0;
    c = c << 6 | (byte & 0x3FU);
  }
  // Longer than it need be, a character would pass checks that look for its shorter form.
  return is_character(c) && length_of(c) == length ? length : 0;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

void append_utf8(std::string& text, char32_t character) {
  require<InvalidArgument>(is_character(character), "there is no such character");
  const std::size_t length = length_of(character);
  if (length == 1) {
    text += static_cast<char>(character);
    return;
  }
  for (std::size_t i = 0; i < length; ++i) {
    const char32_t bits = character >> (6 * (length - 1 - i));
    text += static_cast<char>(i == 0 ? (0xF00U >> length & 0xFFU) | bits : 0x80U | (bits & 0x3FU));
  }
}

}  // namespace blindfl

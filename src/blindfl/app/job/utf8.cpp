#include "blindfl/app/job/utf8.h"

#include <algorithm>
#include <cstddef>

#include "blindfl/app/job/yaml.h"
#include "blindfl/base/error.h"

namespace blindfl::app::job {

namespace {

unsigned byte_at(std::string_view text, std::size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
}

/// Bytes of the character at the front, or 0 if there is none in UTF-8.
std::size_t character_bytes(std::string_view text) {
  const unsigned first = byte_at(text, 0);
  if (first < 0x80) return 1;
  const std::size_t bytes = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte_at(text, i) & 0xC0U) != 0x80) return 0;
  }
  const unsigned second = byte_at(text, 1);
  const bool is_overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool is_surrogate = first == 0xED && second > 0x9F;
  const bool is_too_large = first == 0xF4 && second > 0x8F;
  return is_overlong || is_surrogate || is_too_large ? 0 : bytes;
}

void check_line(std::string_view line, std::string_view source, int number) {
  const std::size_t indentation = std::min(line.find_first_not_of(" \t\r"), line.size());
  const bool says_something = indentation < line.size() && line[indentation] != '#';
  const std::size_t tab = line.substr(0, indentation).find('\t');
  if (says_something && tab != std::string_view::npos) {
    fail<ConfigError>(place(source, {number, static_cast<int>(tab) + 1}),
                      ": this line is indented with a tab; use spaces");
  }
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < line.size(); i += bytes) {
    const Position here{number, static_cast<int>(i) + 1};
    bytes = character_bytes(line.substr(i));
    require<ConfigError>(bytes > 0, place(source, here), ": this is not UTF-8; save the file as UTF-8");
    const unsigned byte = byte_at(line, i);
    require<ConfigError>(byte != 0, place(source, here),
                         ": there is a zero byte. Is this a text file, saved as UTF-8?");
    const bool ends_line = byte == '\r' && i + 1 == line.size();
    const bool is_control = (byte < ' ' && byte != '\t' && !ends_line) || byte == 0x7F;
    require<ConfigError>(!is_control, place(source, here), ": there is a control character; remove it");
  }
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

void check_characters(std::string_view text, std::string_view source) {
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    check_line(text.substr(0, end), source, number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace blindfl::app::job

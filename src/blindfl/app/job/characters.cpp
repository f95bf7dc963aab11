#include "blindfl/app/job/characters.h"

#include <algorithm>
#include <cstddef>

#include "blindfl/app/job/yaml.h"
#include "blindfl/base/error.h"
#include "blindfl/base/utf8.h"

namespace blindfl::app::job {

namespace {

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
    bytes = utf8_length(line.substr(i));
    require<ConfigError>(bytes > 0, place(source, here), ": this is not UTF-8; save the file as UTF-8");
    const auto byte = static_cast<unsigned char>(line[i]);
    require<ConfigError>(byte != 0, place(source, here),
                         ": there is a zero byte. Is this a text file, saved as UTF-8?");
    const bool ends_line = byte == '\r' && i + 1 == line.size();
    const bool is_control = (byte < ' ' && byte != '\t' && !ends_line) || byte == 0x7F;
    require<ConfigError>(!is_control, place(source, here), ": there is a control character; remove it");
  }
}

}  // namespace

void check_characters(std::string_view text, std::string_view source) {
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    check_line(text.substr(0, end), source, number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace blindfl::app::job

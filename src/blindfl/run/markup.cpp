#include "blindfl/run/markup.h"

#include <algorithm>

#include "blindfl/base/error.h"
#include "blindfl/base/utf8.h"

namespace blindfl::run {

namespace {

// C1 controls and two "characters" that XML does not allow come in two and three bytes.
bool is_control(std::string_view character) {
  if (character.size() == 1) {
    const auto c = static_cast<unsigned char>(character.front());
    return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7F;
  }
  if (character.size() == 2) return character[0] == '\xC2' && static_cast<unsigned char>(character[1]) < 0xA0;
  return character == "\xEF\xBF\xBE" || character == "\xEF\xBF\xBF";
}

void append_escaped(std::string& out, std::string_view character) {
  switch (character.front()) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    case '\'':
      out += "&#39;";
      break;
    default:
      out += character;
  }
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    if (length == 0 || is_control(character)) {
      append_utf8(out, U'\xFFFD');
    } else {
      append_escaped(out, character);
    }
    text.remove_prefix(character.size());
  }
  return out;
}

void Markup::begin(std::string_view tag, Attributes attributes) {
  out_.append("<").append(tag);
  for (const auto& [name, value] : attributes) {
    if (value.empty()) continue;
    out_.append(" ").append(name).append("=\"").append(html_escaped(value)).append("\"");
  }
}

Markup& Markup::open(std::string_view tag, Attributes attributes) {
  begin(tag, attributes);
  out_ += ">";
  open_.emplace_back(tag);
  return *this;
}

Markup& Markup::close() {
  require<InvalidArgument>(!open_.empty(), "markup: no element is open");
  out_.append("</").append(open_.back()).append(">\n");
  open_.pop_back();
  return *this;
}

Markup& Markup::text(std::string_view text) {
  out_ += html_escaped(text);
  return *this;
}

Markup& Markup::element(std::string_view tag, std::string_view text, Attributes attributes) {
  return open(tag, attributes).text(text).close();
}

Markup& Markup::leaf(std::string_view tag, Attributes attributes) {
  begin(tag, attributes);
  out_ += "/>\n";
  return *this;
}

Markup& Markup::verbatim(std::string_view markup) {
  out_ += markup;
  return *this;
}

std::string Markup::take() {
  require<InvalidArgument>(open_.empty(), "markup: ", open_.size(), " elements are still open");
  return std::move(out_);
}

}  // namespace blindfl::run

#include <algorithm>
#include <charconv>
#include <system_error>

#include "blindfl/base/error.h"
#include "blindfl/base/utf8.h"
#include "blindfl/run/json.h"

namespace blindfl::run {

/// Takes a text apart by the grammar of RFC 8259, strictly.
class JsonParser {
 public:
  explicit JsonParser(std::string_view text) : text_(text) {}

  [[nodiscard]] JsonValue parse() {
    JsonValue value = parse_value(0);
    skip_space();
    check(at_ == text_.size(), "something follows its end");
    return value;
  }

 private:
  template <class... Parts>
  void check(bool fine, const Parts&... parts) const {
    require<DataError>(fine, "not JSON at character ", at_ + 1, ": ", parts...);
  }

  [[nodiscard]] bool ends() const { return at_ >= text_.size(); }
  /// The next character; a zero, which nothing allows, at the end.
  [[nodiscard]] char peek() const { return ends() ? '\0' : text_[at_]; }
  [[nodiscard]] bool take(char c) {
    if (ends() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void skip_space() {
    while (!ends() && std::string_view(" \t\n\r").find(text_[at_]) != std::string_view::npos) ++at_;
  }

  [[nodiscard]] JsonValue parse_value(std::size_t depth);
  [[nodiscard]] JsonValue parse_object(std::size_t depth);
  [[nodiscard]] JsonValue parse_array(std::size_t depth);
  [[nodiscard]] JsonValue parse_number();
  [[nodiscard]] JsonValue parse_word();
  [[nodiscard]] std::string parse_text();
  void parse_escape(std::string& out);
  [[nodiscard]] char32_t parse_hex();
  std::size_t skip_digits();

  std::string_view text_;
  std::size_t at_ = 0;
};

JsonValue JsonParser::parse_value(std::size_t depth) {
  check(depth < JsonValue::kMaxDepth, "is nested deeper than ", JsonValue::kMaxDepth, " levels");
  skip_space();
  switch (peek()) {
    case '{':
      return parse_object(depth);
    case '[':
      return parse_array(depth);
    case '"': {
      JsonValue value;
      value.kind_ = JsonValue::Kind::kText;
      value.text_ = parse_text();
      return value;
    }
    case 't':
    case 'f':
    case 'n':
      return parse_word();
    default:
      return parse_number();
  }
}

JsonValue JsonParser::parse_object(std::size_t depth) {
  JsonValue value;
  value.kind_ = JsonValue::Kind::kObject;
  ++at_;
  skip_space();
  if (take('}')) return value;
  do {
    skip_space();
    check(peek() == '"', "a name in quotes is missing");
    std::string name = parse_text();
    skip_space();
    check(take(':'), "a colon is missing");
    JsonValue member = parse_value(depth + 1);
    value.members_.emplace_back(std::move(name), std::move(member));
    skip_space();
  } while (take(','));
  check(take('}'), "an object has no end");
  // Which of the two would count is anybody's guess, and two programs may guess otherwise.
  std::vector<std::string_view> names;
  names.reserve(value.members_.size());
  for (const auto& member : value.members_) names.emplace_back(member.first);
  std::ranges::sort(names);
  check(std::ranges::adjacent_find(names) == names.end(), "a name is in an object twice");
  return value;
}

JsonValue JsonParser::parse_array(std::size_t depth) {
  JsonValue value;
  value.kind_ = JsonValue::Kind::kArray;
  ++at_;
  skip_space();
  if (take(']')) return value;
  do {
    value.elements_.push_back(parse_value(depth + 1));
    skip_space();
  } while (take(','));
  check(take(']'), "an array has no end");
  return value;
}

std::size_t JsonParser::skip_digits() {
  const std::size_t begin = at_;
  while (peek() >= '0' && peek() <= '9') ++at_;
  return at_ - begin;
}

JsonValue JsonParser::parse_number() {
  const std::size_t begin = at_;
  (void)take('-');
  const bool zero = peek() == '0';
  const std::size_t digits = skip_digits();
  check(digits > 0 && (!zero || digits == 1), "a value is missing, or a number begins with a zero");
  if (take('.')) check(skip_digits() > 0, "digits are missing after the point");
  if (take('e') || take('E')) {
    if (!take('+')) (void)take('-');
    check(skip_digits() > 0, "digits are missing in the exponent");
  }
  JsonValue value;
  value.kind_ = JsonValue::Kind::kNumber;
  value.text_ = text_.substr(begin, at_ - begin);
  const char* const end = value.text_.data() + value.text_.size();
  const std::from_chars_result read = std::from_chars(value.text_.data(), end, value.number_);
  check(read.ec == std::errc{} && read.ptr == end, "a number is too large, or too small");
  return value;
}

JsonValue JsonParser::parse_word() {
  JsonValue value;
  const std::string_view rest = text_.substr(at_);
  if (rest.starts_with("null")) {
    at_ += 4;
    return value;
  }
  value.kind_ = JsonValue::Kind::kBoolean;
  value.boolean_ = rest.starts_with("true");
  check(value.boolean_ || rest.starts_with("false"), "an unknown word");
  at_ += value.boolean_ ? 4 : 5;
  return value;
}

std::string JsonParser::parse_text() {
  ++at_;
  std::string out;
  while (!take('"')) {
    if (take('\\')) {
      parse_escape(out);
      continue;
    }
    const std::size_t length = utf8_length(text_.substr(at_));
    check(length > 0, "a text has no end, or is not UTF-8");
    check(static_cast<unsigned char>(text_[at_]) >= 0x20, "there is a control character in a text");
    out += text_.substr(at_, length);
    at_ += length;
  }
  return out;
}

void JsonParser::parse_escape(std::string& out) {
  constexpr std::string_view kNames = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  if (take('u')) {
    char32_t c = parse_hex();
    if (c >= 0xD800 && c < 0xDC00) {
      check(take('\\') && take('u'), "half a character");
      const char32_t low = parse_hex();
      check(low >= 0xDC00 && low < 0xE000, "half a character");
      c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
    }
    check(c < 0xD800 || c > 0xDFFF, "half a character");
    append_utf8(out, c);
    return;
  }
  const std::size_t which = kNames.find(peek());
  check(which != std::string_view::npos, "an unknown escape");
  out += kMeanings[which];
  ++at_;
}

char32_t JsonParser::parse_hex() {
  constexpr std::size_t kDigits = 4;
  const std::string_view digits = text_.substr(at_, kDigits);
  unsigned value = 0;
  const std::from_chars_result read = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  check(digits.size() == kDigits && read.ec == std::errc{} && read.ptr == digits.data() + kDigits,
        "four hexadecimal digits are missing");
  at_ += kDigits;
  return value;
}

JsonValue JsonValue::parse(std::string_view text) {
  return JsonParser(text).parse();
}

}  // namespace blindfl::run

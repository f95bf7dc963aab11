#include "blindfl/run/json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

#include "blindfl/base/error.h"
#include "blindfl/base/utf8.h"

namespace blindfl::run {

namespace {

constexpr std::size_t kNumberCharacters = 32;

constexpr std::string_view kHexDigits = "0123456789abcdef";

void append_escaped(std::string& out, unsigned char c) {
  constexpr std::array<std::pair<char, std::string_view>, 7> kShort = {
      {{'"', "\\\""}, {'\\', "\\\\"}, {'\b', "\\b"}, {'\f', "\\f"}, {'\n', "\\n"}, {'\r', "\\r"}, {'\t', "\\t"}}};
  const auto* const found = std::ranges::find(kShort, static_cast<char>(c), &std::pair<char, std::string_view>::first);
  if (found != kShort.end()) {
    out += found->second;
  } else if (c < 0x20 || c == 0x7F) {
    out += "\\u00";
    out += kHexDigits[c >> 4];
    out += kHexDigits[c & 15U];
  } else {
    out += static_cast<char>(c);
  }
}

}  // namespace

JsonWriter& JsonWriter::open(char bracket) {
  before_value();
  out_ += bracket;
  ++depth_;
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  require<InvalidArgument>(depth_ > 0, "JSON: nothing is open");
  out_ += bracket;
  --depth_;
  needs_comma_ = true;
  return *this;
}

void JsonWriter::before_value() {
  if (needs_comma_) out_ += ',';
  needs_comma_ = true;
}

void JsonWriter::append_text(std::string_view value) {
  out_ += '"';
  while (!value.empty()) {
    const std::size_t length = utf8_length(value);
    if (length == 0) {
      append_utf8(out_, U'\xFFFD');
    } else if (length == 1) {
      append_escaped(out_, static_cast<unsigned char>(value.front()));
    } else {
      out_ += value.substr(0, length);
    }
    value.remove_prefix(std::max<std::size_t>(length, 1));
  }
  out_ += '"';
}

JsonWriter& JsonWriter::key(std::string_view name) {
  before_value();
  append_text(name);
  out_ += ':';
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::text(std::string_view value) {
  before_value();
  append_text(value);
  return *this;
}

JsonWriter& JsonWriter::number(double value) {
  if (!std::isfinite(value)) return null();
  before_value();
  std::array<char, kNumberCharacters> digits{};
  const std::to_chars_result end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  out_.append(digits.data(), end.ptr);
  return *this;
}

JsonWriter& JsonWriter::integer(std::uint64_t value) {
  before_value();
  out_ += std::to_string(value);
  return *this;
}

JsonWriter& JsonWriter::boolean(bool value) {
  before_value();
  out_ += value ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::null() {
  before_value();
  out_ += "null";
  return *this;
}

std::string JsonWriter::take() {
  require<InvalidArgument>(depth_ == 0, "JSON: ", depth_, " objects or arrays are still open");
  needs_comma_ = false;
  return std::move(out_);
}

std::optional<bool> JsonValue::as_boolean() const {
  return kind_ == Kind::kBoolean ? std::optional(boolean_) : std::nullopt;
}

std::optional<double> JsonValue::as_number() const {
  return kind_ == Kind::kNumber ? std::optional(number_) : std::nullopt;
}

std::optional<std::uint64_t> JsonValue::as_integer() const {
  if (kind_ != Kind::kNumber) return std::nullopt;
  std::uint64_t value = 0;
  const char* const end = text_.data() + text_.size();
  const std::from_chars_result read = std::from_chars(text_.data(), end, value);
  return read.ec == std::errc{} && read.ptr == end ? std::optional(value) : std::nullopt;
}

std::optional<std::string> JsonValue::as_text() const {
  return kind_ == Kind::kText ? std::optional(text_) : std::nullopt;
}

const JsonValue* JsonValue::find(std::string_view name) const {
  const auto found = std::ranges::find_if(members_, [&](const auto& member) { return member.first == name; });
  return found == members_.end() ? nullptr : &found->second;
}

}  // namespace blindfl::run

#include "blindfl/app/job/value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

#include "blindfl/app/cli/suggestion.h"
#include "blindfl/base/error.h"

namespace blindfl::app::job {

namespace {

std::string what_it_is(const YamlNode& node, const Rule& rule) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return ", and has no value";
    case YamlNode::Kind::kList:
      return ", not a list";
    case YamlNode::Kind::kMap:
      return ", not a map";
    case YamlNode::Kind::kScalar:
      break;
  }
  if (rule.secret || node.text.size() > kMaxExcerpt) return {};
  return ", not '" + excerpt(node.text) + (node.quoted ? "' in quotes" : "'");
}

/// A scalar that is not in quotes, as a number.
template <class T>
std::optional<T> number_of(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::kScalar || node.quoted) return std::nullopt;
  T value{};
  const char* const end = node.text.data() + node.text.size();
  const auto [stopped, problem] = std::from_chars(node.text.data(), end, value);
  if (problem != std::errc() || stopped != end) return std::nullopt;
  return value;
}

template <class T>
T read_number(const YamlNode& node, const Where& where) {
  const Rule& rule = where.rule;
  const std::optional<T> value = number_of<T>(node);
  if (!value) where.refuse(node, Value<T>::type(rule));
  const auto x = static_cast<double>(*value);
  const bool high_enough = rule.above_lowest ? x > rule.lowest : x >= rule.lowest;
  const bool low_enough = rule.below_highest ? x < rule.highest : x <= rule.highest;
  if (!std::isfinite(x) || !high_enough || !low_enough) where.refuse(node, Value<T>::type(rule));
  return *value;
}

TypeWords number_type(std::string_view name, const Rule& rule) {
  std::string range;
  if (std::isfinite(rule.lowest)) {
    range.append(rule.above_lowest ? " above " : " from ").append(number_text(rule.lowest));
  }
  if (std::isfinite(rule.highest)) {
    range.append(rule.above_lowest ? " and up to " : range.empty() ? " up to " : " to ");
    range.append(rule.below_highest ? "below " : "").append(number_text(rule.highest));
  } else if (!range.empty() && !rule.above_lowest) {
    range += " on";
  }
  if (!rule.unit.empty()) range.append(", in ").append(rule.unit);
  return {.article = "a ", .one = std::string(name) + range, .many = std::string(name) + "s" + range};
}

}  // namespace

std::string Where::place(Position position) const {
  return job::place(origin.source, origin.has_lines ? position : Position{});
}

Where Where::item(std::size_t index) const {
  return {.origin = origin, .key = key + "[" + std::to_string(index) + "]", .rule = rule};
}

void Where::refuse(const YamlNode& node, const TypeWords& type, std::string_view advice) const {
  fail<ConfigError>(place(node.position), ": ", key, " must be ", type.article, type.one, what_it_is(node, rule),
                    advice);
}

void Where::check_list(const YamlNode& node, const TypeWords& type) const {
  if (node.kind != YamlNode::Kind::kList) refuse(node, type);
  const std::size_t items = node.items.size();
  require<ConfigError>(items >= rule.fewest_items && items <= rule.most_items, place(node.position), ": ", key,
                       " must have ", rule.fewest_items, " to ", rule.most_items, " items, not ", items);
}

TypeWords Value<bool>::type(const Rule& /*rule*/) {
  return {.article = "", .one = "true or false", .many = "true or false"};
}

bool Value<bool>::read(const YamlNode& node, const Where& where) {
  const bool is_plain = node.kind == YamlNode::Kind::kScalar && !node.quoted;
  if (is_plain && (node.text == "true" || node.text == "yes" || node.text == "on")) return true;
  if (is_plain && (node.text == "false" || node.text == "no" || node.text == "off")) return false;
  where.refuse(node, type(where.rule));
}

std::string Value<bool>::write(bool value) {
  return value ? "true" : "false";
}

TypeWords Value<int>::type(const Rule& rule) {
  return number_type("whole number", rule);
}

int Value<int>::read(const YamlNode& node, const Where& where) {
  return read_number<int>(node, where);
}

std::string Value<int>::write(int value) {
  return std::to_string(value);
}

TypeWords Value<std::uint64_t>::type(const Rule& rule) {
  Rule positive = rule;
  positive.lowest = std::max(rule.lowest, 0.0);
  return number_type("whole number", positive);
}

std::uint64_t Value<std::uint64_t>::read(const YamlNode& node, const Where& where) {
  return read_number<std::uint64_t>(node, where);
}

std::string Value<std::uint64_t>::write(std::uint64_t value) {
  return std::to_string(value);
}

TypeWords Value<double>::type(const Rule& rule) {
  return number_type("number", rule);
}

double Value<double>::read(const YamlNode& node, const Where& where) {
  return read_number<double>(node, where);
}

std::string Value<double>::write(double value) {
  return number_text(value);
}

TypeWords Value<std::string>::type(const Rule& rule) {
  if (!rule.choices.empty())
    return choice_type(std::vector<std::string_view>(rule.choices.begin(), rule.choices.end()));
  return {.article = "", .one = "text", .many = "texts"};
}

std::string Value<std::string>::read(const YamlNode& node, const Where& where) {
  const Rule& rule = where.rule;
  if (!rule.choices.empty()) {
    return rule
        .choices[read_choice(node, where, std::vector<std::string_view>(rule.choices.begin(), rule.choices.end()))];
  }
  if (node.kind != YamlNode::Kind::kScalar) where.refuse(node, type(rule));
  require<ConfigError>(rule.may_be_empty || !node.text.empty(), where.place(node.position), ": ", where.key,
                       " must not be empty");
  return node.text;
}

std::string Value<std::string>::write(const std::string& value) {
  return yaml_text(value);
}

TypeWords Value<std::filesystem::path>::type(const Rule& /*rule*/) {
  return {.article = "a ", .one = "path", .many = "paths"};
}

std::filesystem::path Value<std::filesystem::path>::read(const YamlNode& node, const Where& where) {
  if (node.kind != YamlNode::Kind::kScalar) where.refuse(node, type(where.rule));
  require<ConfigError>(!node.text.empty(), where.place(node.position), ": ", where.key, " must not be empty");
  return where.origin.folder / node.text;
}

std::string Value<std::filesystem::path>::write(const std::filesystem::path& value) {
  return yaml_text(value.string());
}

std::size_t read_choice(const YamlNode& node, const Where& where, std::span<const std::string_view> names) {
  if (node.kind == YamlNode::Kind::kScalar) {
    const auto found = std::ranges::find(names, std::string_view(node.text));
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  }
  const std::string_view meant = node.kind == YamlNode::Kind::kScalar ? nearest(node.text, names) : std::string_view();
  std::string advice;
  if (!meant.empty()) advice.append("; did you mean ").append(meant).append("?");
  where.refuse(node, choice_type(names), advice);
}

TypeWords choice_type(std::span<const std::string_view> names) {
  std::string all;
  for (const std::string_view name : names) all.append(all.empty() ? "" : ", ").append(name);
  return {.article = "", .one = "one of " + all, .many = all};
}

std::string number_text(double value) {
  constexpr double kLongestWhole = 1e15;
  std::array<char, 32> digits{};
  const bool is_whole = std::abs(value) < kLongestWhole && value == std::floor(value);
  const auto format = is_whole ? std::chars_format::fixed : std::chars_format::general;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, format).ptr;
  return {digits.data(), end};
}

}  // namespace blindfl::app::job

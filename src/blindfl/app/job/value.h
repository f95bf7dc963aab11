#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "blindfl/app/job/yaml.h"

// The types that an option may have, one `Value<T>` for each: how it is described, read and written.

namespace blindfl::app::job {

/// What an option may be, beyond its type.
struct Rule {
  double lowest = -std::numeric_limits<double>::infinity();
  double highest = std::numeric_limits<double>::infinity();
  bool above_lowest = false;  ///< `lowest` itself is too low
  bool below_highest = false;
  std::string_view unit{};
  bool needed = false;
  bool secret = false;                 ///< what it says is in no message
  bool may_be_empty = false;           ///< a text
  std::vector<std::string> choices{};  ///< all that a text may be; empty: anything
  std::size_t fewest_items = 0;
  std::size_t most_items = 64;
  std::string_view otherwise{};              ///< what happens if an option without a value is left out
  std::vector<std::string_view> synonyms{};  ///< what others call it
};

/// A type in words, for the reference and for errors.
struct TypeWords {
  std::string_view article;  ///< "a " or nothing
  std::string one;
  std::string many;
};

/// Where values come from: a file, or the command line.
struct Origin {
  std::string source;              ///< errors begin with it
  std::filesystem::path folder{};  ///< relative paths begin here
  bool has_lines = true;
};

/// What is being read, for errors.
struct Where {
  const Origin& origin;
  std::string key;
  const Rule& rule;

  [[nodiscard]] std::string place(Position position) const;
  [[nodiscard]] Where item(std::size_t index) const;
  /// Throws ConfigError: what the key must be, and, unless it is a secret, what it is.
  [[noreturn]] void refuse(const YamlNode& node, const TypeWords& type, std::string_view advice = {}) const;
  /// Throws ConfigError unless `node` is a list whose length is allowed.
  void check_list(const YamlNode& node, const TypeWords& type) const;
};

/// How a type is described, read from YAML, and written as YAML on one line. `read` throws ConfigError, with place, key
/// and what it must be, if a node is no such thing.
template <class T>
struct Value;

template <>
struct Value<bool> {
  [[nodiscard]] static TypeWords type(const Rule& rule);
  [[nodiscard]] static bool read(const YamlNode& node, const Where& where);
  [[nodiscard]] static std::string write(bool value);
};

template <>
struct Value<int> {
  [[nodiscard]] static TypeWords type(const Rule& rule);
  [[nodiscard]] static int read(const YamlNode& node, const Where& where);
  [[nodiscard]] static std::string write(int value);
};

template <>
struct Value<std::uint64_t> {
  [[nodiscard]] static TypeWords type(const Rule& rule);
  [[nodiscard]] static std::uint64_t read(const YamlNode& node, const Where& where);
  [[nodiscard]] static std::string write(std::uint64_t value);
};

template <>
struct Value<double> {
  [[nodiscard]] static TypeWords type(const Rule& rule);
  [[nodiscard]] static double read(const YamlNode& node, const Where& where);
  [[nodiscard]] static std::string write(double value);
};

template <>
struct Value<std::string> {
  [[nodiscard]] static TypeWords type(const Rule& rule);
  [[nodiscard]] static std::string read(const YamlNode& node, const Where& where);
  [[nodiscard]] static std::string write(const std::string& value);
};

template <>
struct Value<std::filesystem::path> {
  [[nodiscard]] static TypeWords type(const Rule& rule);
  [[nodiscard]] static std::filesystem::path read(const YamlNode& node, const Where& where);
  [[nodiscard]] static std::string write(const std::filesystem::path& value);
};

/// A word for each value of an enumeration; there is a `names_of(E)` for each that an option may have.
template <class E>
struct Name {
  std::string_view name;
  E value;
};

template <class E>
concept NamedEnum = std::is_enum_v<E> && requires(E e) {
  { names_of(e) } -> std::convertible_to<std::span<const Name<E>>>;
};

/// Which of `names` a node says. Throws ConfigError, with the nearest of them, if it says none.
[[nodiscard]] std::size_t read_choice(const YamlNode& node, const Where& where,
                                      std::span<const std::string_view> names);
[[nodiscard]] TypeWords choice_type(std::span<const std::string_view> names);

template <NamedEnum E>
struct Value<E> {
  [[nodiscard]] static std::vector<std::string_view> names() {
    std::vector<std::string_view> all;
    for (const Name<E>& each : names_of(E{})) all.push_back(each.name);
    return all;
  }
  [[nodiscard]] static TypeWords type(const Rule& /*rule*/) { return choice_type(names()); }
  [[nodiscard]] static E read(const YamlNode& node, const Where& where) {
    return std::span<const Name<E>>(names_of(E{}))[read_choice(node, where, names())].value;
  }
  [[nodiscard]] static std::string write(E value) {
    for (const Name<E>& each : names_of(E{})) {
      if (each.value == value) return std::string(each.name);
    }
    return {};
  }
};

/// Nothing is written as nothing, and read from nothing.
template <class T>
struct Value<std::optional<T>> {
  [[nodiscard]] static TypeWords type(const Rule& rule) { return Value<T>::type(rule); }
  [[nodiscard]] static std::optional<T> read(const YamlNode& node, const Where& where) {
    if (node.kind == YamlNode::Kind::kNull) return std::nullopt;
    return Value<T>::read(node, where);
  }
  [[nodiscard]] static std::string write(const std::optional<T>& value) {
    return value ? Value<T>::write(*value) : std::string();
  }
};

template <class T>
struct Value<std::vector<T>> {
  [[nodiscard]] static TypeWords type(const Rule& rule) {
    return {.article = "a ", .one = "list of " + Value<T>::type(rule).many, .many = "lists"};
  }
  [[nodiscard]] static std::vector<T> read(const YamlNode& node, const Where& where) {
    where.check_list(node, type(where.rule));
    std::vector<T> all;
    for (const YamlNode& item : node.items) all.push_back(Value<T>::read(item, where.item(all.size())));
    return all;
  }
  [[nodiscard]] static std::string write(const std::vector<T>& all) {
    std::string text;
    for (const T& each : all) text.append(text.empty() ? "" : ", ").append(Value<T>::write(each));
    return "[" + text + "]";
  }
};

/// Types that are written as they are: on the command line, they need no quotes.
template <class T>
constexpr bool kIsText =
    std::same_as<T, std::string> || std::same_as<T, std::filesystem::path> ||
    std::same_as<T, std::optional<std::string>> || std::same_as<T, std::optional<std::filesystem::path>>;

/// A number with as few digits as tell it from all others: 0.1, 1000000.
[[nodiscard]] std::string number_text(double value);

}  // namespace blindfl::app::job

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// JSON (RFC 8259), as much of it as a run's files need.

namespace blindfl::run {

/// Writes one JSON text, from left to right, on one line. What is not UTF-8 becomes U+FFFD, what is not finite null.
class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  /// The name of what comes next in an object.
  JsonWriter& key(std::string_view name);

  JsonWriter& text(std::string_view value);
  JsonWriter& number(double value);  ///< in the fewest digits that read as the same number
  JsonWriter& integer(std::uint64_t value);
  JsonWriter& boolean(bool value);
  JsonWriter& null();

  /// What was written. Throws InvalidArgument if an object or array is still open.
  [[nodiscard]] std::string take();

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  void before_value();
  void append_text(std::string_view value);

  std::string out_;
  std::size_t depth_ = 0;
  bool needs_comma_ = false;
};

/// A value that was read.
class JsonValue {
 public:
  /// Deeper nesting is refused: nobody needs it, and it would use up the stack.
  static constexpr std::size_t kMaxDepth = 16;

  enum class Kind { kNull, kBoolean, kNumber, kText, kArray, kObject };

  /// Reads a whole text, which is hostile. Cost: memory of about 100 times its length at worst, so its length is the
  /// caller's to limit. Throws DataError, with the place, if it is not JSON, nests too deep, has a number too large for
  /// a double or a name twice in an object.
  [[nodiscard]] static JsonValue parse(std::string_view text);

  [[nodiscard]] Kind kind() const { return kind_; }

  /// What it is; nothing if it is of another kind.
  [[nodiscard]] std::optional<bool> as_boolean() const;
  [[nodiscard]] std::optional<double> as_number() const;
  /// A number without a fraction or exponent, exactly.
  [[nodiscard]] std::optional<std::uint64_t> as_integer() const;
  [[nodiscard]] std::optional<std::string> as_text() const;

  /// Elements of an array; none if it is something else.
  [[nodiscard]] const std::vector<JsonValue>& elements() const { return elements_; }
  /// Members of an object, in their order; none if it is something else.
  [[nodiscard]] const std::vector<std::pair<std::string, JsonValue>>& members() const { return members_; }
  /// The member of that name; nullptr if there is none.
  [[nodiscard]] const JsonValue* find(std::string_view name) const;

 private:
  friend class JsonParser;

  Kind kind_ = Kind::kNull;
  bool boolean_ = false;
  double number_ = 0;
  std::string text_;  ///< of a number too, as it was written
  std::vector<JsonValue> elements_;
  std::vector<std::pair<std::string, JsonValue>> members_;
};

}  // namespace blindfl::run

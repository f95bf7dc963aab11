#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blindfl/base/bytes.h"

namespace blindfl::protocol {

/// Public settings that both parties must share: names and values. The parties compare a digest; only if that differs
/// do they tell each other the words, so that the error can name what differs, with both values.
class Settings {
 public:
  Settings& add(std::string_view name, std::string_view value);
  Settings& add(std::string_view name, const char* value) { return add(name, std::string_view(value)); }
  Settings& add(std::string_view name, std::uint64_t value) {
    return add(name, std::string_view(std::to_string(value)));
  }
  Settings& add(std::string_view name, int value) { return add(name, std::string_view(std::to_string(value))); }
  /// With all its digits: two numbers that print alike are alike.
  Settings& add(std::string_view name, double value);
  Settings& add(std::string_view name, bool value) { return add(name, value ? "yes" : "no"); }

  Settings& add(const Settings& more);
  /// All of `more`, each name behind that prefix.
  Settings& add(std::string_view prefix, const Settings& more);

  /// One line for each, `name: value`.
  [[nodiscard]] std::string text() const;
  /// What a peer sent: hostile, cut down to printable ASCII. Lines that are no setting become a name without a value.
  [[nodiscard]] static Settings parse(std::string_view text);

  [[nodiscard]] Bytes digest() const;

  bool operator==(const Settings&) const = default;

  /// In words: which names differ, with both values; nothing if none does.
  [[nodiscard]] static std::string differences(const Settings& mine, const Settings& theirs,
                                               std::string_view where_mine = "here",
                                               std::string_view where_theirs = "at the peer");

 private:
  [[nodiscard]] const std::string* find(std::string_view name) const;

  std::vector<std::pair<std::string, std::string>> all_;
};

}  // namespace blindfl::protocol

#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/base/error.h"

// JSON as a run's files have it. Over `nlohmann::ordered_json`, and templates, so that only sources include it.

namespace blindfl::run {

/// Deeper nesting is refused: nobody needs it.
constexpr std::size_t kMaxJsonDepth = 16;
/// An object has no more members: finding one of them takes a look at each.
constexpr std::size_t kMaxJsonMembers = 4096;

/// Reads a whole text, which is hostile; its length is the caller's to limit.
/// Throws DataError if it is not JSON, nests too deep, has a number too large for a double or a name twice in an
/// object: which of the two would count is anybody's guess.
template <class Json>
[[nodiscard]] Json parse_strictly(std::string_view text) {
  using Event = typename Json::parse_event_t;
  std::vector<std::set<std::string>> open;  // objects and arrays, with the names so far
  const auto check = [&](int /*depth*/, Event event, const Json& parsed) {
    if (event == Event::object_start || event == Event::array_start) {
      open.emplace_back();
      require<DataError>(open.size() <= kMaxJsonDepth, "not JSON: is nested deeper than ", kMaxJsonDepth, " levels");
    } else if (event == Event::object_end || event == Event::array_end) {
      open.pop_back();
    } else if (event == Event::key) {
      const bool is_new = open.back().insert(parsed.template get<std::string>()).second;
      require<DataError>(is_new, "not JSON: a name is in an object twice");
      require<DataError>(open.back().size() <= kMaxJsonMembers, "not JSON: an object has more than ", kMaxJsonMembers,
                         " members");
    }
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), check);
  } catch (const typename Json::parse_error& error) {
    fail<DataError>("not JSON at character ", error.byte);  // the library's words would show what is in the file
  } catch (const typename Json::exception&) {
    fail<DataError>("not JSON: a number is too large");
  }
}

/// A number in few digits: whole ones without a point. What is not finite becomes null when it is written.
template <class Json>
[[nodiscard]] Json json_number(double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  const bool whole = std::abs(value) <= kExact && std::trunc(value) == value && !(value == 0 && std::signbit(value));
  return whole ? Json(static_cast<std::int64_t>(value)) : Json(value);
}

/// On one line. What is not UTF-8 becomes U+FFFD.
template <class Json>
[[nodiscard]] std::string json_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// The member of that name; null if there is none, or `json` is no object.
template <class Json>
[[nodiscard]] const Json& json_member(const Json& json, std::string_view name) {
  static const Json nothing;
  if (!json.is_object()) return nothing;
  const auto found = json.find(std::string(name));
  return found == json.end() ? nothing : *found;
}

}  // namespace blindfl::run

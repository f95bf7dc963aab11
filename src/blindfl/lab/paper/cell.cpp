#include "blindfl/lab/paper/cell.h"

#include <algorithm>
#include <limits>

#include "blindfl/base/digest.h"
#include "blindfl/base/error.h"
#include "blindfl/base/text.h"

namespace blindfl::lab::paper {

namespace {

constexpr std::size_t kDigestDigits = 32;

template <class Map>
typename Map::mapped_type found_in(const Map& map, const std::string& name, typename Map::mapped_type otherwise) {
  const auto found = map.find(name);
  return found == map.end() ? otherwise : found->second;
}

}  // namespace

Settings& Settings::set(std::string_view name, std::string_view value) {
  const bool is_new = std::ranges::none_of(all_, [&](const auto& each) { return each.first == name; });
  require<InvalidArgument>(is_new, "settings: '", name, "' is set twice");
  all_.emplace_back(name, value);
  return *this;
}

Settings& Settings::set(std::string_view name, std::size_t value) {
  return set(name, std::to_string(value));
}

std::string Settings::value(std::string_view name) const {
  const auto found = std::ranges::find_if(all_, [&](const auto& each) { return each.first == name; });
  return found == all_.end() ? std::string() : found->second;
}

std::string Settings::digest() const {
  std::string text;
  for (const auto& [name, value] : all_) {
    // With lengths: no two lists of names and values make the same text.
    text.append(std::to_string(name.size())).append(":").append(name);
    text.append(std::to_string(value.size())).append(":").append(value);
  }
  return to_hex(digest_of(text)).substr(0, kDigestDigits);
}

double CellResult::number(const std::string& name) const {
  return found_in(numbers, name, std::numeric_limits<double>::quiet_NaN());
}

std::string CellResult::word(const std::string& name) const {
  return found_in(words, name, {});
}

std::vector<run::ChartPoint> CellResult::line(const std::string& name) const {
  return found_in(series, name, {});
}

}  // namespace blindfl::lab::paper

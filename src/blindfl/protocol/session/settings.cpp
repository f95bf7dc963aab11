#include "blindfl/protocol/session/settings.h"

#include <algorithm>

#include "blindfl/base/digest.h"
#include "blindfl/base/number_text.h"
#include "blindfl/base/text.h"

namespace blindfl::protocol {

Settings& Settings::add(std::string_view name, std::string_view value) {
  all_.emplace_back(printable(name), printable(value));
  return *this;
}

Settings& Settings::add(std::string_view name, double value) {
  return add(name, exact_text(value));
}

Settings& Settings::add(const Settings& more) {
  all_.insert(all_.end(), more.all_.begin(), more.all_.end());
  return *this;
}

Settings& Settings::add(std::string_view prefix, const Settings& more) {
  const std::string before = printable(prefix);
  for (const auto& [name, value] : more.all_) all_.emplace_back(before + name, value);
  return *this;
}

std::string Settings::text() const {
  std::string text;
  for (const auto& [name, value] : all_) text.append(name).append(": ").append(value).append("\n");
  return text;
}

Settings Settings::parse(std::string_view text) {
  Settings settings;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos) {
      settings.add(line, "");
    } else {
      settings.add(line.substr(0, colon), line.substr(colon + 2));
    }
  }
  return settings;
}

Bytes Settings::digest() const {
  return digest_of(text());
}

const std::string* Settings::find(std::string_view name) const {
  const auto found = std::ranges::find(all_, name, &std::pair<std::string, std::string>::first);
  return found == all_.end() ? nullptr : &found->second;
}

std::string Settings::differences(const Settings& mine, const Settings& theirs, std::string_view where_mine,
                                  std::string_view where_theirs) {
  std::string text;
  const auto tell = [&](const std::string& name, const std::string& here, const std::string& there) {
    text.append(text.empty() ? "" : "; ").append(name).append(" is ").append(here).append(" ").append(where_mine);
    text.append(" and ").append(there).append(" ").append(where_theirs);
  };
  for (const auto& [name, value] : mine.all_) {
    const std::string* other = theirs.find(name);
    if (other == nullptr) {
      tell(name, value, "missing");
    } else if (*other != value) {
      tell(name, value, *other);
    }
  }
  for (const auto& [name, value] : theirs.all_) {
    if (mine.find(name) == nullptr) tell(name, "missing", value);
  }
  return text;
}

}  // namespace blindfl::protocol

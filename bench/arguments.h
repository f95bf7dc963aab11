#pragma once

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/base/error.h"

namespace blindfl::bench {

/// A benchmark's command line: `--json`, and options with a value. Throws InvalidArgument, with the usage, for others.
class Arguments {
 public:
  Arguments(int argc, char** argv, const char* usage, std::initializer_list<std::string_view> options) {
    for (int i = 1; i < argc; ++i) {
      const std::string_view name = argv[i];
      if (name == "--json") {
        json_ = true;
        continue;
      }
      require<InvalidArgument>(std::ranges::find(options, name) != options.end() && i + 1 < argc, usage);
      values_.insert_or_assign(std::string(name), argv[++i]);
    }
  }

  [[nodiscard]] bool json() const { return json_; }
  [[nodiscard]] std::optional<std::string> value(std::string_view option) const {
    const auto found = values_.find(option);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  bool json_ = false;
  std::map<std::string, std::string, std::less<>> values_;
};

inline std::size_t positive(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  require<InvalidArgument>(error == std::errc() && end == text.data() + text.size() && value > 0, "'", text,
                           "' is not a positive number");
  return value;
}

/// What stands between the commas.
inline std::vector<std::string> list(std::string_view text) {
  std::vector<std::string> items;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    items.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return items;
}

inline std::vector<std::size_t> positive_list(std::string_view text) {
  std::vector<std::size_t> numbers;
  for (const std::string& item : list(text)) numbers.push_back(positive(item));
  return numbers;
}

}  // namespace blindfl::bench

#include "blindfl/app/cli/suggestion.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace blindfl::app {

namespace {

// No name is nearly as long as this; a word that is resembles none.
constexpr std::size_t kLongestMistake = 40;

/// How many letters were left out, added, changed or swapped with their neighbour.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> names) {
  if (word.empty() || word.size() > kLongestMistake) return {};
  std::string_view found;
  std::size_t best = std::numeric_limits<std::size_t>::max();
  for (const std::string_view name : names) {
    const std::size_t mistakes = distance(word, name);
    // A third of the letters: with more, any short name would resemble any other.
    const bool resembles = mistakes <= std::max<std::size_t>(1, name.size() / 3) || name.starts_with(word);
    if (resembles && mistakes < best) {
      best = mistakes;
      found = name;
    }
  }
  return found;
}

}  // namespace blindfl::app

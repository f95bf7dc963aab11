#include "blindfl/lab/attacks/label_shares.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include "blindfl/base/error.h"

namespace blindfl::lab::attacks {

double most_common_share(const std::vector<double>& labels) {
  std::map<double, std::size_t> counts;
  std::size_t most = 0;
  for (const double label : labels) most = std::max(most, ++counts[label]);
  return labels.empty() ? 0.0 : static_cast<double>(most) / static_cast<double>(labels.size());
}

bool ones_are_rarer(const std::vector<double>& labels) {
  const auto ones = static_cast<std::size_t>(std::ranges::count(labels, 1.0));
  const auto zeros = static_cast<std::size_t>(std::ranges::count(labels, 0.0));
  require<InvalidArgument>(ones + zeros == labels.size() && ones > 0 && zeros > 0,
                           "attack: labels are 0 and 1, and there must be rows of both");
  return ones <= zeros;
}

}  // namespace blindfl::lab::attacks

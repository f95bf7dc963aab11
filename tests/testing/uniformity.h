#pragma once

#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "blindfl/base/int128.h"

namespace blindfl::testing {

/// Do these values look uniformly random in each of their bytes? Pearson's statistic with 255 degrees of freedom has a
/// mean of 255 and a deviation of 22.6; uniform values pass with a chance of error below 1e-9 for each byte. Takes at
/// least 1280 values.
template <class T>
bool looks_uniform(std::span<const T> values) {
  if (values.size() < 1280) return false;
  for (std::size_t byte = 0; byte < sizeof(T); ++byte) {
    std::array<double, 256> counts{};
    for (const T v : values) counts[static_cast<unsigned char>(v >> (8 * byte))] += 1;
    const double expected = static_cast<double>(values.size()) / 256;
    double statistic = 0;
    for (const double count : counts) statistic += (count - expected) * (count - expected) / expected;
    if (statistic > 430 || statistic < 120) return false;
  }
  return true;
}

}  // namespace blindfl::testing

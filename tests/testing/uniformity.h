#pragma once

#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "blindfl/base/int128.h"

namespace blindfl::testing {

/// Do these values look uniformly random in each byte of their lowest `bits` bits, and have they no others? Pearson's
/// statistic with 255 degrees of freedom has a mean of 255 and a deviation of 22.6; uniform values pass with a chance
/// of error below 1e-9 for each byte. Takes at least 1280 values.
template <class T>
bool looks_uniform(std::span<const T> values, int bits = 8 * static_cast<int>(sizeof(T))) {
  if (values.size() < 1280 || bits < 8) return false;
  for (const T v : values) {
    if (bit_length(v) > bits) return false;
  }
  for (int first = 0; first < bits; first += 8) {
    const int shift = first < bits - 8 ? first : bits - 8;
    std::array<double, 256> counts{};
    for (const T v : values) counts[static_cast<unsigned char>(v >> shift)] += 1;
    const double expected = static_cast<double>(values.size()) / 256;
    double statistic = 0;
    for (const double count : counts) statistic += (count - expected) * (count - expected) / expected;
    if (statistic > 430 || statistic < 120) return false;
  }
  return true;
}

}  // namespace blindfl::testing

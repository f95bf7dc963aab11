#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "blindfl/data/frame.h"

namespace blindfl::testing {

/// Takes a column of categories out of a frame, and for the labels: 1 where it is `positive`.
inline data::Frame with_labels(data::Frame frame, std::string_view column, std::string_view positive) {
  const auto at = std::ranges::find(frame.categories, column, &data::CategoryColumn::name);
  EXPECT_NE(at, frame.categories.end()) << column;
  frame.labels.clear();
  for (const std::uint32_t code : at->codes) frame.labels.push_back(at->dictionary.at(code) == positive ? 1 : 0);
  frame.categories.erase(at);
  return frame;
}

}  // namespace blindfl::testing

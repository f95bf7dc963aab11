#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "mpc/comparison_sides.h"

namespace blindfl::mpc {

/// The same, which talk to each other.
struct TwoComparisons : ComparisonSides {
  using ComparisonSides::ComparisonSides;

  /// Messages in the order that they travel, until both are done.
  std::vector<Bytes> run(std::span<const std::uint64_t> x, std::span<const std::uint64_t> y) {
    std::vector<Bytes> messages;
    EXPECT_TRUE(sender.start(x).empty());
    messages.push_back(receiver.start(y));
    while (!sender.done() || !receiver.done()) {
      Comparison& to = messages.size() % 2 == 1 ? sender : receiver;
      Bytes answer = to.next(messages.back());
      if (!answer.empty()) messages.push_back(std::move(answer));
    }
    return messages;
  }
};

}  // namespace blindfl::mpc

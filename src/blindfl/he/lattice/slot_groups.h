#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "blindfl/base/thread_pool.h"
#include "blindfl/he/lattice/slot_plan.h"

namespace blindfl::he::lattice {

/// Chunks that are worked on at once: enough for all threads, and no more in memory.
struct SlotGroup {
  std::span<const SlotChunk> chunks;
  std::vector<std::size_t> operands_before{};  ///< of each chunk, in the group
  std::vector<std::size_t> replies_before{};
  std::size_t operands = 0;
  std::size_t replies = 0;
};

/// All chunks of a plan, in the order of its messages.
[[nodiscard]] inline std::vector<SlotGroup> slot_groups(const LatticeSlotPlan& plan, const ThreadPool& pool) {
  const std::size_t most = 4 * pool.size();
  const std::span<const SlotChunk> all(plan.chunks());
  std::vector<SlotGroup> groups;
  for (std::size_t first = 0; first < all.size(); first += most) {
    SlotGroup group{.chunks = all.subspan(first, std::min(most, all.size() - first))};
    for (const SlotChunk& chunk : group.chunks) {
      group.operands_before.push_back(group.operands);
      group.replies_before.push_back(group.replies);
      group.operands += chunk.operands;
      group.replies += plan.replies(chunk);
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace blindfl::he::lattice

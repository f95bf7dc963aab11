#include "blindfl/protocol/layers/lookup_plan.h"

#include "blindfl/base/error.h"

namespace blindfl::protocol {

std::vector<std::size_t> call_counts(std::size_t most) {
  std::vector<std::size_t> counts;
  for (std::size_t calls = 1; calls <= most; ++calls) {
    if (most % calls == 0) counts.push_back(calls);
  }
  return counts;
}

LookupPlan lookup_plan(std::size_t rows, std::size_t most, std::size_t categories, std::size_t dimension,
                       std::size_t calls) {
  require<InvalidArgument>(categories <= kMostLookupCategories, "a table by oblivious transfer has at most ",
                           kMostLookupCategories, " categories, and this one has ", categories);
  const auto in_calls = [&](std::size_t count) {
    return LookupPlan{
        ot::TablePlan({.lookups = rows * (most / count), .categories = categories + 1, .cols = dimension}), count};
  };
  require<InvalidArgument>(calls == 0 || most % calls == 0, "a table by oblivious transfer cannot look up to ", most,
                           " categories of a row up in ", calls, " calls");
  if (calls > 0) return in_calls(calls);
  LookupPlan best = in_calls(1);
  for (const std::size_t count : call_counts(most)) {
    const LookupPlan plan = in_calls(count);
    if (plan.cost() < best.cost()) best = plan;
  }
  return best;
}

}  // namespace blindfl::protocol

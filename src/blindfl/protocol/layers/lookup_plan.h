#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "blindfl/ot/tables/plan.h"

namespace blindfl::protocol {

/// Categories that a table may have: beside them there is the spare one.
inline constexpr std::size_t kMostLookupCategories = ot::TablePlan::kMostRows - 1;

/// How a batch looks up in a table by oblivious transfer: in calls that are alike, each of as many categories of every
/// row. One call sends the table once, but has trees over the look-ups of all; several have fewer and smaller trees,
/// and send the table each. All public.
struct LookupPlan {
  ot::TablePlan call;
  std::size_t calls = 1;

  [[nodiscard]] std::size_t ots() const { return calls * call.ots(); }
  [[nodiscard]] std::uint64_t ask_bytes() const { return calls * call.ask_bytes(); }
  [[nodiscard]] std::uint64_t answer_bytes() const { return calls * call.answer_bytes(); }
  [[nodiscard]] std::uint64_t gather_bytes(std::size_t word_bytes) const {
    return calls * call.gather_bytes(word_bytes);
  }
  [[nodiscard]] std::uint64_t scatter_bytes(std::size_t word_bytes) const {
    return calls * call.scatter_bytes(word_bytes);
  }
  [[nodiscard]] double keys_blocks() const { return static_cast<double>(calls) * call.keys_blocks(); }
  [[nodiscard]] double rows_blocks(std::size_t word_bytes) const {
    return static_cast<double>(calls) * call.rows_blocks(word_bytes);
  }
  [[nodiscard]] std::uint64_t memory() const { return calls * call.memory(); }
  [[nodiscard]] double cost() const { return static_cast<double>(calls) * call.cost(); }

  bool operator==(const LookupPlan&) const = default;
};

/// The numbers of calls that rows of up to `most` categories can be looked up in: those that divide it.
[[nodiscard]] std::vector<std::size_t> call_counts(std::size_t most);

/// Of `rows` rows of up to `most` categories each, in a table of `categories` and the spare one. `calls`: 0 stands for
/// the number that costs least, where bytes are cheap. Throws InvalidArgument, with the reason, for another number than
/// `call_counts` has, or if there are more look-ups, categories or dimensions than it takes.
[[nodiscard]] LookupPlan lookup_plan(std::size_t rows, std::size_t most, std::size_t categories, std::size_t dimension,
                                     std::size_t calls = 0);

}  // namespace blindfl::protocol

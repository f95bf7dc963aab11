#pragma once

#include <cstddef>
#include <cstdint>

namespace blindfl::ot {

/// What both parties know of a step's look-ups in one table. All public.
struct TableShape {
  std::size_t lookups = 0;
  std::size_t categories = 0;  ///< rows of the table
  std::size_t cols = 0;        ///< words of a row

  bool operator==(const TableShape&) const = default;
};

/// A tree over the whole table for each look-up, or look-ups in bins that share the table among them: tables.h.
enum class TableWay { kChain, kBins };

/// Punctured trees of one kind: what both parties make of them follows from these numbers.
struct ForestShape {
  std::size_t trees = 0;
  std::size_t leaves = 0;  ///< of the largest tree
  /// Leaves fewer than `leaves` that a tree of the first group has: those of a chain grow with every group.
  std::size_t missing = 0;

  /// Trees that grow together, node by node.
  static constexpr std::size_t kGroup = 8;

  [[nodiscard]] int depth() const;
  [[nodiscard]] std::size_t groups() const { return (trees + kGroup - 1) / kGroup; }
  [[nodiscard]] std::size_t trees_of(std::size_t group) const;
  [[nodiscard]] std::size_t leaves_of(std::size_t group) const;
  /// Nodes that have children at a level, of a tree of the group; level 0 is the root.
  [[nodiscard]] std::size_t parents_of(std::size_t group, int level) const;
  /// Leaves that are made: with an odd number of them one more is made, and not used.
  [[nodiscard]] std::size_t made_leaves_of(std::size_t group) const;
  /// Random OTs: one for each level of each tree.
  [[nodiscard]] std::size_t ots() const { return trees * static_cast<std::size_t>(depth()); }
  /// AES blocks of growing all trees, and leaves of all.
  [[nodiscard]] double grow_blocks() const;
  [[nodiscard]] double all_leaves() const;
  /// Bytes of all leaves as a party holds them.
  [[nodiscard]] std::uint64_t memory() const;
};

/// Sizes of everything, from public numbers only.
class TablePlan {
 public:
  /// Of look-ups, and of categories; of columns.
  static constexpr std::size_t kMostRows = std::size_t{1} << 28;
  static constexpr std::size_t kMostCols = std::size_t{1} << 16;

  /// The way that costs less. Throws InvalidArgument if there is no look-up, no category or no column, or too many.
  explicit TablePlan(const TableShape& shape);
  TablePlan(const TableShape& shape, TableWay way);

  [[nodiscard]] const TableShape& shape() const { return shape_; }
  [[nodiscard]] TableWay way() const { return way_; }

  /// Random OTs, which the party with the categories receives.
  [[nodiscard]] std::size_t ots() const;
  /// From the party with the categories to the other.
  [[nodiscard]] std::uint64_t ask_bytes() const;
  /// And back.
  [[nodiscard]] std::uint64_t answer_bytes() const;
  /// `word_bytes`: 8 or 16.
  [[nodiscard]] std::uint64_t gather_bytes(std::size_t word_bytes) const;
  [[nodiscard]] std::uint64_t scatter_bytes(std::size_t word_bytes) const;

  /// AES blocks at each party, for predicting time: of making keys, and of a gather or a scatter.
  [[nodiscard]] double keys_blocks() const;
  [[nodiscard]] double rows_blocks(std::size_t word_bytes) const;
  /// Of a whole step, by which a way is chosen: AES blocks, with bytes as what they cost on a fast network.
  [[nodiscard]] double cost() const;

  /// Bytes that stay with each party between a gather and its scatter: all leaves, and where bins have which category.
  [[nodiscard]] std::uint64_t memory() const;

  /// Bins that each permutation of the categories is dealt into, and all of them; 0 without bins.
  [[nodiscard]] std::size_t bins_each() const;
  [[nodiscard]] std::size_t bins() const;
  /// Rows of the table that look-ups are chained over: the bins, or the table itself.
  [[nodiscard]] std::size_t chain_rows() const;
  /// Those, and one for each look-up.
  [[nodiscard]] std::size_t chain_columns() const { return chain_rows() + shape_.lookups; }
  [[nodiscard]] ForestShape chain_forest() const;
  [[nodiscard]] ForestShape bin_forest() const;
  /// Random OTs of bins, which come before those of the chain.
  [[nodiscard]] std::size_t bin_ots() const;

  bool operator==(const TablePlan&) const = default;

 private:
  TableShape shape_;
  TableWay way_;
};

/// 16-byte blocks of a row.
[[nodiscard]] constexpr std::size_t row_blocks(std::size_t cols, std::size_t word_bytes) {
  return (cols * word_bytes + 15) / 16;
}

}  // namespace blindfl::ot

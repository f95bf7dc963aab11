#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "blindfl/base/secret.h"
#include "blindfl/ot/tables/forest.h"
#include "blindfl/ot/tables/rows.h"
#include "blindfl/ot/tables/use.h"

// Look-ups in a table of R rows by trees of R + n leaves, one for each look-up. e_(j,u): the row of leaf u of tree j;
// a_u: the sum of a column over all trees; b_j: that of a tree over all columns. Look-up j has its hole in column
// c_j, its category, or, if look-up i < j was the last of the same category, in column R + i: no two holes are in one
// column. So of a_u - b_j, where u is j's, the chooser knows everything: the hole is in both.
//
//   gather   the keeper sends T_u + a_u, and a_(R+i) - b_i, each under a pad ("flag") that the chooser has for the
//            columns with a hole; shares T[c_j] + b_j, -b_j
//   scatter  it sends D_j - a_(R+j) + b_j; shares: a_v, with what was sent added where j's hole is, and that of column
//            R + j added to column c_j; -a_v

namespace blindfl::ot {

/// Where a batch's holes are, and which columns have one.
struct ChainPoints {
  SecretVector<std::uint32_t> holes;
  SecretVector<std::uint8_t> used;  ///< 0 or 1
};
[[nodiscard]] ChainPoints chain_points(std::span<const std::uint32_t> categories, std::size_t rows);

/// A pad for each column, from one random OT each.
class FlagPads {
 public:
  FlagPads() = default;
  FlagPads(const Block* keys, std::size_t count);

  [[nodiscard]] const Block& key(std::size_t column) const { return keys_[column]; }
  /// The keeper adds all.
  template <class Word>
  void add_all(const CipherKeys& keys, TableRows<Word>& columns) const;
  /// The chooser takes one off.
  template <class Word>
  void subtract(const CipherKeys& keys, std::size_t column, std::span<Word> row) const;
  [[nodiscard]] std::size_t key_count() const;

 private:
  std::size_t count_ = 0;
  SecretBlocks keys_;
};

/// Both parties' material for one chain.
struct Chain {
  std::size_t rows;
  Forest forest;
  FlagPads flags;
};

/// Adds the table to `columns`, which are empty, masks them, and returns the sums of the trees.
template <class Word>
[[nodiscard]] TableRows<Word> keeper_chain_gather(const Chain& chain, const TableBinding& binding,
                                                  const Kernels& kernels, TableRows<Word>& columns);
/// Makes `rows` what is to be sent, and returns the columns.
template <class Word>
[[nodiscard]] TableRows<Word> keeper_chain_scatter(const Chain& chain, const TableBinding& binding,
                                                   const Kernels& kernels, TableRows<Word>& rows);

/// The chooser's share of each look-up.
template <class Word>
[[nodiscard]] TableRows<Word> chooser_chain_gather(const Chain& chain, const ChainPoints& points,
                                                   const TableBinding& binding, const Kernels& kernels,
                                                   const MessageRows<Word>& message, std::size_t cols);
/// The chooser's share of each row; more rows follow that mean nothing.
template <class Word>
[[nodiscard]] TableRows<Word> chooser_chain_scatter(const Chain& chain, const ChainPoints& points,
                                                    std::span<const std::uint32_t> categories,
                                                    const TableBinding& binding, const Kernels& kernels,
                                                    const MessageRows<Word>& message, std::size_t cols);

}  // namespace blindfl::ot

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "blindfl/base/bytes.h"
#include "blindfl/base/random.h"
#include "blindfl/ot/kernels.h"
#include "blindfl/ot/tables/plan.h"
#include "blindfl/ot/tables/rows.h"
#include "blindfl/ot/tables/seeds.h"

// Punctured trees (Goldreich, Goldwasser and Micali 1986), eight side by side: the keeper knows all leaves, the chooser
// all but one of each tree, its hole. As in ot/trees.h, but large, with any number of leaves, and from the pool's
// random OTs; the keys of AES are public, and a node is what is encrypted (a Matyas-Meyer-Oseas hash, in the
// ideal-cipher model), so that a level costs one call, not a key for each node.

namespace blindfl::ot {

/// Random OTs of trees, in the order of the chooser's wishes: OT t * depth + d is that of level d of tree t.
struct WishedKeys {
  const Block* zero;
  const Block* one;
};

class Forest {
 public:
  /// The keeper's. For every level of every tree `answer` gets the XOR of all nodes on either side, each under the
  /// random OT's pad for that side: 2 blocks. `keys`: one of each group.
  Forest(const ForestShape& shape, const CipherKeys& keys, const WishedKeys& wished, Random& random,
         std::span<std::byte> answer);
  /// The chooser's. `holes`: each tree's. `pads`: of each OT, that for the side away from the hole. The holes' own
  /// leaves are zero.
  Forest(const ForestShape& shape, const CipherKeys& keys, std::span<const std::uint32_t> holes, const Block* pads,
         ByteView answer);

  Forest(Forest&&) = default;
  Forest& operator=(Forest&&) = default;
  Forest(const Forest&) = delete;
  Forest& operator=(const Forest&) = delete;
  ~Forest() = default;

  /// What `answer` takes.
  [[nodiscard]] static std::size_t answer_bytes(const ForestShape& shape) { return 2 * sizeof(Block) * shape.ots(); }

  [[nodiscard]] const ForestShape& shape() const { return shape_; }
  [[nodiscard]] const Block& leaf(std::size_t tree, std::size_t leaf) const;

  /// Adds the rows of all leaves to `columns` and to the sum of their tree. Leaf v goes to column v or, with a layout,
  /// that of its category, and to a last one if it has none.
  template <class Word>
  void add_rows(const CipherKeys& keys, const BinLayout* layout, TableRows<Word>& columns, TableRows<Word>& sums) const;

 private:
  explicit Forest(const ForestShape& shape);
  /// Calls `fix(group, level, children, sums)` when a level of a group has been made from the one above.
  template <class Fix>
  void grow(std::size_t group, const std::byte* key, const Kernels& kernels, SecretBlocks& from, SecretBlocks& to,
            const Fix& fix);

  ForestShape shape_;
  std::vector<std::size_t> begin_;  // of each group's leaves
  SecretBlocks leaves_;
};

/// The bits, one for each OT, of the sides away from the holes, added (XOR) to `bits` from number `first` on.
void add_tree_wishes(const ForestShape& shape, std::span<const std::uint32_t> holes, std::span<std::byte> bits,
                     std::size_t first);

}  // namespace blindfl::ot

#include "blindfl/ot/trees.h"

#include <array>
#include <cassert>
#include <cstring>
#include <utility>

#include "blindfl/base/error.h"

namespace blindfl::ot {

namespace {

/// What nodes encrypt to get their children.
std::array<Block, 2> child_inputs(const OtSession& session) {
  const OtSession::Digest digest = session.derived("tree", 0);
  std::uint64_t nonce = 0;
  std::memcpy(&nonce, digest.data(), sizeof nonce);
  return {Block{0, nonce}, Block{1, nonce}};
}

/// The children of node i are numbers 2 i and 2 i + 1.
SecretBlocks children_of(const SecretBlocks& nodes, const std::array<Block, 2>& inputs, const Kernels& kernels) {
  const CipherKeys keys(kernels, nodes.data(), nodes.size());
  SecretBlocks children(2 * nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    kernels.encrypt(keys.at(i), inputs.data(), children.data() + 2 * i, inputs.size());
  }
  return children;
}

std::array<Block, 2> side_sums(const SecretBlocks& level) {
  std::array<Block, 2> sums{};
  for (std::size_t i = 0; i < level.size(); ++i) sums[i & 1] ^= level[i];
  return sums;
}

/// The path's node and what came of it, nonsense on this side, becomes zero on one side and `sister` on the other.
void puncture(SecretBlocks& children, std::uint64_t path, std::uint64_t sister_side, const Block& sister) {
  for (std::size_t i = 0; i < children.size() / 2; ++i) {
    const Block on_path = mask_of(is_equal(i, path));
    for (std::size_t side = 0; side < 2; ++side) {
      Block& child = children[2 * i + side];
      const Block here = sister & mask_of(is_equal(side, sister_side));
      child ^= (child ^ here) & on_path;
    }
  }
}

void clear_path(SecretBlocks& children, std::uint64_t path) {
  puncture(children, path, 0, Block{});
}

/// nodes[y] becomes nodes[y XOR alpha], by exchanges at every distance that alpha may have.
void renumber(Block* leaves, int depth, std::uint64_t alpha) {
  for (int j = 0; j < depth; ++j) {
    const Block mask = mask_of(alpha >> j & 1);
    const std::size_t distance = std::size_t{1} << j;
    for (std::size_t y = 0; y < std::size_t{1} << depth; ++y) {
      if ((y & distance) != 0) continue;
      const Block change = (leaves[y] ^ leaves[y + distance]) & mask;
      leaves[y] ^= change;
      leaves[y + distance] ^= change;
    }
  }
}

std::uint64_t leaf_of(const OtSession& session, const Block& secret, std::size_t tree) {
  std::uint64_t alpha = 0;
  for (int j = 0; j < session.tree_depth(); ++j) {
    alpha |= secret.bit(static_cast<int>(tree) * session.tree_depth() + j) << j;
  }
  return alpha;
}

/// One tree of the sender of the extension. `keys` and `message` are its own part of all.
SecretBlocks punctured_tree(int depth, std::uint64_t alpha, const Block* keys, const std::byte* message,
                            const std::array<Block, 2>& inputs, const Kernels& kernels) {
  SecretBlocks level(1, Block{});  // the root is unknown
  std::uint64_t path = 0;
  for (int d = 0; d < depth; ++d) {
    const std::uint64_t turn = alpha >> (depth - 1 - d) & 1;
    SecretBlocks children = children_of(level, inputs, kernels);
    clear_path(children, path);
    std::array<Block, 2> sent;
    std::memcpy(sent.data(), message + static_cast<std::size_t>(d) * sizeof sent, sizeof sent);
    const std::array<Block, 2> known = side_sums(children);
    // The side away from the path: right where the path turns left.
    const Block right = mask_of(1 - turn);
    const Block sister = keys[d] ^ sent[0] ^ known[0] ^ ((sent[0] ^ known[0] ^ sent[1] ^ known[1]) & right);
    puncture(children, path, 1 - turn, sister);
    path = 2 * path + turn;
    level = std::move(children);
  }
  return level;
}

}  // namespace

GrownTrees grow_trees(const OtSession& session, const BaseKeyPairs& keys, const Kernels& kernels, Random& random) {
  const std::array<Block, 2> inputs = child_inputs(session);
  const auto depth = static_cast<std::size_t>(session.tree_depth());
  GrownTrees trees{SecretBlocks(session.trees() * session.leaves_per_tree()), Bytes(kTreesBytes)};
  for (std::size_t g = 0; g < session.trees(); ++g) {
    SecretBlocks level(1);
    random.fill(std::as_writable_bytes(std::span(level)));
    for (std::size_t d = 0; d < depth; ++d) {
      level = children_of(level, inputs, kernels);
      std::array<Block, 2> sums = side_sums(level);
      const std::size_t index = g * depth + d;
      sums[0] ^= keys.zero[index];
      sums[1] ^= keys.one[index];
      std::memcpy(trees.message.data() + index * sizeof sums, sums.data(), sizeof sums);
    }
    std::memcpy(trees.leaves.data() + g * session.leaves_per_tree(), level.data(), level.size() * sizeof(Block));
  }
  return trees;
}

Block base_choices(const OtSession& session, const Block& secret) {
  const int depth = session.tree_depth();
  Block choices{};
  for (int i = 0; i < static_cast<int>(kBaseOts); ++i) {
    // Level d of a tree decides bit depth - 1 - d of the leaf.
    const int tree = i / depth;
    const std::uint64_t away = 1 - secret.bit(tree * depth + depth - 1 - i % depth);
    (i < 64 ? choices.low : choices.high) |= away << (i % 64);
  }
  return choices;
}

SecretBlocks punctured_trees(const OtSession& session, const Block& secret, const SecretBlocks& keys, ByteView message,
                             const Kernels& kernels) {
  assert(message.size() == kTreesBytes && keys.size() == kBaseOts);
  const std::array<Block, 2> inputs = child_inputs(session);
  const auto depth = static_cast<std::size_t>(session.tree_depth());
  SecretBlocks leaves(session.trees() * session.leaves_per_tree());
  for (std::size_t g = 0; g < session.trees(); ++g) {
    const std::uint64_t alpha = leaf_of(session, secret, g);
    SecretBlocks tree = punctured_tree(session.tree_depth(), alpha, keys.data() + g * depth,
                                       message.data() + g * depth * 2 * sizeof(Block), inputs, kernels);
    renumber(tree.data(), session.tree_depth(), alpha);
    std::memcpy(leaves.data() + g * session.leaves_per_tree(), tree.data(), tree.size() * sizeof(Block));
  }
  return leaves;
}

}  // namespace blindfl::ot

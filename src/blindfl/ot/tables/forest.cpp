#include "blindfl/ot/tables/forest.h"

#include <array>
#include <cstring>
#include <utility>

#include "blindfl/ot/tables/bits.h"

namespace blindfl::ot {

namespace {

constexpr std::size_t kGroup = ForestShape::kGroup;
using SideSums = std::array<Block, 2 * kGroup>;

}  // namespace

Forest::Forest(const ForestShape& shape) : shape_(shape) {
  std::size_t nodes = 0;
  for (std::size_t g = 0; g < shape.groups(); ++g) {
    begin_.push_back(nodes);
    nodes += kGroup * shape.made_leaves_of(g);
  }
  leaves_ = SecretBlocks(nodes);
}

template <class Fix>
void Forest::grow(std::size_t group, const std::byte* key, const Kernels& kernels, SecretBlocks& from, SecretBlocks& to,
                  const Fix& fix) {
  SideSums sums;
  for (int level = 0; level < shape_.depth(); ++level) {
    const bool last = level + 1 == shape_.depth();
    Block* const children = last ? leaves_.data() + begin_[group] : to.data();
    kernels.grow(key, from.data(), shape_.parents_of(group, level), group * kGroup, children, sums.data());
    fix(static_cast<std::size_t>(level), children, sums);
    std::swap(from, to);
  }
  explicit_bzero(sums.data(), sizeof sums);
}

Forest::Forest(const ForestShape& shape, const CipherKeys& keys, const WishedKeys& wished, Random& random,
               std::span<std::byte> answer)
    : Forest(shape) {
  const auto depth = static_cast<std::size_t>(shape.depth());
  SecretBlocks from(kGroup * shape.made_leaves_of(shape.groups() - 1));
  SecretBlocks to(from.size());
  for (std::size_t g = 0; g < shape.groups(); ++g) {
    random.fill(std::as_writable_bytes(std::span(from).first(kGroup)));
    grow(g, keys.at(g), keys.kernels(), from, to, [&](std::size_t level, const Block*, const SideSums& sums) {
      for (std::size_t q = 0; q < shape.trees_of(g); ++q) {
        const std::size_t ot = (g * kGroup + q) * depth + level;
        const std::array<Block, 2> sent = {sums[q] ^ wished.zero[ot], sums[kGroup + q] ^ wished.one[ot]};
        std::memcpy(answer.data() + ot * sizeof sent, sent.data(), sizeof sent);
      }
    });
  }
}

Forest::Forest(const ForestShape& shape, const CipherKeys& keys, std::span<const std::uint32_t> holes,
               const Block* pads, ByteView answer)
    : Forest(shape) {
  const auto depth = static_cast<std::size_t>(shape.depth());
  SecretBlocks from(kGroup * shape.made_leaves_of(shape.groups() - 1));
  SecretBlocks to(from.size());
  for (std::size_t g = 0; g < shape.groups(); ++g) {
    std::fill_n(from.begin(), kGroup, Block{});  // roots are unknown; what comes of them is put right, level by level
    grow(g, keys.at(g), keys.kernels(), from, to, [&](std::size_t level, Block* children, const SideSums& sums) {
      for (std::size_t q = 0; q < shape.trees_of(g); ++q) {
        const std::size_t tree = g * kGroup + q;
        const std::size_t ot = tree * depth + level;
        const std::size_t on_path = holes[tree] >> (depth - 1 - level);
        const std::size_t sister = on_path ^ 1;
        const std::size_t side = sister & 1;
        Block sent;
        std::memcpy(&sent, answer.data() + (2 * ot + side) * sizeof sent, sizeof sent);
        // All others on that side are known: what is left is the sister. What was made in its place goes, too.
        Block& node = children[kGroup * sister + q];
        node ^= sent ^ pads[ot] ^ sums[kGroup * side + q];
        children[kGroup * on_path + q] = Block{};
      }
    });
  }
}

const Block& Forest::leaf(std::size_t tree, std::size_t leaf) const {
  return leaves_[begin_[tree / kGroup] + kGroup * leaf + tree % kGroup];
}

template <class Word>
void Forest::add_rows(const CipherKeys& keys, const BinLayout* layout, TableRows<Word>& columns,
                      TableRows<Word>& sums) const {
  for (std::size_t g = 0; g < shape_.groups(); ++g) {
    keys.kernels().add_rows(keys.at(g), {.leaves = leaves_.data() + begin_[g],
                                         .count = shape_.leaves_of(g),
                                         .trees = shape_.trees_of(g),
                                         .first = g * kGroup,
                                         .blocks = columns.blocks(),
                                         .wide = sizeof(Word) == sizeof(Block),
                                         .to = layout == nullptr ? nullptr : layout->members(g),
                                         .columns = columns.bytes(0),
                                         .sums = sums.bytes(g * kGroup)});
  }
}

template void Forest::add_rows(const CipherKeys&, const BinLayout*, TableRows<std::uint64_t>&,
                               TableRows<std::uint64_t>&) const;
template void Forest::add_rows(const CipherKeys&, const BinLayout*, TableRows<UInt128>&, TableRows<UInt128>&) const;

void add_tree_wishes(const ForestShape& shape, std::span<const std::uint32_t> holes, std::span<std::byte> bits,
                     std::size_t first) {
  const int depth = shape.depth();
  for (const std::uint32_t hole : holes) {
    for (int level = 0; level < depth; ++level) add_bit(bits, first++, 1 - (hole >> (depth - 1 - level) & 1));
  }
}

}  // namespace blindfl::ot

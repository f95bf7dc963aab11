#include "blindfl/ot/tables/chain.h"

#include <algorithm>

namespace blindfl::ot {

namespace {

constexpr std::size_t kTogether = ForestShape::kGroup;

template <class Word>
struct Sums {
  Sums(std::size_t columns, std::size_t trees, std::size_t cols) : columns(columns, cols), trees(trees, cols) {}
  TableRows<Word> columns;
  TableRows<Word> trees;
};

CipherKeys group_keys(const Chain& chain, const TableBinding& binding, TableDomain domain, const Kernels& kernels) {
  return binding.keys(domain, chain.forest.shape().groups(), kernels);
}

}  // namespace

ChainPoints chain_points(std::span<const std::uint32_t> categories, std::size_t rows) {
  ChainPoints points{SecretVector<std::uint32_t>(categories.size()),
                     SecretVector<std::uint8_t>(rows + categories.size())};
  // The column where the next look-up of a category has its hole.
  SecretVector<std::uint32_t> next(rows);
  for (std::size_t u = 0; u < rows; ++u) next[u] = static_cast<std::uint32_t>(u);
  for (std::size_t j = 0; j < categories.size(); ++j) {
    const std::uint32_t hole = next[categories[j]];
    points.holes[j] = hole;
    points.used[hole] = 1;
    next[categories[j]] = static_cast<std::uint32_t>(rows + j);
  }
  return points;
}

FlagPads::FlagPads(const Block* keys, std::size_t count)
    : count_(count), keys_((count + kTogether - 1) / kTogether * kTogether, Block{}) {
  std::copy_n(keys, count, keys_.begin());
}

std::size_t FlagPads::key_count() const {
  return (count_ + TableBinding::kFlagsPerKey - 1) / TableBinding::kFlagsPerKey;
}

template <class Word>
void FlagPads::add_all(const CipherKeys& keys, TableRows<Word>& columns) const {
  // Each key is a leaf that is alone in its tree: the sums of the trees are the pads.
  TableRows<Word> nowhere(1, columns.cols());
  for (std::size_t u = 0; u < count_; u += kTogether) {
    keys.kernels().add_rows(keys.at(u / TableBinding::kFlagsPerKey), {.leaves = keys_.data() + u,
                                                                      .count = 1,
                                                                      .trees = std::min(kTogether, count_ - u),
                                                                      .first = u,
                                                                      .blocks = columns.blocks(),
                                                                      .wide = sizeof(Word) == sizeof(Block),
                                                                      .to = nullptr,
                                                                      .columns = nowhere.bytes(0),
                                                                      .sums = columns.bytes(u)});
  }
}

template <class Word>
void FlagPads::subtract(const CipherKeys& keys, std::size_t column, std::span<Word> row) const {
  SecretBlocks pad(row_blocks(row.size(), sizeof(Word)));
  for (std::size_t i = 0; i < pad.size(); ++i) pad[i] = keys_[column] ^ Block { i, column };
  keys.kernels().encrypt(keys.at(column / TableBinding::kFlagsPerKey), pad.data(), pad.data(), pad.size());
  for (Block& block : pad) block ^= keys_[column];
  for (std::size_t i = 0; i < row.size(); ++i) {
    Word word;
    std::memcpy(&word, reinterpret_cast<const std::byte*>(pad.data()) + i * sizeof word, sizeof word);
    row[i] -= word;
  }
}

template <class Word>
TableRows<Word> keeper_chain_gather(const Chain& chain, const TableBinding& binding, const Kernels& kernels,
                                    TableRows<Word>& columns) {
  TableRows<Word> sums(columns.size() - chain.rows, columns.cols());
  chain.forest.add_rows<Word>(group_keys(chain, binding, TableDomain::kChainGather, kernels), nullptr, columns, sums);
  chain.flags.add_all<Word>(binding.keys(TableDomain::kChainFlags, chain.flags.key_count(), kernels), columns);
  for (std::size_t j = 0; j < sums.size(); ++j) {
    subtract_from<Word>(columns[chain.rows + j], std::as_const(sums)[j]);
  }
  return sums;
}

template <class Word>
TableRows<Word> keeper_chain_scatter(const Chain& chain, const TableBinding& binding, const Kernels& kernels,
                                     TableRows<Word>& rows) {
  TableRows<Word> columns(chain.rows + rows.size(), rows.cols());
  chain.forest.add_rows<Word>(group_keys(chain, binding, TableDomain::kChainScatter, kernels), nullptr, columns, rows);
  for (std::size_t j = 0; j < rows.size(); ++j) {
    subtract_from<Word>(rows[j], std::as_const(columns)[chain.rows + j]);
  }
  return columns;
}

template <class Word>
TableRows<Word> chooser_chain_gather(const Chain& chain, const ChainPoints& points, const TableBinding& binding,
                                     const Kernels& kernels, const MessageRows<Word>& message, std::size_t cols) {
  Sums<Word> known(points.used.size(), points.holes.size(), cols);
  chain.forest.add_rows<Word>(group_keys(chain, binding, TableDomain::kChainGather, kernels), nullptr, known.columns,
                              known.trees);
  const CipherKeys flag_keys = binding.keys(TableDomain::kChainFlags, chain.flags.key_count(), kernels);
  TableRows<Word>& share = known.trees;
  for (std::size_t j = 0; j < share.size(); ++j) {
    const std::size_t column = points.holes[j];
    message.add_row_to(share[j], column);
    chain.flags.subtract<Word>(flag_keys, column, share[j]);
    subtract_from<Word>(share[j], std::as_const(known.columns)[column]);
    if (column >= chain.rows) add_to<Word>(share[j], std::as_const(share)[column - chain.rows]);
  }
  return std::move(share);
}

template <class Word>
TableRows<Word> chooser_chain_scatter(const Chain& chain, const ChainPoints& points,
                                      std::span<const std::uint32_t> categories, const TableBinding& binding,
                                      const Kernels& kernels, const MessageRows<Word>& message, std::size_t cols) {
  Sums<Word> known(points.used.size(), points.holes.size(), cols);
  chain.forest.add_rows<Word>(group_keys(chain, binding, TableDomain::kChainScatter, kernels), nullptr, known.columns,
                              known.trees);
  TableRows<Word>& share = known.columns;
  for (std::size_t j = 0; j < known.trees.size(); ++j) {
    message.add_row_to(share[points.holes[j]], j);
    subtract_from<Word>(share[points.holes[j]], std::as_const(known.trees)[j]);
  }
  for (std::size_t j = 0; j < known.trees.size(); ++j) {
    add_to<Word>(share[categories[j]], std::as_const(share)[chain.rows + j]);
  }
  return std::move(share);
}

#define BLINDFL_CHAIN_OF(Word)                                                                                         \
  template TableRows<Word> keeper_chain_gather(const Chain&, const TableBinding&, const Kernels&, TableRows<Word>&);   \
  template TableRows<Word> keeper_chain_scatter(const Chain&, const TableBinding&, const Kernels&, TableRows<Word>&);  \
  template TableRows<Word> chooser_chain_gather(const Chain&, const ChainPoints&, const TableBinding&, const Kernels&, \
                                                const MessageRows<Word>&, std::size_t);                                \
  template TableRows<Word> chooser_chain_scatter(const Chain&, const ChainPoints&, std::span<const std::uint32_t>,     \
                                                 const TableBinding&, const Kernels&, const MessageRows<Word>&,        \
                                                 std::size_t);                                                         \
  template void FlagPads::add_all(const CipherKeys&, TableRows<Word>&) const;                                          \
  template void FlagPads::subtract(const CipherKeys&, std::size_t, std::span<Word>) const;
BLINDFL_CHAIN_OF(std::uint64_t)
BLINDFL_CHAIN_OF(UInt128)
#undef BLINDFL_CHAIN_OF

}  // namespace blindfl::ot

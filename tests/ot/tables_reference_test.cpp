// All that both parties send for a table, word by word, against a plain computation of it from the same randomness:
// what hides (roots, pads, flags, keys of each domain) is there, though shares would add up without it.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "blindfl/ot/tables/bits.h"
#include "ot/table_pair.h"

namespace blindfl::ot::tables_reference_test {
namespace {

using Row = std::vector<UInt128>;
using Rows = std::vector<Row>;
constexpr std::size_t kCols = 2;

/// Of a key that is the test's own: the same stream each time.
Random repeated(std::string_view what) {
  static const std::array<std::byte, KeyStream::kKeyBytes> key = [] {
    std::array<std::byte, KeyStream::kKeyBytes> drawn{};
    OtPair::random().fill(drawn);
    return drawn;
  }();
  return Random::derived(key, std::as_bytes(std::span(what)));
}

/// The pools of both parties. Two of them have the same OTs, so that one shows what the other was.
struct Pools {
  explicit Pools(std::size_t ots) : Pools(repeated("sender"), repeated("receiver")) {
    sender.extend(receiver.extend(tiles_for(ots)), tiles_for(ots));
  }
  RandomOtSender sender;
  RandomOtReceiver receiver;

 private:
  Pools(Random as_sender, Random as_receiver)
      : Pools(SenderSetup(spec_of(4), as_sender), ReceiverSetup(spec_of(4), as_receiver), as_receiver) {}
  Pools(SenderSetup from, ReceiverSetup to, Random& random) : Pools(finished(std::move(from), std::move(to), random)) {}
  explicit Pools(std::pair<RandomOtSender, RandomOtReceiver> both)
      : sender(std::move(both.first)), receiver(std::move(both.second)) {}
  static std::pair<RandomOtSender, RandomOtReceiver> finished(SenderSetup from, ReceiverSetup to, Random& random) {
    const Bytes hello = to.hello();
    auto [receiver, trees] = std::move(to).finish(from.hello(), random);
    return {std::move(from).finish(hello, trees), std::move(receiver)};
  }
};

Row sum_of(Row a, const Row& b, bool less = false) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = less ? a[i] - b[i] : a[i] + b[i];
  return a;
}

/// AES(s ^ {a, b}) ^ s.
Block masked(const Block& s, std::uint64_t a, std::uint64_t b, const std::byte* key) {
  Block block = s ^ Block { a, b };
  portable_kernels().encrypt(key, &block, &block, 1);
  return block ^ s;
}

Row row_of(const Block& leaf, std::size_t tree, const std::byte* key) {
  Row row;
  for (std::size_t i = 0; i < kCols; ++i) {
    const Block block = masked(leaf, i, tree, key);
    row.push_back(static_cast<UInt128>(block.high) << 64 | block.low);
  }
  return row;
}

/// One kind of trees, node by node, and what the keeper sends of them.
struct PlainForest {
  PlainForest(const ForestShape& forest, const CipherKeys& keys, Random& random, const Block* zero, const Block* one)
      : shape(forest) {
    for (std::size_t g = 0; g < shape.groups(); ++g) {
      std::vector<Block> roots(ForestShape::kGroup);
      random.fill(std::as_writable_bytes(std::span(roots)));
      for (std::size_t t = 8 * g; t < 8 * g + shape.trees_of(g); ++t) {
        std::vector<Block> nodes{roots[t % 8]};
        for (int level = 0; level < shape.depth(); ++level) {
          nodes.resize(shape.parents_of(g, level));
          std::vector<Block> children;
          std::array<Block, 2> sides = {*zero++, *one++};
          for (const Block& node : nodes) {
            for (const std::uint64_t side : {0, 1}) {
              children.push_back(masked(node, side, t, keys.at(g)));
              sides.at(side) ^= children.back();
            }
          }
          sent.insert(sent.end(), sides.begin(), sides.end());
          nodes = std::move(children);
        }
        nodes.resize(shape.leaves_of(g));
        leaves.push_back(std::move(nodes));
      }
    }
  }
  /// Adds up columns, and the sum of each tree. `column` of a leaf of a tree.
  template <class Column>
  Rows add(const CipherKeys& keys, Rows& columns, const Column& column) const {
    Rows sums(shape.trees, Row(kCols));
    for (std::size_t t = 0; t < shape.trees; ++t) {
      for (std::size_t v = 0; v < leaves[t].size(); ++v) {
        const Row row = row_of(leaves[t][v], t, keys.at(t / 8));
        sums[t] = sum_of(sums[t], row);
        columns[column(t, v)] = sum_of(columns[column(t, v)], row);
      }
    }
    return sums;
  }
  ForestShape shape;
  std::vector<std::vector<Block>> leaves;
  std::vector<Block> sent;
};

Rows rows_at(ByteView bytes, std::size_t count) {
  Rows rows(count, Row(kCols));
  for (std::size_t r = 0; r < count; ++r) {
    std::memcpy(rows[r].data(), bytes.data() + r * kCols * sizeof(UInt128), kCols * sizeof(UInt128));
  }
  return rows;
}

class PlainTable : public ::testing::TestWithParam<TableWay> {
 protected:
  [[nodiscard]] CipherKeys keys(TableDomain domain, std::size_t count) const {
    return binding_.keys(domain, count, portable_kernels());
  }
  [[nodiscard]] bool binned() const { return GetParam() == TableWay::kBins; }
  /// Adds a pad to each column.
  void add_flags(Rows& columns, TableDomain domain, const Block* pads) const {
    const CipherKeys all = keys(domain, 1);
    for (std::size_t u = 0; u < columns.size(); ++u) columns[u] = sum_of(columns[u], row_of(pads[u], u, all.at(0)));
  }
  void expect_gathered(const Rows& table, ByteView message) const;
  void expect_scattered(const Rows& d, ByteView message) const;
  [[nodiscard]] auto in_layout() const {
    return [this](std::size_t t, std::size_t v) { return layout_->members(t / 8)[8 * v + t % 8]; };
  }
  static std::size_t straight(std::size_t /*tree*/, std::size_t leaf) { return leaf; }

  // Not a multiple of 8, with categories that repeat and some that do not come.
  const Categories batch_ = {2, 0, 2, 2, 4, 0, 1, 1, 1, 2, 60};
  const std::size_t n_ = batch_.size();
  const TablePlan plan_{{n_, 61, kCols}, GetParam()};
  Pools pools_{plan_.ots()};
  Pools twins_{plan_.ots()};
  const TableBinding binding_{plan_, use_of(3), pools_.sender.place()};
  SenderBatch pads_ = twins_.sender.take(plan_.ots());
  const ReceiverBatch chosen_ = twins_.receiver.take(plan_.ots());
  std::optional<BinLayout> layout_;
  std::optional<PlainForest> bins_;
  std::optional<PlainForest> chain_;
};

void PlainTable::expect_gathered(const Rows& table, ByteView message) const {
  Rows chained(plan_.chain_columns(), Row(kCols));
  if (binned()) {
    Rows columns = table;
    columns.emplace_back(kCols);
    const Rows sums = bins_->add(keys(TableDomain::kBinGather, bins_->shape.groups()), columns, in_layout());
    columns.pop_back();
    add_flags(columns, TableDomain::kBinFlags, pads_.one.data() + bins_->shape.ots());
    EXPECT_TRUE(rows_at(message, columns.size()) == columns) << "the table, by bins";
    message = message.subspan(columns.size() * kCols * sizeof(UInt128));
    for (std::size_t x = 0; x < sums.size(); ++x) chained[x] = sum_of(chained[x], sums[x], true);
  } else {
    std::ranges::copy(table, chained.begin());
  }
  const Rows sums = chain_->add(keys(TableDomain::kChainGather, chain_->shape.groups()), chained, straight);
  for (std::size_t j = 0; j < n_; ++j) {
    Row& link = chained[plan_.chain_rows() + j];
    link = sum_of(link, sums[j], true);
  }
  add_flags(chained, TableDomain::kChainFlags, pads_.one.data() + plan_.bin_ots() + chain_->shape.ots());
  EXPECT_TRUE(rows_at(message, chained.size()) == chained) << "the chain";
}

void PlainTable::expect_scattered(const Rows& d, ByteView message) const {
  Rows columns(plan_.chain_columns(), Row(kCols));
  const Rows sums = chain_->add(keys(TableDomain::kChainScatter, chain_->shape.groups()), columns, straight);
  for (std::size_t j = 0; j < n_; ++j) {
    const Row expected = sum_of(sum_of(d[j], sums[j]), columns[plan_.chain_rows() + j], true);
    EXPECT_TRUE(rows_at(message, n_)[j] == expected) << j;
  }
  if (!binned()) return;
  message = message.subspan(n_ * kCols * sizeof(UInt128));
  Rows nowhere(plan_.shape().categories + 1, Row(kCols));
  const Rows carried = bins_->add(keys(TableDomain::kBinScatter, bins_->shape.groups()), nowhere, in_layout());
  for (std::size_t x = 0; x < plan_.bins(); ++x) {
    EXPECT_TRUE(rows_at(message, plan_.bins())[x] == sum_of(carried[x], columns[x], true)) << "bin " << x;
  }
}

TEST_P(PlainTable, EverythingThatHidesIsInTheMessages) {
  TableChooser chooser(plan_, use_of(3), batch_, pools_.receiver, OtPair::random());
  TableKeeper keeper(plan_, use_of(3), pools_.sender);
  const Bytes ask = chooser.ask();
  Random roots = repeated("roots");
  const Bytes answer = keeper.answer(ask, roots);

  // What the chooser asks for, without the random choices: in every tree the sides away from one leaf, and the flags of
  // columns with a hole.
  ByteView bits = ByteView(ask).subspan(TableBinding::kTagBytes);
  if (binned()) {
    BinSeed seed{};
    std::ranges::copy(bits.first(seed.size()), seed.begin());
    layout_.emplace(seed, plan_.shape().categories, plan_.bins_each());
    bits = bits.subspan(seed.size());
  }
  const auto wished = [&](std::size_t i) { return (bit_at(bits, i) ^ (chosen_.choices[i / 64] >> (i % 64) & 1)) != 0; };
  for (std::size_t i = 0; i < plan_.ots(); ++i) {
    if (bit_at(bits, i) != 0) std::swap(pads_.zero[i], pads_.one[i]);
  }
  const auto flags = [&](std::size_t first, std::size_t count) {
    std::set<std::size_t> taken;
    for (std::size_t u = 0; u < count; ++u) {
      if (wished(first + u)) taken.insert(u);
    }
    return taken;
  };
  if (binned()) {
    EXPECT_EQ(flags(plan_.bin_forest().ots(), plan_.shape().categories),
              std::set<std::size_t>(batch_.begin(), batch_.end()));
  }
  EXPECT_EQ(flags(plan_.bin_ots() + plan_.chain_forest().ots(), plan_.chain_columns()).size(), n_);

  Random again = repeated("roots");
  std::vector<Block> sums;
  if (binned()) {
    const ForestShape shape = plan_.bin_forest();
    bins_.emplace(shape, keys(TableDomain::kBinTrees, shape.groups()), again, pads_.zero.data(), pads_.one.data());
    sums = bins_->sent;
  }
  const ForestShape shape = plan_.chain_forest();
  chain_.emplace(shape, keys(TableDomain::kChainTrees, shape.groups()), again, pads_.zero.data() + plan_.bin_ots(),
                 pads_.one.data() + plan_.bin_ots());
  sums.insert(sums.end(), chain_->sent.begin(), chain_->sent.end());
  EXPECT_TRUE(std::ranges::equal(ByteView(answer).subspan(TableBinding::kTagBytes), std::as_bytes(std::span(sums))));

  const auto table = random_words<UInt128>(plan_.shape().categories * kCols);
  const auto rows = random_words<UInt128>(n_ * kCols);
  const auto gathered = keeper.gather(std::span<const UInt128>(table));
  expect_gathered(rows_at(std::as_bytes(std::span(table)), plan_.shape().categories),
                  ByteView(gathered.message).subspan(TableBinding::kTagBytes));
  const auto scattered = keeper.scatter(std::span<const UInt128>(rows));
  expect_scattered(rows_at(std::as_bytes(std::span(rows)), n_),
                   ByteView(scattered.message).subspan(TableBinding::kTagBytes));
}

INSTANTIATE_TEST_SUITE_P(Ways, PlainTable, ::testing::Values(TableWay::kChain, TableWay::kBins),
                         [](const auto& info) { return info.param == TableWay::kChain ? "chain" : "bins"; });

TEST(TableKeys, OfEveryDomainAndNumberDiffer) {
  const TableBinding binding(TablePlan({1, 1, 1}), use_of(0), {});
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  using enum TableDomain;
  for (const TableDomain domain :
       {kChainTrees, kChainFlags, kChainGather, kChainScatter, kBinTrees, kBinFlags, kBinGather, kBinScatter}) {
    const CipherKeys keys = binding.keys(domain, 5, portable_kernels());
    for (std::size_t i = 0; i < 5; ++i) {
      Block block{};
      portable_kernels().encrypt(keys.at(i), &block, &block, 1);
      EXPECT_TRUE(seen.emplace(block.low, block.high).second) << static_cast<int>(domain) << ' ' << i;
    }
  }
}

}  // namespace
}  // namespace blindfl::ot::tables_reference_test

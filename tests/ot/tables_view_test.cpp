// What the chooser sees of a table: for every small pattern of categories, its unknown leaves and flag pads make all
// that it receives uniform, whatever the table is, and still give it its shares. As linear algebra modulo 2: rows of
// messages by unknowns. Which leaves it knows is read off the real trees, where holes and flags are the real code's,
// and that messages are these sums is checked against the real code as well.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "blindfl/ot/tables/chain.h"
#include "ot/table_pair.h"

namespace blindfl::ot::tables_view_test {
namespace {

using Row = std::vector<std::uint8_t>;
using Matrix = std::vector<Row>;

std::size_t rank_of(Matrix m) {
  std::size_t rank = 0;
  for (std::size_t c = 0; !m.empty() && c < m[0].size(); ++c) {
    std::size_t pivot = rank;
    while (pivot < m.size() && m[pivot][c] == 0) ++pivot;
    if (pivot == m.size()) continue;
    std::swap(m[rank], m[pivot]);
    for (std::size_t r = 0; r < m.size(); ++r) {
      if (r == rank || m[r][c] == 0) continue;
      for (std::size_t i = 0; i < m[r].size(); ++i) m[r][i] ^= m[rank][i];
    }
    ++rank;
  }
  return rank;
}

/// Both parties' trees for holes; the random OTs are dealt.
struct Trees {
  Trees(const ForestShape& shape, std::span<const std::uint32_t> holes, const TableBinding& binding)
      : Trees(shape, holes, binding, Dealt(shape, holes)) {}

  [[nodiscard]] bool known(std::size_t tree, std::size_t leaf) const {
    return keeper.leaf(tree, leaf) == chooser.leaf(tree, leaf);
  }

 private:
  struct Dealt {
    Dealt(const ForestShape& shape, std::span<const std::uint32_t> holes)
        : zero(shape.ots()), one(shape.ots()), pads(shape.ots()), answer(Forest::answer_bytes(shape)) {
      OtPair::random().fill(std::as_writable_bytes(std::span(zero)));
      OtPair::random().fill(std::as_writable_bytes(std::span(one)));
      Bytes wishes((shape.ots() + 7) / 8);
      add_tree_wishes(shape, holes, wishes, 0);
      for (std::size_t i = 0; i < pads.size(); ++i) {
        pads[i] = (std::to_integer<int>(wishes[i / 8]) >> (i % 8) & 1) != 0 ? one[i] : zero[i];
      }
    }
    SecretBlocks zero;
    SecretBlocks one;
    SecretBlocks pads;
    Bytes answer;
  };
  Trees(const ForestShape& shape, std::span<const std::uint32_t> holes, const TableBinding& binding, Dealt dealt)
      : keys_(binding.keys(TableDomain::kChainTrees, shape.groups(), fastest_kernels())),
        keeper(shape, keys_, {dealt.zero.data(), dealt.one.data()}, OtPair::random(), dealt.answer),
        chooser(shape, keys_, holes, dealt.pads.data(), dealt.answer) {}

  CipherKeys keys_;

 public:
  Forest keeper;
  Forest chooser;
};

/// Columns of the matrices: rows of the table (or of D), then unknown leaves and pads, as they turn up.
class Unknowns {
 public:
  explicit Unknowns(std::size_t given) : next_(given) {}
  std::size_t operator()(char kind, std::size_t a, std::size_t b = 0) {
    const auto [at, is_new] = columns_.try_emplace({kind, a, b}, next_);
    if (is_new) ++next_;
    return at->second;
  }
  [[nodiscard]] std::size_t size() const { return next_; }

 private:
  std::size_t next_;
  std::map<std::tuple<char, std::size_t, std::size_t>, std::size_t> columns_;
};

using Terms = std::vector<std::size_t>;

Matrix matrix_of(const std::vector<Terms>& rows, std::size_t columns) {
  Matrix m;
  for (const Terms& terms : rows) {
    Row row(columns);
    for (const std::size_t c : terms) row[c] ^= 1;
    m.push_back(row);
  }
  return m;
}

/// Is all that is in `rows` uniform, whatever the first `given` columns are?
bool hides(const std::vector<Terms>& rows, const Unknowns& unknowns, std::size_t given) {
  Matrix masks = matrix_of(rows, unknowns.size());
  for (Row& row : masks) row.erase(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(given));
  return rank_of(masks) == rows.size();
}

/// Can `wanted` be computed from `rows`?
bool gives(std::vector<Terms> rows, const Unknowns& unknowns, const Terms& wanted) {
  const std::size_t before = rank_of(matrix_of(rows, unknowns.size()));
  rows.push_back(wanted);
  return rank_of(matrix_of(rows, unknowns.size())) == before;
}

void append(Terms& to, const Terms& terms) {
  to.insert(to.end(), terms.begin(), terms.end());
}

/// A chain: what it adds to messages, in terms of what the chooser does not know.
struct ChainView {
  ChainView(const TablePlan& plan, const ChainPoints& chain_points)
      : rows(plan.chain_rows()),
        lookups(plan.shape().lookups),
        points(chain_points),
        shape(plan.chain_forest()),
        trees(shape, points.holes, TableBinding(plan, use_of(0), {})) {}

  [[nodiscard]] Terms leaves(std::size_t tree, std::size_t leaf, char kind, Unknowns& unknowns) const {
    const bool there = leaf < shape.leaves_of(tree / ForestShape::kGroup) && (tree < lookups - without_tree);
    if (!there || trees.known(tree, leaf)) return {};
    return {unknowns(kind, tree, leaf)};
  }
  [[nodiscard]] Terms column(std::size_t u, char kind, Unknowns& unknowns) const {
    Terms terms;
    for (std::size_t j = 0; j < lookups; ++j) append(terms, leaves(j, u, kind, unknowns));
    return terms;
  }
  [[nodiscard]] Terms tree(std::size_t j, char kind, Unknowns& unknowns) const {
    Terms terms;
    for (std::size_t u = 0; u < rows + lookups; ++u) append(terms, leaves(j, u, kind, unknowns));
    return terms;
  }
  /// Rows that the keeper sends; `table[u]` is what row u is made of.
  [[nodiscard]] std::vector<Terms> gather(const std::vector<Terms>& table, Unknowns& unknowns) const {
    std::vector<Terms> sent;
    for (std::size_t u = 0; u < rows + lookups; ++u) {
      Terms terms = column(u, 'h', unknowns);
      append(terms, u < rows ? table[u] : tree(u - rows, 'h', unknowns));
      if (flags && points.used[u] == 0) terms.push_back(unknowns('w', u));
      sent.push_back(terms);
    }
    return sent;
  }
  [[nodiscard]] std::vector<Terms> scatter(Unknowns& unknowns) const {
    std::vector<Terms> sent;
    for (std::size_t j = 0; j < lookups; ++j) {
      Terms terms = tree(j, 's', unknowns);
      append(terms, column(rows + j, 's', unknowns));
      terms.push_back(j);  // D_j
      sent.push_back(terms);
    }
    return sent;
  }

  std::size_t rows;
  std::size_t lookups;
  ChainPoints points;
  ForestShape shape;
  Trees trees;
  bool flags = true;
  std::size_t without_tree = 0;
};

std::vector<Terms> own_table(std::size_t rows) {
  std::vector<Terms> table;
  for (std::size_t u = 0; u < rows; ++u) table.push_back({u});
  return table;
}

void for_all_patterns(const std::function<void(const TablePlan&, const Categories&)>& use) {
  for (std::size_t v = 1; v <= 5; ++v) {
    for (std::size_t n = 1; n <= 4; ++n) {
      const TablePlan plan({n, v, 1}, TableWay::kChain);
      Categories categories(n);
      for (bool more = true; more;) {
        use(plan, categories);
        std::size_t j = 0;
        while (j < n && ++categories[j] == v) categories[j++] = 0;
        more = j < n;
      }
    }
  }
}

TEST(ChooserView, OfAGatherIsUniformAndGivesItsShares) {
  std::size_t patterns = 0;
  for_all_patterns([&](const TablePlan& plan, const Categories& categories) {
    const std::size_t v = plan.shape().categories;
    const ChainView view(plan, chain_points(categories, v));
    Unknowns unknowns(v);
    const auto sent = view.gather(own_table(v), unknowns);
    ASSERT_TRUE(hides(sent, unknowns, v));
    for (std::size_t j = 0; j < categories.size(); ++j) {
      Terms share = view.tree(j, 'h', unknowns);
      share.push_back(categories[j]);
      ASSERT_TRUE(gives(sent, unknowns, share)) << "look-up " << j;
    }
    ++patterns;
  });
  EXPECT_EQ(patterns, 1274U);
}

TEST(ChooserView, OfAScatterIsUniform) {
  for_all_patterns([&](const TablePlan& plan, const Categories& categories) {
    const ChainView view(plan, chain_points(categories, plan.shape().categories));
    Unknowns unknowns(categories.size());
    const auto sent = view.scatter(unknowns);
    ASSERT_TRUE(hides(sent, unknowns, categories.size()));
  });
}

TEST(ChooserView, WithoutFlagsTheTableWouldBeOpen) {
  for_all_patterns([&](const TablePlan& plan, const Categories& categories) {
    const std::size_t v = plan.shape().categories;
    ChainView view(plan, chain_points(categories, v));
    view.flags = false;
    Unknowns unknowns(v);
    const auto sent = view.gather(own_table(v), unknowns);
    ASSERT_FALSE(hides(sent, unknowns, v));
  });
}

TEST(ChooserView, WithoutTheChainRepeatedLookUpsWouldGetNothing) {
  for_all_patterns([&](const TablePlan& plan, const Categories& categories) {
    const std::size_t v = plan.shape().categories;
    ChainPoints points = chain_points(categories, v);
    bool repeats = false;
    for (std::size_t j = 0; j < categories.size(); ++j) repeats = repeats || points.holes[j] != categories[j];
    if (!repeats) return;
    std::ranges::fill(points.used, std::uint8_t{0});
    for (std::size_t j = 0; j < categories.size(); ++j) {
      points.holes[j] = categories[j];
      points.used[categories[j]] = 1;
    }
    const ChainView view(plan, points);
    Unknowns unknowns(v);
    const auto sent = view.gather(own_table(v), unknowns);
    bool all = true;
    for (std::size_t j = 0; j < categories.size(); ++j) {
      Terms share = view.tree(j, 'h', unknowns);
      share.push_back(categories[j]);
      all = all && gives(sent, unknowns, share);
    }
    ASSERT_FALSE(all);
  });
}

TEST(ChooserView, ALookUpWithoutATreeWouldOpenItsRow) {
  for_all_patterns([&](const TablePlan& plan, const Categories& categories) {
    const std::size_t v = plan.shape().categories;
    ChainView view(plan, chain_points(categories, v));
    view.without_tree = 1;
    Unknowns unknowns(v);
    ASSERT_FALSE(hides(view.gather(own_table(v), unknowns), unknowns, v));
    Unknowns others(categories.size());
    ASSERT_FALSE(hides(view.scatter(others), others, categories.size()));
  });
}

// What SECURITY.md says of parties that deviate: every flag, and a hole in each tree's own link, where it cancels.
TEST(ChooserView, OfAChooserThatDeviatesIsTheTableAndAllRows) {
  for_all_patterns([&](const TablePlan& plan, const Categories& categories) {
    const std::size_t v = plan.shape().categories;
    ChainPoints points = chain_points(categories, v);
    std::ranges::fill(points.used, std::uint8_t{1});
    for (std::size_t j = 0; j < categories.size(); ++j) points.holes[j] = static_cast<std::uint32_t>(v + j);
    const ChainView view(plan, points);
    Unknowns unknowns(v);
    const auto gathered = view.gather(own_table(v), unknowns);
    for (std::size_t u = 0; u < v; ++u) ASSERT_TRUE(gives(gathered, unknowns, {u})) << "row " << u << " of the table";
    Unknowns others(categories.size());
    const auto scattered = view.scatter(others);
    for (std::size_t j = 0; j < categories.size(); ++j) ASSERT_TRUE(gives(scattered, others, {j})) << "row " << j;
  });
}

TEST(ChooserView, OfBinsIsUniformAndGivesItsShares) {
  constexpr std::size_t kEach = 8;  // fewer than plans have, so that bins hold several
  for (std::size_t trial = 0; trial < 60; ++trial) {
    const std::size_t v = 1 + OtPair::random().below(40);
    const std::size_t n = 1 + OtPair::random().below(12);
    Categories categories(n);
    for (auto& c : categories) c = static_cast<std::uint32_t>(OtPair::random().below(v));
    BinSeed seed;
    OtPair::random().fill(seed);
    const BinLayout layout(seed, v, kEach);
    const auto placement = place_in_bins(layout, categories);
    ASSERT_TRUE(placement);
    const ForestShape shape{.trees = layout.bins(), .leaves = layout.leaves()};
    const TablePlan plan({n, layout.bins(), 1}, TableWay::kChain);
    const Trees bins(shape, placement->leaf, TableBinding(plan, use_of(1), {}));
    const ChainView chain(plan, chain_points(placement->bin_of, layout.bins()));

    const auto columns_and_sums = [&](char kind, std::vector<Terms>& columns, std::vector<Terms>& sums,
                                      Unknowns& unknowns) {
      for (std::size_t x = 0; x < layout.bins(); ++x) {
        for (std::size_t leaf = 0; leaf < layout.leaves(); ++leaf) {
          if (bins.known(x, leaf)) continue;
          const std::size_t unknown = unknowns(kind, x, leaf);
          columns[layout.members(x / 8)[8 * leaf + x % 8]].push_back(unknown);
          sums[x].push_back(unknown);
        }
      }
    };
    Unknowns unknowns(v);
    std::vector<Terms> sent = own_table(v);
    sent.emplace_back();  // of leaves that are no category's: not sent
    std::vector<Terms> sums(layout.bins());
    columns_and_sums('H', sent, sums, unknowns);
    sent.pop_back();
    for (std::uint32_t u = 0; u < v; ++u) {
      if (std::ranges::count(placement->category, u) == 0) sent[u].push_back(unknowns('W', u));
    }
    for (const Terms& row : chain.gather(sums, unknowns)) sent.push_back(row);
    ASSERT_TRUE(hides(sent, unknowns, v));
    for (std::size_t j = 0; j < n; ++j) {
      Terms share = chain.tree(j, 'h', unknowns);
      share.push_back(categories[j]);
      ASSERT_TRUE(gives(sent, unknowns, share));
    }

    Unknowns others(n);
    std::vector<Terms> scattered = chain.scatter(others);
    std::vector<Terms> nowhere(v + 1);
    std::vector<Terms> in_bin(layout.bins());
    columns_and_sums('S', nowhere, in_bin, others);
    for (std::size_t x = 0; x < layout.bins(); ++x) {
      append(in_bin[x], chain.column(x, 's', others));
      scattered.push_back(in_bin[x]);
    }
    ASSERT_TRUE(hides(scattered, others, n));
  }
}

/// Row of a leaf, by its definition, one word.
UInt128 row_of(const Block& leaf, std::size_t tree, const std::byte* key) {
  Block block = leaf ^ Block { 0, tree };
  portable_kernels().encrypt(key, &block, &block, 1);
  block ^= leaf;
  return static_cast<UInt128>(block.high) << 64 | block.low;
}

TEST(ChooserView, MessagesAreTheSumsThatItIsMadeOf) {
  const Categories categories = {2, 0, 2, 2, 4, 0, 1, 1, 1, 2};
  const TablePlan plan({10, 5, 1}, TableWay::kChain);
  const TableBinding binding(plan, use_of(0), {});
  const ForestShape shape = plan.chain_forest();
  Trees trees(shape, chain_points(categories, 5).holes, binding);
  SecretBlocks flag_keys(15);
  OtPair::random().fill(std::as_writable_bytes(std::span(flag_keys)));
  const Chain chain{.rows = 5, .forest = std::move(trees.keeper), .flags = FlagPads(flag_keys.data(), 15)};
  for (const bool gather : {true, false}) {
    const auto domain = gather ? TableDomain::kChainGather : TableDomain::kChainScatter;
    const CipherKeys keys = binding.keys(domain, shape.groups(), portable_kernels());
    const CipherKeys pad_keys = binding.keys(TableDomain::kChainFlags, 1, portable_kernels());
    std::vector<UInt128> columns(15);
    std::vector<UInt128> sums(10);
    for (std::size_t j = 0; j < 10; ++j) {
      for (std::size_t u = 0; u < shape.leaves_of(j / 8); ++u) {
        const UInt128 e = row_of(chain.forest.leaf(j, u), j, keys.at(j / 8));
        columns[u] += e;
        sums[j] += e;
      }
    }
    if (gather) {
      TableRows<UInt128> sent(15, 1);
      for (std::size_t u = 0; u < 5; ++u) sent[u][0] = 1000 + u;
      (void)keeper_chain_gather<UInt128>(chain, binding, fastest_kernels(), sent);
      for (std::size_t u = 0; u < 15; ++u) {
        const UInt128 pad = row_of(flag_keys[u], u, pad_keys.at(0));
        EXPECT_TRUE(sent[u][0] == (u < 5 ? 1000 + u : 0 - sums[u - 5]) + columns[u] + pad) << u;
      }
    } else {
      TableRows<UInt128> sent(10, 1);
      for (std::size_t j = 0; j < 10; ++j) sent[j][0] = 1000 + j;
      (void)keeper_chain_scatter<UInt128>(chain, binding, fastest_kernels(), sent);
      for (std::size_t j = 0; j < 10; ++j) EXPECT_TRUE(sent[j][0] == 1000 + j - columns[5 + j] + sums[j]) << j;
    }
  }
}

TEST(ChooserView, TreesGrowFromFreshRoots) {
  const ForestShape shape{.trees = 11, .leaves = 20};
  const std::vector<std::uint32_t> holes(11);
  const TableBinding binding(TablePlan({1, 1, 1}), use_of(0), {});
  std::set<std::pair<std::uint64_t, std::uint64_t>> leaves;
  for (int i = 0; i < 2; ++i) {
    const Trees trees(shape, holes, binding);
    for (std::size_t t = 0; t < 11; ++t) {
      for (std::size_t u = 0; u < 20; ++u) leaves.emplace(trees.keeper.leaf(t, u).low, trees.keeper.leaf(t, u).high);
    }
  }
  EXPECT_EQ(leaves.size(), 2U * 11 * 20) << "the same keys of AES, and no leaf in common";
}

TEST(TableBindingTest, NoTwoUsesShareAKey) {
  const TablePlan plan({3, 5, 2}, TableWay::kChain);
  OtSession::Digest place{};
  std::vector<TableBinding> bindings = {
      {plan, use_of(0), place}, {plan, use_of(1), place}, {plan, use_of(0, 2), place}};
  TableUse use = use_of(0);
  use.layer = 4;
  bindings.emplace_back(plan, use, place);
  use = use_of(0);
  use.chooser = Party::kA;
  bindings.emplace_back(plan, use, place);
  bindings.emplace_back(TablePlan({3, 5, 2}, TableWay::kBins), use_of(0), place);
  bindings.emplace_back(TablePlan({4, 5, 2}, TableWay::kChain), use_of(0), place);
  place.fill(std::byte{1});
  bindings.emplace_back(plan, use_of(0), place);
  constexpr std::size_t kNumbers = 3;
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  for (const TableBinding& binding : bindings) {
    for (const auto domain :
         {TableDomain::kChainTrees, TableDomain::kChainFlags, TableDomain::kChainGather, TableDomain::kChainScatter,
          TableDomain::kBinTrees, TableDomain::kBinFlags, TableDomain::kBinGather, TableDomain::kBinScatter}) {
      const CipherKeys keys = binding.keys(domain, kNumbers, fastest_kernels());
      for (std::size_t i = 0; i < kNumbers; ++i) {
        Block block{};
        fastest_kernels().encrypt(keys.at(i), &block, &block, 1);
        seen.emplace(block.low, block.high);
      }
    }
  }
  EXPECT_EQ(seen.size(), bindings.size() * 8 * kNumbers);
}

TEST(ChooserView, EachTreeHasOneUnknownLeafOfAnyNumber) {
  for (const std::size_t leaves : {2, 3, 4, 5, 8, 9, 31, 33, 100}) {
    const ForestShape shape{.trees = 11, .leaves = leaves};
    std::vector<std::uint32_t> holes(11);
    for (std::uint32_t t = 0; t < 11; ++t) holes[t] = static_cast<std::uint32_t>(t == 0 ? leaves - 1 : t * 7 % leaves);
    const Trees trees(shape, holes, TableBinding(TablePlan({1, 1, 1}), use_of(0), {}));
    const auto of_a_group = static_cast<std::size_t>(&trees.keeper.leaf(8, 0) - &trees.keeper.leaf(0, 0));
    EXPECT_EQ(shape.memory(), 2 * sizeof(Block) * of_a_group);
    for (std::size_t t = 0; t < 11; ++t) {
      for (std::size_t u = 0; u < leaves; ++u) EXPECT_EQ(trees.known(t, u), u != holes[t]) << t << ' ' << u;
    }
  }
}

}  // namespace
}  // namespace blindfl::ot::tables_view_test

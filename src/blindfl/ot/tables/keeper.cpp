#include <algorithm>
#include <optional>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/ot/tables/bits.h"
#include "blindfl/ot/tables/chain.h"
#include "blindfl/ot/tables/tables.h"

namespace blindfl::ot {

namespace {

/// Puts both pads of every OT in the order of the chooser's wishes.
void exchange_pads(SenderBatch& ots, ByteView corrections) {
  for (std::size_t i = 0; i < ots.size(); ++i) {
    const Block change = (ots.zero[i] ^ ots.one[i]) & mask_of(bit_at(corrections, i));
    ots.zero[i] ^= change;
    ots.one[i] ^= change;
  }
}

/// Rows of `count` * cols words.
template <class Word>
TableRows<Word> padded_rows(std::span<const Word> words, std::size_t count, std::size_t all, std::size_t cols) {
  TableRows<Word> rows(all, cols);
  for (std::size_t r = 0; r < count; ++r) std::ranges::copy(words.subspan(r * cols, cols), rows[r].begin());
  return rows;
}

}  // namespace

struct TableKeeper::State {
  State(const TablePlan& table, const TableUse& use, RandomOtSender& pool, const Kernels& k, TableSeeds* s)
      : plan(table), binding(table, use, pool.place()), kernels(&k), seeds(s), ots(pool.take(table.ots())) {}

  [[nodiscard]] CipherKeys tree_keys(TableDomain domain, const ForestShape& shape) const {
    return binding.keys(domain, shape.groups(), *kernels);
  }
  void begin(bool& done, std::string_view what) const {
    require<InvalidArgument>(!done, "table: ", what, " works once");
    require<InvalidArgument>(chain.has_value(), "table: ", what, " needs keys first");
  }
  void end(bool& done) {
    done = true;
    if (gathered) {
      chain->flags = {};
      bin_flags = {};
    }
    if (!gathered || !scattered) return;
    chain.reset();
    bins.reset();
  }

  TablePlan plan;
  TableBinding binding;
  const Kernels* kernels;
  TableSeeds* seeds;
  SenderBatch ots;
  std::shared_ptr<const BinLayout> layout;
  std::optional<Forest> bins;
  FlagPads bin_flags;
  std::optional<Chain> chain;
  bool answered = false;
  bool gathered = false;
  bool scattered = false;
};

TableKeeper::TableKeeper(const TablePlan& plan, const TableUse& use, RandomOtSender& ots, const Kernels& kernels,
                         TableSeeds* seeds)
    : state_(std::make_unique<State>(plan, use, ots, kernels, seeds)) {}

TableKeeper::TableKeeper(TableKeeper&& other) noexcept = default;
TableKeeper& TableKeeper::operator=(TableKeeper&& other) noexcept = default;
TableKeeper::~TableKeeper() = default;

Bytes TableKeeper::answer(ByteView ask, Random& random) {
  State& s = *state_;
  require<InvalidArgument>(!s.answered, "table: answer works once");
  ByteView bits = s.binding.checked_body(ask, "ask", s.plan.ask_bytes());
  const bool binned = s.plan.way() == TableWay::kBins;
  const ByteView seed_bytes = bits.first(binned ? sizeof(BinSeed) : 0);
  bits = bits.subspan(seed_bytes.size());
  for (std::size_t i = s.plan.ots(); i < 8 * bits.size(); ++i) {
    require<ProtocolError>(bit_at(bits, i) == 0, "table: the peer's message (ask) has bits behind the last");
  }
  // Whatever fails from here on: a second ask would set the pads in another order, and show both of a pair.
  s.answered = true;
  exchange_pads(s.ots, bits);
  Bytes message(s.plan.answer_bytes());
  s.binding.write_tag(message, "answer");
  std::span<std::byte> sums = std::span(message).subspan(TableBinding::kTagBytes);
  WishedKeys wished{s.ots.zero.data(), s.ots.one.data()};
  if (binned) {
    BinSeed seed{};
    std::ranges::copy(seed_bytes, seed.begin());
    TableSeeds once;
    s.layout = (s.seeds != nullptr ? *s.seeds : once).layout(seed, s.plan.shape().categories, s.plan.bins_each());
    const ForestShape shape = s.plan.bin_forest();
    s.bins.emplace(shape, s.tree_keys(TableDomain::kBinTrees, shape), wished, random, sums);
    s.bin_flags = FlagPads(wished.one + shape.ots(), s.plan.shape().categories);
    sums = sums.subspan(Forest::answer_bytes(shape));
    wished = {wished.zero + s.plan.bin_ots(), wished.one + s.plan.bin_ots()};
  }
  const ForestShape shape = s.plan.chain_forest();
  s.chain.emplace(Chain{.rows = s.plan.chain_rows(),
                        .forest = Forest(shape, s.tree_keys(TableDomain::kChainTrees, shape), wished, random, sums),
                        .flags = FlagPads(wished.one + shape.ots(), s.plan.chain_columns())});
  s.ots = {};
  return message;
}

template <class Word>
TableKeeper::Sent<Word> TableKeeper::gather(std::span<const Word> table) {
  State& s = *state_;
  s.begin(s.gathered, "gather");
  const auto [lookups, categories, cols] = s.plan.shape();
  require<InvalidArgument>(table.size() == categories * cols, "table: ", table.size(), " words, not ", categories,
                           " x ", cols);
  Sent<Word> sent{Bytes(s.plan.gather_bytes(sizeof(Word))), {}};
  s.binding.write_tag(sent.message, "gather", sizeof(Word));
  std::span<std::byte> out = std::span(sent.message).subspan(TableBinding::kTagBytes);
  const auto chained = [&](TableRows<Word> columns) {
    TableRows<Word> sums = keeper_chain_gather<Word>(*s.chain, s.binding, *s.kernels, columns);
    write_rows(columns, columns.size(), out);
    sums.negate();
    return sums.packed(sums.size());
  };
  if (s.layout == nullptr) {
    sent.share = chained(padded_rows(table, categories, s.plan.chain_columns(), cols));
  } else {
    TableRows<Word> columns = padded_rows(table, categories, categories + 1, cols);
    TableRows<Word> in_bin(s.plan.chain_columns(), cols);
    s.bins->add_rows<Word>(s.tree_keys(TableDomain::kBinGather, s.bins->shape()), s.layout.get(), columns, in_bin);
    s.bin_flags.add_all<Word>(s.binding.keys(TableDomain::kBinFlags, s.bin_flags.key_count(), *s.kernels), columns);
    out = write_rows(columns, categories, out);
    in_bin.negate();
    sent.share = chained(std::move(in_bin));
  }
  s.end(s.gathered);
  return sent;
}

template <class Word>
TableKeeper::Sent<Word> TableKeeper::scatter(std::span<const Word> rows) {
  State& s = *state_;
  s.begin(s.scattered, "scatter");
  const auto [lookups, categories, cols] = s.plan.shape();
  require<InvalidArgument>(rows.size() == lookups * cols, "table: ", rows.size(), " words, not ", lookups, " x ", cols);
  Sent<Word> sent{Bytes(s.plan.scatter_bytes(sizeof(Word))), {}};
  s.binding.write_tag(sent.message, "scatter", sizeof(Word));
  const std::span<std::byte> out = std::span(sent.message).subspan(TableBinding::kTagBytes);
  TableRows<Word> masked = padded_rows(rows, lookups, lookups, cols);
  TableRows<Word> chained = keeper_chain_scatter<Word>(*s.chain, s.binding, *s.kernels, masked);
  const std::span<std::byte> rest = write_rows(masked, lookups, out);
  chained.negate();
  if (s.layout == nullptr) {
    sent.share = chained.packed(categories);
  } else {
    // The chain's shares are what the bins' trees carry.
    TableRows<Word> columns(categories + 1, cols);
    s.bins->add_rows<Word>(s.tree_keys(TableDomain::kBinScatter, s.bins->shape()), s.layout.get(), columns, chained);
    write_rows(chained, s.plan.bins(), rest);
    columns.negate();
    sent.share = columns.packed(categories);
  }
  s.end(s.scattered);
  return sent;
}

template TableKeeper::Sent<std::uint64_t> TableKeeper::gather(std::span<const std::uint64_t>);
template TableKeeper::Sent<UInt128> TableKeeper::gather(std::span<const UInt128>);
template TableKeeper::Sent<std::uint64_t> TableKeeper::scatter(std::span<const std::uint64_t>);
template TableKeeper::Sent<UInt128> TableKeeper::scatter(std::span<const UInt128>);

}  // namespace blindfl::ot

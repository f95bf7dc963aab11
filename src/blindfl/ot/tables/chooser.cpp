#include <algorithm>
#include <optional>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/ot/tables/bits.h"
#include "blindfl/ot/tables/chain.h"
#include "blindfl/ot/tables/tables.h"

namespace blindfl::ot {

/// What the chooser has, less and less of it.
struct TableChooser::State {
  State(const TablePlan& table, const TableUse& use, std::span<const std::uint32_t> batch, RandomOtReceiver& pool,
        const Kernels& k)
      : plan(table),
        binding(table, use, pool.place()),
        kernels(&k),
        categories(batch.begin(), batch.end()),
        ots(pool.take(table.ots())) {}

  void place(Random& random, TableSeeds& seeds);
  [[nodiscard]] CipherKeys tree_keys(TableDomain domain, const ForestShape& shape) const {
    return binding.keys(domain, shape.groups(), *kernels);
  }
  /// Throws unless there are keys, for something that is done once.
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
    categories = {};
    placement = {};
    points = {};
  }

  TablePlan plan;
  TableBinding binding;
  const Kernels* kernels;
  SecretVector<std::uint32_t> categories;
  ReceiverBatch ots;
  std::shared_ptr<const BinLayout> layout;
  Placement placement;
  ChainPoints points;
  std::optional<Forest> bins;
  FlagPads bin_flags;
  std::optional<Chain> chain;
  bool asked = false;
  bool answered = false;
  bool gathered = false;
  bool scattered = false;
};

void TableChooser::State::place(Random& random, TableSeeds& seeds) {
  if (plan.way() == TableWay::kChain) {
    points = chain_points(categories, plan.chain_rows());
    return;
  }
  // The peer does not learn how often: what it gets is a seed.
  layout = seeds.current(plan.shape().categories, plan.bins_each(), random);
  std::optional<Placement> placed = place_in_bins(*layout, categories);
  while (!placed) {
    layout = seeds.renewed(plan.shape().categories, plan.bins_each(), random);
    placed = place_in_bins(*layout, categories);
  }
  placement = std::move(*placed);
  points = chain_points(placement.bin_of, plan.chain_rows());
}

TableChooser::TableChooser(const TablePlan& plan, const TableUse& use, std::span<const std::uint32_t> categories,
                           RandomOtReceiver& ots, Random& random, const Kernels& kernels, TableSeeds* seeds) {
  require<InvalidArgument>(categories.size() == plan.shape().lookups, "table: ", categories.size(), " categories for ",
                           plan.shape().lookups, " look-ups");
  const bool known = std::ranges::all_of(categories, [&](std::uint32_t c) { return c < plan.shape().categories; });
  require<InvalidArgument>(known, "table: a category is not below ", plan.shape().categories);
  state_ = std::make_unique<State>(plan, use, categories, ots, kernels);
  TableSeeds once;
  state_->place(random, seeds != nullptr ? *seeds : once);
}

TableChooser::TableChooser(TableChooser&& other) noexcept = default;
TableChooser& TableChooser::operator=(TableChooser&& other) noexcept = default;
TableChooser::~TableChooser() = default;

Bytes TableChooser::ask() {
  State& s = *state_;
  require<InvalidArgument>(!s.asked, "table: ask works once");
  Bytes message(s.plan.ask_bytes());
  s.binding.write_tag(message, "ask");
  std::span<std::byte> bits = std::span(message).subspan(TableBinding::kTagBytes);
  if (s.layout != nullptr) {
    std::ranges::copy(s.layout->seed(), bits.begin());
    bits = bits.subspan(sizeof(BinSeed));
  }
  std::ranges::copy(std::as_bytes(std::span(s.ots.choices)).first(bits.size()), bits.begin());
  if (s.layout != nullptr) {
    const ForestShape shape = s.plan.bin_forest();
    add_tree_wishes(shape, s.placement.leaf, bits, 0);
    for (const std::uint32_t category : s.placement.category) {
      if (category < s.plan.shape().categories) add_bit(bits, shape.ots() + category, 1);
    }
  }
  const ForestShape shape = s.plan.chain_forest();
  add_tree_wishes(shape, s.points.holes, bits, s.plan.bin_ots());
  for (std::size_t u = 0; u < s.points.used.size(); ++u) {
    add_bit(bits, s.plan.bin_ots() + shape.ots() + u, s.points.used[u]);
  }
  s.ots.choices = {};
  s.asked = true;
  return message;
}

void TableChooser::take_keys(ByteView answer) {
  State& s = *state_;
  require<InvalidArgument>(s.asked && !s.answered, "table: keys are taken once, after ask");
  ByteView sums = s.binding.checked_body(answer, "answer", s.plan.answer_bytes());
  const Block* pads = s.ots.pads.data();
  if (s.layout != nullptr) {
    const ForestShape shape = s.plan.bin_forest();
    s.bins.emplace(shape, s.tree_keys(TableDomain::kBinTrees, shape), s.placement.leaf, pads, sums);
    s.bin_flags = FlagPads(pads + shape.ots(), s.plan.shape().categories);
    sums = sums.subspan(Forest::answer_bytes(shape));
    pads += s.plan.bin_ots();
  }
  const ForestShape shape = s.plan.chain_forest();
  s.chain.emplace(
      Chain{.rows = s.plan.chain_rows(),
            .forest = Forest(shape, s.tree_keys(TableDomain::kChainTrees, shape), s.points.holes, pads, sums),
            .flags = FlagPads(pads + shape.ots(), s.plan.chain_columns())});
  s.ots = {};
  s.answered = true;
}

template <class Word>
SecretVector<Word> TableChooser::gather(ByteView message) {
  State& s = *state_;
  s.begin(s.gathered, "gather");
  const auto [lookups, categories, cols] = s.plan.shape();
  const ByteView body = s.binding.checked_body(message, "gather", s.plan.gather_bytes(sizeof(Word)), sizeof(Word));
  MessageRows<Word> rows(body, cols);
  if (s.layout == nullptr) {
    const TableRows<Word> share = chooser_chain_gather<Word>(*s.chain, s.points, s.binding, *s.kernels, rows, cols);
    s.end(s.gathered);
    return share.packed(lookups);
  }
  TableRows<Word> columns(categories + 1, cols);
  TableRows<Word> in_bin(s.plan.bins(), cols);
  s.bins->add_rows<Word>(s.tree_keys(TableDomain::kBinGather, s.bins->shape()), s.layout.get(), columns, in_bin);
  const CipherKeys flag_keys = s.binding.keys(TableDomain::kBinFlags, s.bin_flags.key_count(), *s.kernels);
  for (std::size_t x = 0; x < in_bin.size(); ++x) {
    const std::uint32_t category = s.placement.category[x];
    if (category == categories) continue;
    rows.add_row_to(in_bin[x], category);
    s.bin_flags.subtract<Word>(flag_keys, category, in_bin[x]);
    subtract_from<Word>(in_bin[x], std::as_const(columns)[category]);
  }
  TableRows<Word> share =
      chooser_chain_gather<Word>(*s.chain, s.points, s.binding, *s.kernels, rows.after(categories), cols);
  for (std::size_t j = 0; j < lookups; ++j) add_to<Word>(share[j], std::as_const(in_bin)[s.placement.bin_of[j]]);
  s.end(s.gathered);
  return share.packed(lookups);
}

template <class Word>
SecretVector<Word> TableChooser::scatter(ByteView message) {
  State& s = *state_;
  s.begin(s.scattered, "scatter");
  const auto [lookups, categories, cols] = s.plan.shape();
  const ByteView body = s.binding.checked_body(message, "scatter", s.plan.scatter_bytes(sizeof(Word)), sizeof(Word));
  const MessageRows<Word> rows(body, cols);
  const SecretVector<std::uint32_t>& targets = s.layout == nullptr ? s.categories : s.placement.bin_of;
  const TableRows<Word> chained =
      chooser_chain_scatter<Word>(*s.chain, s.points, targets, s.binding, *s.kernels, rows, cols);
  if (s.layout == nullptr) {
    s.end(s.scattered);
    return chained.packed(categories);
  }
  TableRows<Word> share(categories + 1, cols);
  TableRows<Word> in_bin(s.plan.bins(), cols);
  s.bins->add_rows<Word>(s.tree_keys(TableDomain::kBinScatter, s.bins->shape()), s.layout.get(), share, in_bin);
  const MessageRows<Word> masked = rows.after(lookups);
  for (std::size_t x = 0; x < in_bin.size(); ++x) {
    // What an empty bin gets goes to the row behind the last, which is dropped.
    const std::span<Word> to = share[s.placement.category[x]];
    masked.add_row_to(to, x);
    subtract_from<Word>(to, std::as_const(in_bin)[x]);
    add_to<Word>(to, chained[x]);
  }
  s.end(s.scattered);
  return share.packed(categories);
}

template SecretVector<std::uint64_t> TableChooser::gather(ByteView);
template SecretVector<UInt128> TableChooser::gather(ByteView);
template SecretVector<std::uint64_t> TableChooser::scatter(ByteView);
template SecretVector<UInt128> TableChooser::scatter(ByteView);

}  // namespace blindfl::ot

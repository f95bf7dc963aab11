// Embedding tables by oblivious transfer: both shares add up to what was looked up, and to the sums of rows.

#include "blindfl/ot/tables/tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <new>
#include <set>
#include <string>
#include <type_traits>

#include "blindfl/base/error.h"
#include "ot/table_pair.h"

namespace blindfl::ot::tables_test {
namespace {

static_assert(!std::is_copy_constructible_v<TableChooser> && std::is_nothrow_move_constructible_v<TableChooser>);
static_assert(!std::is_copy_constructible_v<TableKeeper> && std::is_nothrow_move_constructible_v<TableKeeper>);

TablePools& pools() {
  static TablePools pools;
  return pools;
}

enum class Batch { kRandom, kEqual, kDistinct, kSkewed };

Categories batch_of(Batch kind, const TableShape& shape) {
  Random& random = OtPair::random();
  Categories batch(shape.lookups);
  const auto last = static_cast<std::uint32_t>(shape.categories - 1);
  for (std::size_t j = 0; j < batch.size(); ++j) {
    const auto any = static_cast<std::uint32_t>(random.below(shape.categories));
    const auto next = static_cast<std::uint32_t>(j * 7919 % shape.categories);
    batch[j] = kind == Batch::kRandom   ? any
               : kind == Batch::kEqual  ? last
               : kind == Batch::kSkewed ? (j % 3 == 0 ? any : last / 2)
                                        : next;
  }
  return batch;
}

template <class Word>
void expect_right(const TablePlan& plan, const Categories& batch, TablePair& pair, bool scatter_first) {
  const TableShape& shape = plan.shape();
  const auto table = random_words<Word>(shape.categories * shape.cols);
  const auto rows = random_words<Word>(shape.lookups * shape.cols);
  const std::string where = std::to_string(shape.categories) + " categories, " + std::to_string(shape.lookups) +
                            " look-ups, " + std::to_string(shape.cols) + " columns" +
                            (plan.way() == TableWay::kBins ? ", bins" : ", chain");
  const auto scatter = [&] {
    const auto sent = pair.keeper.scatter<Word>(std::span<const Word>(rows));
    EXPECT_EQ(sent.message.size(), plan.scatter_bytes(sizeof(Word))) << where;
    EXPECT_TRUE(added<Word>(pair.chooser.scatter<Word>(sent.message), sent.share) == summed_up(rows, batch, shape))
        << where;
  };
  if (scatter_first) scatter();
  const auto sent = pair.keeper.gather<Word>(std::span<const Word>(table));
  EXPECT_EQ(sent.message.size(), plan.gather_bytes(sizeof(Word))) << where;
  EXPECT_TRUE(added<Word>(pair.chooser.gather<Word>(sent.message), sent.share) == looked_up(table, batch, shape.cols))
      << where;
  if (!scatter_first) scatter();
}

class AnyTable : public ::testing::TestWithParam<TableWay> {};

TEST_P(AnyTable, SharesAddUpWhateverTheShape) {
  std::size_t turn = 0;
  for (const std::size_t categories : {1, 2, 3, 47, 48, 49, 100, 300, 337, 1000, 10000}) {
    for (const std::size_t lookups : {1, 7, 8, 12, 100, 127, 128, 130}) {
      if (GetParam() == TableWay::kChain && categories * lookups > 500000) continue;
      const std::size_t cols = std::array{8, 1, 3, 16}[turn % 4];
      const TablePlan plan({lookups, categories, cols}, GetParam());
      const Categories batch = batch_of(static_cast<Batch>(turn / 3 % 4), plan.shape());
      TablePair pair(plan, batch, pools(), turn);
      EXPECT_EQ(pair.ask.size(), plan.ask_bytes());
      EXPECT_EQ(pair.answer.size(), plan.answer_bytes());
      if (turn % 2 == 0) {
        expect_right<UInt128>(plan, batch, pair, turn % 3 == 0);
      } else {
        expect_right<std::uint64_t>(plan, batch, pair, turn % 3 == 0);
      }
      ++turn;
    }
  }
}

TEST_P(AnyTable, SharesAddUpWhateverTheCategories) {
  for (const Batch kind : {Batch::kRandom, Batch::kEqual, Batch::kDistinct, Batch::kSkewed}) {
    for (const std::size_t cols : {1, 3, 8, 16}) {
      const TablePlan plan({100, 337, cols}, GetParam());
      const Categories batch = batch_of(kind, plan.shape());
      TablePair narrow(plan, batch, pools());
      expect_right<std::uint64_t>(plan, batch, narrow, false);
      TablePair wide(plan, batch, pools());
      expect_right<UInt128>(plan, batch, wide, true);
    }
  }
}

TEST_P(AnyTable, AllKernelsMakeTheSame) {
  const TablePlan plan({13, 60, 3}, GetParam());
  const Categories batch = batch_of(Batch::kSkewed, plan.shape());
  for (const Kernels* chooser : available_kernels()) {
    for (const Kernels* keeper : available_kernels()) {
      TablePair narrow(plan, batch, pools(), 0, *chooser, *keeper);
      expect_right<std::uint64_t>(plan, batch, narrow, false);
      TablePair wide(plan, batch, pools(), 1, *chooser, *keeper);
      expect_right<UInt128>(plan, batch, wide, false);
    }
  }
}

TEST_P(AnyTable, KeysServeOnce) {
  const TablePlan plan({9, 20, 2}, GetParam());
  const Categories batch = batch_of(Batch::kRandom, plan.shape());
  pools().extend_to(plan.ots());
  TableChooser chooser(plan, use_of(0), batch, pools().pair.receiver, OtPair::random());
  TableKeeper keeper(plan, use_of(0), pools().pair.sender);
  const auto table = random_words<UInt128>(40);
  const auto rows = random_words<UInt128>(18);
  const std::span<const UInt128> table_span(table);
  const std::span<const UInt128> rows_span(rows);
  EXPECT_THROW(chooser.take_keys(Bytes(plan.answer_bytes())), InvalidArgument) << "nothing was asked";
  EXPECT_THROW((void)keeper.gather(table_span), InvalidArgument) << "nothing was answered";
  EXPECT_THROW((void)keeper.scatter(rows_span), InvalidArgument);
  const Bytes ask = chooser.ask();
  EXPECT_THROW((void)chooser.ask(), InvalidArgument);
  EXPECT_THROW((void)chooser.gather<UInt128>(Bytes(plan.gather_bytes(16))), InvalidArgument) << "there are no keys";
  const Bytes answer = keeper.answer(ask, OtPair::random());
  EXPECT_THROW((void)keeper.answer(ask, OtPair::random()), InvalidArgument);
  chooser.take_keys(answer);
  EXPECT_THROW(chooser.take_keys(answer), InvalidArgument);
  EXPECT_THROW((void)keeper.gather(rows_span), InvalidArgument) << "as many rows as look-ups";
  EXPECT_THROW((void)keeper.scatter(table_span), InvalidArgument);
  const auto gathered = keeper.gather(table_span);
  const auto scattered = keeper.scatter(rows_span);
  EXPECT_THROW((void)keeper.gather(table_span), InvalidArgument);
  EXPECT_THROW((void)keeper.gather(std::span<const std::uint64_t>()), InvalidArgument) << "not for other words, either";
  EXPECT_THROW((void)keeper.scatter(rows_span), InvalidArgument);
  TableChooser moved = std::move(chooser);
  EXPECT_EQ(moved.gather<UInt128>(gathered.message).size(), 18U);
  EXPECT_THROW((void)moved.gather<UInt128>(gathered.message), InvalidArgument);
  EXPECT_EQ(moved.scatter<UInt128>(scattered.message).size(), 40U);
  EXPECT_THROW((void)moved.scatter<UInt128>(scattered.message), InvalidArgument);
}

TEST_P(AnyTable, AnAnswerThatFailedHalfWayIsNotMadeAgain) {
  Kernels failing = portable_kernels();
  failing.grow = [](const std::byte*, const Block*, std::size_t, std::uint64_t, Block*, Block*) {
    throw std::bad_alloc();
  };
  const TablePlan plan({9, 20, 2}, GetParam());
  pools().extend_to(plan.ots());
  TableChooser chooser(plan, use_of(0), batch_of(Batch::kRandom, plan.shape()), pools().pair.receiver,
                       OtPair::random());
  TableKeeper keeper(plan, use_of(0), pools().pair.sender, failing);
  const Bytes ask = chooser.ask();
  EXPECT_THROW((void)keeper.answer(Bytes(ask.size()), OtPair::random()), ProtocolError) << "no ask: nothing changes";
  EXPECT_THROW((void)keeper.answer(ask, OtPair::random()), std::bad_alloc);
  EXPECT_THROW((void)keeper.answer(ask, OtPair::random()), InvalidArgument) << "its pads are in the asked order now";
  const auto table = random_words<UInt128>(40);
  EXPECT_THROW((void)keeper.gather(std::span<const UInt128>(table)), InvalidArgument) << "there are no keys";
}

TEST_P(AnyTable, OneDirectionDoesWithoutTheOther) {
  const TablePlan plan({10, 50, 8}, GetParam());
  const Categories batch = batch_of(Batch::kRandom, plan.shape());
  TablePair pair(plan, batch, pools());
  const auto rows = random_words<UInt128>(80);
  const auto sent = pair.keeper.scatter(std::span<const UInt128>(rows));
  EXPECT_EQ(added<UInt128>(pair.chooser.scatter<UInt128>(sent.message), sent.share),
            summed_up(rows, batch, plan.shape()));
}

TEST_P(AnyTable, RefusesCategoriesThatAreNone) {
  const TablePlan plan({2, 5, 1}, GetParam());
  pools().extend_to(plan.ots());
  RandomOtReceiver& pool = pools().pair.receiver;
  const std::uint64_t before = pool.position();
  EXPECT_THROW(TableChooser(plan, use_of(0), Categories{1, 5}, pool, OtPair::random()), InvalidArgument);
  EXPECT_THROW(TableChooser(plan, use_of(0), Categories{1}, pool, OtPair::random()), InvalidArgument);
  EXPECT_EQ(pool.position(), before) << "nothing is taken";
}

INSTANTIATE_TEST_SUITE_P(Ways, AnyTable, ::testing::Values(TableWay::kChain, TableWay::kBins),
                         [](const auto& info) { return info.param == TableWay::kChain ? "chain" : "bins"; });

TEST(TablePlanTest, TakesTheCheaperWay) {
  EXPECT_EQ(TablePlan({128, 100, 8}).way(), TableWay::kChain);
  EXPECT_EQ(TablePlan({128, 291, 8}).way(), TableWay::kChain);
  EXPECT_EQ(TablePlan({128, 292, 8}).way(), TableWay::kBins);
  EXPECT_EQ(TablePlan({128, 1000, 8}).way(), TableWay::kBins);
  EXPECT_EQ(TablePlan({8, 1000, 8}).way(), TableWay::kChain) << "few look-ups";
  EXPECT_EQ(TablePlan({128, 1000, 8}).bins(), 192U);
  EXPECT_EQ(TablePlan({130, 1000, 8}, TableWay::kBins).bins(), 224U) << "more look-ups have more bins";
  EXPECT_EQ(TablePlan({1, 1000, 8}, TableWay::kBins).bins(), 192U);
  for (const TableShape shape : {TableShape{0, 1, 1}, {1, 0, 1}, {1, 1, 0}, {std::size_t{1} << 40, 1, 1}}) {
    EXPECT_THROW((void)TablePlan(shape), InvalidArgument);
  }
}

TEST(TablePlanTest, KnowsWhatStaysBetweenGatherAndScatter) {
  // 16 groups of 8 trees, which have 108, 116, ... 228 leaves of 16 bytes.
  EXPECT_EQ(TablePlan({128, 100, 8}, TableWay::kChain).memory(), 16U * 8 * 16 * (108 + 228) / 2);
  EXPECT_EQ(TablePlan({1, 1, 1}, TableWay::kChain).memory(), 16U * 8 * 2);
  // 192 bins of 22 leaves, of which one is for none, and 128 trees over these; 4 bytes for each leaf, and 4 times for
  // each category.
  EXPECT_EQ(TablePlan({128, 1000, 8}, TableWay::kBins).memory(),
            16U * (192 * 22 + 8 * 16 * (200 + 320) / 2) + 4U * (192 * 22 + 4 * 1000));
  EXPECT_EQ(TablePlan({128, 1009, 8}, TableWay::kBins).memory(),
            16U * (192 * 24 + 8 * 16 * (200 + 320) / 2) + 4U * (192 * 23 + 4 * 1009))
      << "leaves are made in pairs";
}

TEST(TableSeedsTest, OneLayoutServesManySteps) {
  TableSeeds mine;
  TableSeeds theirs;
  const TablePlan plan({20, 500, 2}, TableWay::kBins);
  std::set<Bytes> seeds;
  std::set<const BinLayout*> layouts;
  for (std::uint64_t step = 0; step < 3; ++step) {
    const Categories batch = batch_of(Batch::kRandom, plan.shape());
    TablePair pair(plan, batch, pools(), step, fastest_kernels(), fastest_kernels(), &mine, &theirs);
    expect_right<std::uint64_t>(plan, batch, pair, false);
    const auto seed = ByteView(pair.ask).subspan(TableBinding::kTagBytes, sizeof(BinSeed));
    seeds.insert(Bytes(seed.begin(), seed.end()));
    layouts.insert(mine.current(500, plan.bins_each(), OtPair::random()).get());
  }
  EXPECT_EQ(seeds.size(), 1U);
  EXPECT_EQ(layouts.size(), 1U);
  const auto renewed = mine.renewed(500, plan.bins_each(), OtPair::random());
  EXPECT_FALSE(layouts.contains(renewed.get()));
  EXPECT_NE(mine.current(501, plan.bins_each(), OtPair::random())->categories(), 500U);
}

TEST(BinLayoutTest, EveryCategoryIsInOneBinOfEachPermutation) {
  for (const std::size_t categories : {1, 7, 8, 9, 100}) {
    BinSeed seed;
    OtPair::random().fill(seed);
    const BinLayout layout(seed, categories, 8);
    std::vector<std::size_t> seen(categories + 1);
    for (std::size_t i = 0; i < layout.bins() * layout.leaves(); ++i) ++seen[layout.members(0)[i]];
    for (std::size_t c = 0; c < categories; ++c) {
      EXPECT_EQ(seen[c], BinLayout::kPermutations);
      for (std::size_t p = 0; p < BinLayout::kPermutations; ++p) {
        const auto [bin, leaf] = layout.spot(p, static_cast<std::uint32_t>(c));
        EXPECT_EQ(bin / 8, p);
        EXPECT_EQ(layout.members(bin / 8)[8 * leaf + bin % 8], c);
        EXPECT_LT(leaf + 1, layout.leaves()) << "the last leaf is for none";
      }
    }
  }
}

TEST(BinLayoutTest, PlacesABatchWheneverItCanBe) {
  std::size_t placed = 0;
  for (int trial = 0; trial < 100; ++trial) {
    BinSeed seed;
    OtPair::random().fill(seed);
    const BinLayout layout(seed, 300, 8);
    Categories batch = batch_of(Batch::kDistinct, {30, 300, 1});
    batch.push_back(batch[3]);
    const auto placement = place_in_bins(layout, batch);
    if (!placement) continue;
    ++placed;
    std::set<std::uint32_t> bins;
    for (std::size_t j = 0; j < batch.size(); ++j) {
      const std::uint32_t bin = placement->bin_of[j];
      bins.insert(bin);
      EXPECT_EQ(placement->category[bin], batch[j]);
      EXPECT_EQ(layout.members(bin / 8)[8 * placement->leaf[bin] + bin % 8], batch[j]);
    }
    EXPECT_EQ(bins.size(), 30U) << "a category has one bin, however often it comes";
    EXPECT_EQ(std::ranges::count(placement->category, 300U), 2);
  }
  EXPECT_GT(placed, 50U) << "30 of 32 bins can be filled more often than not";
  const BinLayout layout(BinSeed{}, 300, 8);
  EXPECT_FALSE(place_in_bins(layout, batch_of(Batch::kDistinct, {33, 300, 1}))) << "33 do not fit into 32";
}

}  // namespace
}  // namespace blindfl::ot::tables_test

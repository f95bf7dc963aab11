// Embedding tables by oblivious transfer: both shares add up to what was looked up, and to the sums of rows.

#include "blindfl/ot/tables/tables.h"

#include <gtest/gtest.h>

#include <algorithm>
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

class AnyWay : public ::testing::TestWithParam<TableWay> {};

TEST_P(AnyWay, SharesAddUpWhateverTheShape) {
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

TEST_P(AnyWay, SharesAddUpWhateverTheCategories) {
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

INSTANTIATE_TEST_SUITE_P(Ways, AnyWay, ::testing::Values(TableWay::kChain, TableWay::kBins),
                         [](const auto& info) { return info.param == TableWay::kChain ? "chain" : "bins"; });

}  // namespace
}  // namespace blindfl::ot::tables_test

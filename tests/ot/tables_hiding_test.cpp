// What travels for a table: nothing repeats, nothing but public numbers gives sizes, and choices look random; and what
// a peer may get wrong.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "blindfl/base/error.h"
#include "ot/table_pair.h"
#include "testing/uniformity.h"

namespace blindfl::ot::tables_hiding_test {
namespace {

TablePools& pools() {
  static TablePools pools;
  return pools;
}

class HiddenTable : public ::testing::TestWithParam<TableWay> {};

void append_words(std::vector<std::uint64_t>& to, ByteView bytes) {
  const std::size_t count = bytes.size() / sizeof(std::uint64_t);
  to.resize(to.size() + count);
  std::memcpy(to.data() + to.size() - count, bytes.data(), count * sizeof(std::uint64_t));
}

/// Every word that a party sends or keeps in one step.
template <class Word>
void append_step(std::vector<std::uint64_t>& words, const TablePlan& plan, TablePair& pair) {
  const std::vector<Word> table(plan.shape().categories * plan.shape().cols, 1);
  const std::vector<Word> rows(plan.shape().lookups * plan.shape().cols, 0);
  const auto gathered = pair.keeper.gather(std::span<const Word>(table));
  const auto scattered = pair.keeper.scatter(std::span<const Word>(rows));
  const auto looked_up = pair.chooser.gather<Word>(gathered.message);
  const auto summed_up = pair.chooser.scatter<Word>(scattered.message);
  for (const ByteView message :
       {ByteView(pair.ask), ByteView(pair.answer), ByteView(gathered.message), ByteView(scattered.message)}) {
    append_words(words, message);
  }
  for (const auto& share : {gathered.share, scattered.share, looked_up, summed_up}) {
    append_words(words, std::as_bytes(std::span(share)));
  }
}

bool has_a_word_twice(std::vector<std::uint64_t> words) {
  std::ranges::sort(words);
  return std::ranges::adjacent_find(words) != words.end();
}

Categories some_categories(std::size_t lookups) {
  Categories batch(lookups);
  for (std::size_t j = 0; j < lookups; ++j) batch[j] = static_cast<std::uint32_t>(j * j % 20);
  return batch;
}

TEST_P(HiddenTable, NoWordComesTwiceHoweverManyLookUps) {
  for (std::size_t lookups = 1; lookups <= 130; ++lookups) {
    const TablePlan plan({lookups, 20, 2}, GetParam());
    std::vector<std::uint64_t> words;
    for (int run = 0; run < 2; ++run) {
      TablePair pair(plan, some_categories(lookups), pools(), 5);
      if (lookups % 2 == 0) {
        append_step<UInt128>(words, plan, pair);
      } else {
        append_step<std::uint64_t>(words, plan, pair);
      }
    }
    ASSERT_FALSE(has_a_word_twice(words)) << lookups << " look-ups";
  }
}

/// Keys that are made again from the same random numbers at both parties, so that they are the keys of before.
struct KeysOfBefore {
  KeysOfBefore(const TablePlan& plan, const TableUse& use)
      : random(Random::derived(std::array<std::byte, KeyStream::kKeyBytes>{}, {})),
        pools{OtPair(spec_of(4), fastest_kernels(), fastest_kernels(), random)},
        pair(plan, use, some_categories(plan.shape().lookups), pools, random) {}

  Random random;
  TablePools pools;
  TablePair pair;
};

// What the check above is there to notice.
TEST_P(HiddenTable, APadUsedTwiceIsSeen) {
  const TablePlan plan({24, 20, 2}, GetParam());
  std::vector<std::uint64_t> words;
  for (int run = 0; run < 2; ++run) {
    KeysOfBefore keys(plan, use_of(5));
    append_step<std::uint64_t>(words, plan, keys.pair);
  }
  EXPECT_TRUE(has_a_word_twice(words));

  // And what it would give away: how another table differs, in rows that nobody looks up, too.
  const auto masked = [&](const std::vector<std::uint64_t>& table) {
    KeysOfBefore keys(plan, use_of(5));
    std::vector<std::uint64_t> sent;
    append_words(sent, keys.pair.keeper.gather(std::span<const std::uint64_t>(table)).message);
    return sent;
  };
  const auto table = random_words<std::uint64_t>(40);
  const auto other = random_words<std::uint64_t>(40);
  const auto first = masked(table);
  const auto second = masked(other);
  constexpr std::size_t kTagWords = TableBinding::kTagBytes / sizeof(std::uint64_t);
  for (std::size_t i = 0; i < table.size(); ++i) {
    EXPECT_EQ(first[kTagWords + i] - second[kTagWords + i], table[i] - other[i]) << i;
  }
}

TEST_P(HiddenTable, AKeyKeptAcrossAResumeIsSeen) {
  const TablePlan plan({24, 20, 2}, GetParam());
  std::vector<std::uint64_t> words;
  std::vector<std::uint64_t> rows;
  for (const unsigned char session : {1, 2}) {
    KeysOfBefore keys(plan, use_of(5, session));
    append_words(rows, keys.pair.answer);
    append_words(rows,
                 keys.pair.keeper.gather(std::span<const std::uint64_t>(random_words<std::uint64_t>(40))).message);
    KeysOfBefore again(plan, use_of(5, session));
    append_step<std::uint64_t>(words, plan, again.pair);
  }
  EXPECT_TRUE(has_a_word_twice(words)) << "choices under the same bits";
  EXPECT_FALSE(has_a_word_twice(rows)) << "a session's keys of AES are its own, whatever else was kept";
}

TEST_P(HiddenTable, SizesAndChoicesTellNothingOfTheCategories) {
  const TablePlan plan({128, 300, 1}, GetParam());
  for (const bool distinct : {false, true}) {
    std::vector<std::uint8_t> bytes;
    for (int trial = 0; trial < 30; ++trial) {
      Categories batch(128, 7);
      for (std::uint32_t j = 0; distinct && j < 128; ++j) batch[j] = 2 * j;
      const TablePair pair(plan, batch, pools());
      ASSERT_EQ(pair.ask.size(), plan.ask_bytes());
      ASSERT_EQ(pair.answer.size(), plan.answer_bytes());
      // Without the tag, and without the last byte, which may have fewer bits.
      for (std::size_t i = TableBinding::kTagBytes; i + 1 < pair.ask.size(); ++i) {
        bytes.push_back(std::to_integer<std::uint8_t>(pair.ask[i]));
      }
    }
    EXPECT_TRUE(testing::looks_uniform(std::span<const std::uint8_t>(bytes)));
  }
}

/// `step` refuses every truncation, one byte more, and a flipped bit anywhere in the tag; then it takes the right one.
template <class Step>
void expect_strict(const Bytes& right, const Step& step) {
  for (std::size_t size = 0; size < right.size(); ++size) {
    ASSERT_THROW(step(ByteView(right).first(size)), ProtocolError) << size;
  }
  Bytes wrong = right;
  wrong.push_back(std::byte{0});
  ASSERT_THROW(step(wrong), ProtocolError);
  for (std::size_t bit = 0; bit < 8 * TableBinding::kTagBytes; ++bit) {
    wrong = right;
    wrong[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    ASSERT_THROW(step(wrong), ProtocolError) << bit;
  }
  ASSERT_NO_THROW(step(right));
}

TEST_P(HiddenTable, RefusesWhatIsCutOrNotItsOwn) {
  const TablePlan plan({3, 5, 1}, GetParam());
  const Categories batch = {4, 0, 4};
  pools().extend_to(plan.ots());
  TableChooser chooser(plan, use_of(0), batch, pools().pair.receiver, OtPair::random());
  TableKeeper keeper(plan, use_of(0), pools().pair.sender);
  const std::vector<std::uint64_t> table = {1, 2, 3, 4, 5};
  const std::vector<std::uint64_t> rows = {10, 20, 30};
  Bytes answer;
  expect_strict(chooser.ask(), [&](ByteView m) { answer = keeper.answer(m, OtPair::random()); });
  expect_strict(answer, [&](ByteView m) { chooser.take_keys(m); });
  const auto gathered = keeper.gather(std::span<const std::uint64_t>(table));
  const auto scattered = keeper.scatter(std::span<const std::uint64_t>(rows));
  EXPECT_THROW((void)chooser.gather<UInt128>(gathered.message), ProtocolError) << "other words";
  SecretVector<std::uint64_t> looked_up;
  SecretVector<std::uint64_t> sums;
  expect_strict(gathered.message, [&](ByteView m) { looked_up = chooser.gather<std::uint64_t>(m); });
  expect_strict(scattered.message, [&](ByteView m) { sums = chooser.scatter<std::uint64_t>(m); });
  EXPECT_EQ(added<std::uint64_t>(looked_up, gathered.share), (std::vector<std::uint64_t>{5, 1, 5}));
  EXPECT_EQ(added<std::uint64_t>(sums, scattered.share), (std::vector<std::uint64_t>{20, 0, 0, 0, 40}));
}

TEST_P(HiddenTable, RefusesBitsBehindTheLast) {
  std::size_t lookups = 1;
  while (TablePlan({lookups, 5, 1}, GetParam()).ots() % 8 == 0) ++lookups;
  const TablePlan plan({lookups, 5, 1}, GetParam());
  pools().extend_to(plan.ots());
  TableChooser chooser(plan, use_of(0), Categories(lookups), pools().pair.receiver, OtPair::random());
  TableKeeper keeper(plan, use_of(0), pools().pair.sender);
  Bytes ask = chooser.ask();
  ask.back() ^= std::byte{0x80};
  EXPECT_THROW((void)keeper.answer(ask, OtPair::random()), ProtocolError);
}

TEST_P(HiddenTable, RefusesKeysThatDoNotBelongTogether) {
  const TablePlan plan({3, 5, 2}, GetParam());
  const TablePlan other_shape({3, 6, 2}, GetParam());
  const TablePlan other_cols({3, 5, 3}, GetParam());
  const auto refuses = [&](const TablePlan& keeper_plan, const TableUse& keeper_use, std::size_t skipped) {
    TablePools fresh;  // what is taken differs, and nothing may use these pools afterwards
    fresh.extend_to(plan.ots() + other_shape.ots() + skipped);
    TableChooser chooser(plan, use_of(4), Categories{1, 2, 3}, fresh.pair.receiver, OtPair::random());
    (void)fresh.pair.sender.take(skipped);
    TableKeeper keeper(keeper_plan, keeper_use, fresh.pair.sender);
    try {
      (void)keeper.answer(chooser.ask(), OtPair::random());
    } catch (const ProtocolError&) {
      return true;
    }
    return false;
  };
  EXPECT_FALSE(refuses(plan, use_of(4), 0));
  EXPECT_TRUE(refuses(plan, use_of(5), 0)) << "another step";
  EXPECT_TRUE(refuses(plan, use_of(4, 2), 0)) << "another session";
  EXPECT_TRUE(refuses(plan, use_of(4), 1)) << "another place in the pool";
  TableUse use = use_of(4);
  use.layer = 9;
  EXPECT_TRUE(refuses(plan, use, 0)) << "another layer";
  use = use_of(4);
  use.chooser = Party::kA;
  EXPECT_TRUE(refuses(plan, use, 0)) << "the other party's categories";
  EXPECT_TRUE(refuses(other_cols, use_of(4), 0)) << "another number of columns";
  EXPECT_TRUE(refuses(other_shape, use_of(4), 0)) << "another number of categories";
}

// What SECURITY.md says of parties that deviate: of the two sums of a level the chooser reads one, by a bit of its
// category, and what it then has is right or not.
TEST(DeviatingKeeper, MakesALookUpWrongDependingOnItsCategory) {
  const TablePlan plan({2, 6, 1}, TableWay::kChain);
  ASSERT_EQ(plan.chain_forest().leaves, 8U) << "the first bit of a hole tells whether it is below 4";
  for (std::uint32_t category = 0; category < 6; ++category) {
    const Categories batch = {category, category};
    pools().extend_to(plan.ots());
    TableChooser chooser(plan, use_of(0), batch, pools().pair.receiver, OtPair::random());
    TableKeeper keeper(plan, use_of(0), pools().pair.sender);
    Bytes answer = keeper.answer(chooser.ask(), OtPair::random());
    answer[TableBinding::kTagBytes] ^= std::byte{1};
    chooser.take_keys(answer);
    const auto table = random_words<UInt128>(6);
    const auto sent = keeper.gather(std::span<const UInt128>(table));
    const bool right = added<UInt128>(chooser.gather<UInt128>(sent.message), sent.share) == looked_up(table, batch, 1);
    EXPECT_EQ(right, category < 4) << category;
  }
}

TEST_P(HiddenTable, ASwappedMessageIsRefused) {
  const TablePlan plan({3, 5, 1}, GetParam());
  TablePair first(plan, {1, 2, 3}, pools(), 0);
  TablePair second(plan, {1, 2, 3}, pools(), 1);
  const std::vector<UInt128> table(5, 1);
  const auto sent = first.keeper.gather(std::span<const UInt128>(table));
  EXPECT_THROW((void)second.chooser.gather<UInt128>(sent.message), ProtocolError);
  EXPECT_NO_THROW((void)first.chooser.gather<UInt128>(sent.message));
}

INSTANTIATE_TEST_SUITE_P(Ways, HiddenTable, ::testing::Values(TableWay::kChain, TableWay::kBins),
                         [](const auto& info) { return info.param == TableWay::kChain ? "chain" : "bins"; });

}  // namespace
}  // namespace blindfl::ot::tables_hiding_test

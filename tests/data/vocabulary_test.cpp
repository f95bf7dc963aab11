#include "blindfl/data/vocabulary.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/base/error.h"
#include "real_frames.h"
#include "testing/frames.h"
#include "testing/thrown.h"

namespace blindfl::data::vocabulary_test {
namespace {

using blindfl::testing::field_of;
using blindfl::testing::message_of;
using Texts = std::vector<std::string>;

/// One category in each row; "?" is missing.
CategoryColumn column_of(const Texts& rows) {
  CategoryColumnBuilder builder("colour", false);
  for (const std::string& category : rows) category == "?" ? builder.add_missing() : builder.add(category);
  return builder.finish();
}

/// Any number of categories in each row.
CategoryColumn column_of_lists(const std::vector<Texts>& rows) {
  CategoryColumnBuilder builder("colours", true);
  for (const Texts& row : rows) {
    for (const std::string& category : row) category == "?" ? builder.add_missing() : builder.add(category);
    builder.end_row();
  }
  return builder.finish();
}

Bytes saved(const Vocabulary& vocabulary) {
  return write_to_bytes([&](ByteSink& out) { vocabulary.save(out); });
}

Vocabulary loaded(ByteView bytes) {
  BufferSource in(bytes);
  Vocabulary vocabulary = Vocabulary::load(in);
  EXPECT_EQ(in.remaining(), 0U);
  return vocabulary;
}

TEST(Vocabulary, GivesTheMostFrequentTheFirstRowsAndKeepsOneForTheUnknown) {
  const Vocabulary v = Vocabulary::fit(column_of({"red", "blue", "?", "green", "blue", "blue", "green"}));
  EXPECT_EQ(v.size(), 4U);
  EXPECT_EQ(v.index_of("blue"), 1U);
  EXPECT_EQ(v.index_of("green"), 2U);
  EXPECT_EQ(v.index_of("red"), 3U);
  EXPECT_EQ(v.index_of("pink"), CategoryField::kUnknown);
  EXPECT_EQ(v.index_of("?"), CategoryField::kUnknown);
  EXPECT_EQ(v.index_of(""), CategoryField::kUnknown);
}

TEST(Vocabulary, BreaksTiesByName) {
  for (const Texts& rows : {Texts{"c", "a", "b"}, Texts{"b", "c", "a"}}) {
    const Vocabulary v = Vocabulary::fit(column_of(rows), {.most = 2});
    EXPECT_EQ(v.size(), 3U);
    EXPECT_EQ(v.index_of("a"), 1U);
    EXPECT_EQ(v.index_of("b"), 2U);
    EXPECT_EQ(v.index_of("c"), CategoryField::kUnknown);
  }
}

TEST(Vocabulary, SendsRareCategoriesToTheReservedRow) {
  const CategoryColumn column = column_of({"a", "b", "a", "c", "b", "a"});
  EXPECT_EQ(Vocabulary::fit(column, {.min_count = 2}).size(), 3U);
  EXPECT_EQ(Vocabulary::fit(column, {.min_count = 2}).index_of("c"), CategoryField::kUnknown);
  EXPECT_EQ(Vocabulary::fit(column, {.min_count = 3, .most = 7}).size(), 2U);
  EXPECT_EQ(Vocabulary::fit(column, {.min_count = 4}).size(), 1U);
  EXPECT_THROW((void)Vocabulary::fit(column, {.min_count = 0}), InvalidArgument);
}

TEST(Vocabulary, HashesWithFnv1a) {
  // The published test vectors of the hash, with as many buckets as a table can have rows.
  constexpr std::size_t kMost = (std::size_t{1} << 32) - 3;
  const Vocabulary v = Vocabulary::hashed(kMost);
  EXPECT_EQ(v.size(), kMost + 1);
  EXPECT_EQ(v.index_of(""), 1 + 0xCBF29CE484222325ULL % kMost);
  EXPECT_EQ(v.index_of("a"), 1 + 0xAF63DC4C8601EC8CULL % kMost);
  EXPECT_EQ(v.index_of("foobar"), 1 + 0x85944171F73967E8ULL % kMost);
  EXPECT_EQ(v.index_of("\xFF"), 1 + (0xCBF29CE4842223DAULL * 0x100000001B3ULL) % kMost);
  EXPECT_THROW((void)Vocabulary::hashed(kMost + 1), InvalidArgument);
  EXPECT_THROW((void)Vocabulary::hashed(0), InvalidArgument);
}

TEST(Vocabulary, SpreadsHashedCategoriesOverTheBuckets) {
  const Vocabulary v = Vocabulary::hashed(10);
  EXPECT_EQ(v.size(), 11U);
  std::array<int, 11> count{};
  for (int i = 0; i < 10'000; ++i) ++count.at(v.index_of("site_" + std::to_string(i)));
  EXPECT_EQ(count[0], 0);
  // 1000 expected, with a deviation of 30.
  for (std::size_t bucket = 1; bucket <= 10; ++bucket) EXPECT_NEAR(count.at(bucket), 1000, 150);
}

TEST(Vocabulary, ComesBackFromWhatWasSaved) {
  const Vocabulary v = Vocabulary::fit(column_of({"b", "a", "b", "", std::string(Vocabulary::kMaxNameBytes, 'x')}));
  const Bytes bytes = saved(v);
  const Vocabulary back = loaded(bytes);
  EXPECT_EQ(back.size(), v.size());
  for (const std::string& name : {std::string("a"), std::string("b"), std::string(), std::string("c")}) {
    EXPECT_EQ(back.index_of(name), v.index_of(name));
  }
  EXPECT_EQ(saved(back), bytes);
  const Vocabulary hashed = loaded(saved(Vocabulary::hashed(77)));
  EXPECT_EQ(hashed.size(), 78U);
  EXPECT_EQ(hashed.index_of("x"), Vocabulary::hashed(77).index_of("x"));
  EXPECT_EQ(loaded(saved(Vocabulary::fit(column_of(Texts{})))).size(), 1U);
}

TEST(Vocabulary, LeavesWhatFollowsInTheSource) {
  Bytes bytes = saved(Vocabulary::fit(column_of({"a"})));
  bytes.push_back(std::byte{9});
  BufferSource in(bytes);
  EXPECT_EQ(Vocabulary::load(in).size(), 2U);
  EXPECT_EQ(in.read_u8(), 9U);
}

TEST(Vocabulary, RefusesEveryCutOfWhatWasSaved) {
  for (const Vocabulary& v : {Vocabulary::fit(column_of({"one", "two", "two"})), Vocabulary::hashed(5)}) {
    const Bytes whole = saved(v);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      EXPECT_THROW((void)loaded(ByteView(whole).first(size)), DataError) << "cut at " << size;
    }
  }
}

TEST(Vocabulary, RefusesSavedStateThatCannotBe) {
  // Mark, version, kind, count, then a length and a name for each.
  constexpr std::size_t kKind = 8;
  constexpr std::size_t kCount = 9;
  constexpr std::size_t kLength = 17;
  const Bytes counted = saved(Vocabulary::fit(column_of({"ab", "cd"})));
  const Bytes hashed = saved(Vocabulary::hashed(5));
  const auto edited = [](Bytes bytes, std::size_t at, const std::vector<int>& values) {
    for (const int value : values) bytes.at(at++) = static_cast<std::byte>(value);
    return bytes;
  };
  struct Case {
    Bytes bytes;
    std::string expected;
  };
  const std::vector<Case> cases = {
      {edited(counted, 0, {0}), "not a vocabulary"},
      {edited(counted, 4, {2}), "another version"},
      {edited(counted, kKind, {2}), "no known kind"},
      {edited(counted, kCount, {255, 255, 255, 255, 255, 255, 255, 255}), "cannot be"},
      {edited(counted, kCount, {253, 255, 255, 255}), "cut short"},
      {edited(counted, kCount, {3}), "damaged"},
      {edited(counted, kLength, {255, 255, 255, 255}), "too long"},
      {edited(counted, kLength, {1, 16}), "too long"},
      {edited(counted, kLength, {0, 16}), "damaged"},
      {edited(counted, kLength + 4, {'c', 'd'}), "twice"},
      {edited(hashed, kCount, {0}), "cannot be"},
      {edited(hashed, kCount, {254, 255, 255, 255}), "cannot be"},
  };
  for (const Case& c : cases) {
    const std::string message = message_of<DataError>([&] { (void)loaded(c.bytes); });
    EXPECT_NE(message.find(c.expected), std::string::npos) << message << " instead of " << c.expected;
  }
}

TEST(Vocabulary, RefusesTexts) {
  const std::string text(Vocabulary::kMaxNameBytes + 1, 'x');
  const std::string message = message_of<DataError>([&] { (void)Vocabulary::fit(column_of(Texts{text})); });
  EXPECT_NE(message.find("column 'colour': a category is longer than 4096 bytes"), std::string::npos) << message;
}

TEST(Vocabulary, EncodesAColumnOfOneCategory) {
  const CategoryColumn train = column_of({"b", "a", "b", "?"});
  const Vocabulary v = Vocabulary::fit(train);
  const CategoryField field = field_of(train, v);
  EXPECT_EQ(field.name, "colour");
  EXPECT_EQ(field.categories, 3U);
  EXPECT_EQ(field.most, 1U);
  const IntMatrix matrix = encode_column(field, train, v);
  EXPECT_EQ(matrix.kind(), IntMatrix::Kind::kOneHot);
  EXPECT_EQ(matrix.to_dense(), (std::vector<std::int64_t>{0, 1, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0}));
  // Another file has another dictionary, and categories that nobody knows.
  EXPECT_EQ(encode_column(field, column_of({"new", "a"}), v).to_dense(), (std::vector<std::int64_t>{1, 0, 0, 0, 0, 1}));
}

TEST(Vocabulary, EncodesAColumnOfSeveralCategories) {
  const CategoryColumn train = column_of_lists({{"b", "a", "b"}, {}, {"?", "b"}});
  const Vocabulary v = Vocabulary::fit(train);
  const CategoryField field = field_of(train, v, Pooling::kSum);
  EXPECT_EQ(field.most, 3U);
  EXPECT_EQ(encode_column(field, train, v).to_dense(), (std::vector<std::int64_t>{0, 2, 1, 0, 0, 0, 1, 1, 0}));
  const IntMatrix mean = encode_column(field_of(train, v, Pooling::kMean), column_of_lists({{"a", "b"}}), v);
  EXPECT_EQ(mean.to_dense(), (std::vector<std::int64_t>{0, 1 << 19, 1 << 19}));
  EXPECT_THROW((void)encode_column(field, column_of_lists({{"a", "a", "a", "a"}}), v), DataError);
  EXPECT_EQ(field_of(column_of_lists({{}, {}}), v).most, 1U);
}

TEST(Vocabulary, RefusesTheFieldOfAnother) {
  const CategoryColumn column = column_of({"a", "b"});
  const CategoryField field = field_of(column, Vocabulary::fit(column));
  EXPECT_THROW((void)encode_column(field, column, Vocabulary::fit(column, {.most = 1})), InvalidArgument);
}

TEST(Vocabulary, EncodesAvazu) {
  BLINDFL_NEEDS_DATA("avazu.15k.csv.xz");
  const Frame frame = read_frame(blindfl::testing::real_data("avazu.15k.csv.xz"), testing::avazu_spec());
  for (const CategoryColumn& column : frame.categories) {
    const Vocabulary v = Vocabulary::fit(column, {.min_count = 4});
    const IntMatrix matrix = encode_column(field_of(column, v), column, v);
    EXPECT_EQ(matrix.rows(), frame.rows);
    std::vector<std::size_t> count(v.size());
    for (std::size_t r = 0; r < matrix.rows(); ++r) matrix.for_each_in_row(r, [&](std::size_t c, auto) { ++count[c]; });
    for (std::size_t c = 1; c < count.size(); ++c) {
      EXPECT_GE(count[c], 4U);
      EXPECT_LE(count[c], c == 1 ? std::numeric_limits<std::size_t>::max() : count[c - 1]);
    }
  }
}

TEST(CategoryCounts, AddUpOverPieces) {
  CategoryCounts counts;
  counts.add(column_of({"red", "blue", "?"}));
  counts.add(column_of({"green", "blue", "green", "green"}));
  const Vocabulary whole = Vocabulary::fit(column_of({"red", "blue", "?", "green", "blue", "green", "green"}));
  EXPECT_EQ(saved(Vocabulary::fit(counts)), saved(whole)) << "bit for bit";
  EXPECT_EQ(Vocabulary::fit(counts, {.min_count = 2, .most = 1}).size(), 2U);
}

TEST(CategoryCounts, RefuseTextsThatAreNoCategories) {
  CategoryCounts counts;
  EXPECT_THROW(counts.add(column_of({std::string(Vocabulary::kMaxNameBytes + 1, 'x')})), DataError);
}

}  // namespace
}  // namespace blindfl::data::vocabulary_test

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/data/row_store.h"
#include "blindfl/prepare/encoded_file.h"
#include "blindfl/prepare/preparation.h"
#include "specs.h"
#include "testing/batches.h"
#include "testing/compressed.h"
#include "testing/real_data.h"
#include "testing/scratch_folder.h"
#include "testing/thrown.h"

namespace blindfl::prepare::preparation_test {
namespace {

using blindfl::testing::all_rows;
using blindfl::testing::expect_same;
using blindfl::testing::ScratchFolder;
using data::ColumnKind;
using data::Missing;
using testing::Csv;
using testing::csv_of_a;
using testing::csv_of_b;
using testing::loaded;
using testing::numbers_of;
using testing::saved;
using Rows = std::vector<std::vector<double>>;

constexpr std::string_view kAllKinds =
    "id,age,city,tags,note,y\n"
    "u1,1,Rome,a;b,x,yes\n"
    "u2,3,Bern,,x,no\n"
    "u3,5,Rome,b;b;c,x,no\n"
    "u4,7,?,a,x,yes\n";

std::vector<ColumnSpec> all_kinds() {
  return {{.name = "age", .kind = ColumnKind::kNumeric, .transform = Transform::kStandardise},
          {.name = "city", .kind = ColumnKind::kCategory},
          {.name = "tags", .kind = ColumnKind::kCategories, .most_per_row = 3, .pooling = Pooling::kMean},
          {.name = "note", .kind = ColumnKind::kIgnored}};
}

Csv csv_of_all_kinds(const ScratchFolder& folder) {
  Csv source = csv_of_b(folder.write("train.csv", kAllKinds));
  source.spec.id = "id";
  source.spec.columns = all_kinds();
  return source;
}

TEST(Preparation, EncodesEachKindOfColumn) {
  const ScratchFolder folder;
  const Csv source = csv_of_all_kinds(folder);
  const Preparation preparation = source.fit();
  const PartyShape& shape = preparation.shape();
  EXPECT_EQ(shape.numeric, 1U);
  EXPECT_EQ(shape.nonzeros, 0U);
  EXPECT_EQ(shape.encoding.scale, 16);
  EXPECT_EQ(shape.encoding.largest, 16);
  ASSERT_EQ(shape.fields.size(), 2U);
  EXPECT_EQ(shape.fields[0].name, "f1");
  EXPECT_EQ(shape.fields[0].categories, 3U) << "two cities and the unknown";
  EXPECT_EQ(shape.fields[0].most, 1U);
  EXPECT_EQ(shape.fields[1].name, "f2");
  EXPECT_EQ(shape.fields[1].categories, 4U);
  EXPECT_EQ(shape.fields[1].most, 3U);
  EXPECT_EQ(shape.fields[1].pooling, Pooling::kMean);
  EXPECT_EQ(preparation.classes(), (std::vector<std::string>{"no", "yes"}));

  const PreparedRows rows = preparation.read(source.train, Labels::kNeeded, folder.path());
  EXPECT_EQ(rows.ids, (std::vector<std::string>{"u1", "u2", "u3", "u4"}));
  EXPECT_EQ(rows.labels, (std::vector<double>{1, 0, 0, 1}));
  const data::Batch batch = all_rows(*rows.rows);
  EXPECT_EQ(batch.labels, rows.labels);
  const double step = 1 / std::sqrt(5.0);
  const Rows numbers = numbers_of(rows);
  for (std::size_t r = 0; r < 4; ++r) EXPECT_NEAR(numbers[r][0], step * (2.0 * static_cast<double>(r) - 3), 1e-4);
  // Rome is the most frequent, and what is missing is in row 0.
  EXPECT_EQ(batch.fields[0].to_dense(), (std::vector<std::int64_t>{0, 1, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0}));
  // b three times, a twice, c once. Means at 20 fractional bits.
  constexpr std::int64_t kOne = std::int64_t{1} << 20;
  EXPECT_EQ(batch.fields[1].to_dense(), (std::vector<std::int64_t>{0, kOne / 2, kOne / 2, 0,            //
                                                                   kOne, 0, 0, 0,                       //
                                                                   0, (2 * kOne + 1) / 3, 0, kOne / 3,  //
                                                                   0, 0, kOne, 0}));
}

TEST(Preparation, MakesCategoriesBinaryFeatures) {
  const ScratchFolder folder;
  Csv source = csv_of_all_kinds(folder);
  source.spec.embeddings = false;
  source.spec.encoding.scale = 0;
  source.spec.columns = all_kinds();
  source.spec.columns[0].transform = Transform::kNone;
  source.spec.columns[1].one_hot = true;
  source.spec.columns[2].one_hot = true;
  const Preparation preparation = source.fit();
  EXPECT_EQ(preparation.shape().numeric, 1U + 3 + 4);
  EXPECT_TRUE(preparation.shape().fields.empty());
  EXPECT_EQ(preparation.shape().nonzeros, 0U) << "5 of 8 may be in a row: dense";
  const PreparedRows rows = preparation.read(source.train, Labels::kNeeded, folder.path());
  EXPECT_EQ(all_rows(*rows.rows).features.kind(), IntMatrix::Kind::kDense);
  EXPECT_EQ(
      numbers_of(rows),
      (Rows{{1, 0, 1, 0, 0, 1, 1, 0}, {3, 0, 0, 1, 1, 0, 0, 0}, {5, 0, 1, 0, 0, 1, 0, 1}, {7, 1, 0, 0, 0, 0, 1, 0}}));
}

TEST(Preparation, IsSparseWhereMostFeaturesAreZero) {
  const ScratchFolder folder;
  std::string text = "x,k,y\n";
  for (int i = 0; i < 40; ++i)
    text += std::to_string(i % 3) + "," + std::to_string(i % 20) + "," + (i % 2 ? "1\n" : "0\n");
  Csv source = csv_of_b(folder.write("train.csv", text));
  source.spec.columns = {{.name = "k", .kind = ColumnKind::kCategory, .one_hot = true}};
  const Preparation preparation = source.fit();
  EXPECT_EQ(preparation.shape().numeric, 22U);
  EXPECT_EQ(preparation.shape().nonzeros, 2U) << "whatever a row holds";
  const PreparedRows rows = preparation.read(source.train, Labels::kNone, folder.path());
  const data::Batch batch = all_rows(*rows.rows);
  EXPECT_EQ(batch.features.kind(), IntMatrix::Kind::kCsr);
  EXPECT_EQ(batch.features.stored(), 40U + 26) << "zeros are not stored";
  EXPECT_TRUE(rows.labels.empty());
  EXPECT_TRUE(batch.labels.empty());
}

TEST(Preparation, TransformsNumbers) {
  const ScratchFolder folder;
  Csv source = csv_of_a(folder.write("train.csv", "n,s,l\n1,10,0\n2,20,1\n3,30,-3\n"));
  source.spec.columns = {{.name = "s", .transform = Transform::kStandardise},
                         {.name = "l", .transform = Transform::kLog}};
  const Rows numbers = numbers_of(source.rows(folder));
  const double root = std::sqrt(1.5);
  // Logarithms are standardised: 0, log 2 and -log 4 are 0, 1 and -2 times log 2.
  const double third = 1 / 3.0;
  const double spread = std::sqrt((third * third + 16 * third * third + 25 * third * third) / 3);
  const Rows expected = {{1, -root, third / spread}, {2, 0, 4 * third / spread}, {3, root, -5 * third / spread}};
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(numbers[r][c], expected[r][c], 1e-4) << r << ' ' << c;
  }
}

TEST(Preparation, FillsWhatIsMissing) {
  const ScratchFolder folder;
  Csv source = csv_of_a(folder.write("train.csv", "m,z,c,d\n1,1,1,1\n3,3,3,3\nNA,,?,\n"));
  source.spec.columns = {{.name = "m", .missing = Missing::kMean},
                         {.name = "z", .missing = Missing::kZero},
                         {.name = "c", .missing = Missing::kConstant, .constant = 9},
                         {.name = "d", .transform = Transform::kStandardise, .missing = Missing::kMean}};
  const Rows numbers = numbers_of(source.rows(folder));
  EXPECT_EQ(numbers[2], (std::vector<double>{2, 0, 9, 0}));
}

TEST(Preparation, FillsWhatIsMissingLaterWithWhatTrainingFittedAndCountsIt) {
  const ScratchFolder folder;
  Csv source = csv_of_a(folder.write("train.csv", "a,l,city,tags\n1,1,Rome,x\n3,9,Bern,x;y\n"));
  source.spec.columns = {{.name = "l", .transform = Transform::kLog},
                         {.name = "city", .kind = ColumnKind::kCategory, .one_hot = true},
                         {.name = "tags", .kind = ColumnKind::kCategories, .one_hot = true}};
  const Preparation preparation = source.fit();
  const auto read = [&](std::string_view text) {
    return preparation.read(folder.write("later.csv", text), Labels::kNone, folder.path());
  };
  EXPECT_TRUE(read("a,l,city,tags\n1,1,Rome,x\n").filled.empty());
  const PreparedRows rows = read("a,l,city,tags\n,nan,None,x\n1,1,Rome,x;N/A\nNA,1,Bern,x\n");
  // The mean of a, the mean of the logarithms, the reserved category of cities; then a tag.
  EXPECT_EQ(numbers_of(rows)[0], (std::vector<double>{2, 0, 1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(rows.filled,
            (std::vector<FilledColumn>{{"a", 2, false}, {"l", 1, false}, {"city", 1, true}, {"tags", 1, true}}));
  EXPECT_EQ(words_of(rows.filled),
            "missing cells, filled as in training: 'a' 2, 'l' 1, 'city' 1 (reserved category), 'tags' 1 (reserved "
            "category)");
  source.spec.columns.push_back({.name = "a", .missing = Missing::kError});
  const Preparation strict = source.fit();
  EXPECT_THROW((void)strict.read(folder / "later.csv", Labels::kNone, folder.path()), DataError);
}

TEST(Preparation, NamesColumnsThatAreConstant) {
  const ScratchFolder folder;
  Csv source = csv_of_a(folder.write("train.csv", "a,b,c,d,e\n5,1,Rome,Rome,7\n5,2,Rome,,7\n"));
  source.spec.columns = {{.name = "a", .transform = Transform::kStandardise},
                         {.name = "c", .kind = ColumnKind::kCategory},
                         {.name = "d", .kind = ColumnKind::kCategory},
                         {.name = "e", .transform = Transform::kLog}};
  const Preparation preparation = source.fit();
  EXPECT_EQ(preparation.constant_columns(), (std::vector<std::string>{"a", "e", "c"}));
  EXPECT_EQ(numbers_of(source.rows(folder))[0], (std::vector<double>{0, 1, 0})) << "and trains on, as 0";
}

TEST(Preparation, TakesOneOfTwoClassesForThePositiveOne) {
  const ScratchFolder folder;
  for (const auto& [text, positive, classes] :
       {std::tuple("x,y\n1,no\n2,yes\n", "no", std::vector<std::string>{"yes", "no"}),
        std::tuple("x,y\n1,no\n2,yes\n", "yes", std::vector<std::string>{"no", "yes"}),
        std::tuple("x,y\n1,1\n2,2\n", "1.0", std::vector<std::string>{"2", "1"})}) {
    Csv source = csv_of_b(folder.write("train.csv", text));
    source.spec.labels.positive = positive;
    const Preparation preparation = source.fit();
    EXPECT_EQ(preparation.classes(), classes);
    const Preparation again = loaded(saved(preparation));
    EXPECT_EQ(again.classes(), classes) << "it is saved";
    const std::vector<double> labels = again.read(source.train, Labels::kNeeded, folder.path()).labels;
    const bool first = classes.back() == "no" || classes.back() == "1";
    EXPECT_EQ(labels, first ? (std::vector<double>{1, 0}) : (std::vector<double>{0, 1}));
    EXPECT_EQ(source.rows(folder).labels, labels);
  }
  Csv source = csv_of_b(folder / "train.csv");
  source.spec.labels.positive = "maybe";
  EXPECT_THAT(blindfl::testing::message_of<ConfigError>([&] { (void)source.fit(); }),
              ::testing::HasSubstr("private.data.label.positive is none of the two labels"));
}

TEST(Preparation, ReadsTheWeightsOfRows) {
  const ScratchFolder folder;
  Csv source = csv_of_b(folder.write("train.csv", "w,x,y\n1,5,0\n0,6,1\n2.5,7,1\n"));
  source.spec.weight = "w";
  const Preparation preparation = loaded(saved(source.fit()));
  const PreparedRows rows = preparation.read(source.train, Labels::kNeeded, folder.path());
  EXPECT_EQ(rows.weights, (std::vector<double>{1, 0, 2.5}));
  EXPECT_EQ(numbers_of(rows), (Rows{{5}, {6}, {7}})) << "a weight is no feature";
  const auto without = folder.write("score.csv", "x\n5\n");
  EXPECT_TRUE(preparation.read(without, Labels::kNone, folder.path()).weights.empty());
  const auto message = [&](std::string_view text) {
    return blindfl::testing::message_of<DataError>(
        [&] { (void)preparation.read(folder.write("t.csv", text), Labels::kNeeded, folder.path()); });
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(message("x,y\n5,0\n"), HasSubstr("no column 'w', which private.data.weight_column names"));
  EXPECT_THAT(message("w,x,y\n1,5,0\n-3,5,0\n"), HasSubstr("line 3: column 1 ('w'): a weight below 0"));
  EXPECT_THAT(message("w,x,y\n,5,0\n"), HasSubstr("line 2: column 1 ('w'): the number is missing"));
}

TEST(Preparation, StandardisesLaterFilesWithoutLeavingTheRange) {
  const ScratchFolder folder;
  const auto later = folder.write("later.csv", "x\n1e30\n-1e30\n0\n");
  Csv source = csv_of_a(folder.write("train.csv", "x\n-1\n1\n"));
  source.spec.columns = {{.name = "x", .transform = Transform::kStandardise}};
  EXPECT_EQ(numbers_of(source.fit().read(later, Labels::kNone, folder.path())), (Rows{{8}, {-8}, {0}}));
  source.spec.encoding.largest = 4;
  EXPECT_EQ(numbers_of(source.fit().read(later, Labels::kNone, folder.path())), (Rows{{4}, {-4}, {0}}));
}

TEST(Preparation, ClipsIfAsked) {
  const ScratchFolder folder;
  Csv source = csv_of_a(folder.write("train.csv", "x\n-100\n16\n"));
  source.spec.encoding.clip = true;
  EXPECT_EQ(numbers_of(source.rows(folder)), (Rows{{-16}, {16}}));
}

TEST(Preparation, LimitsVocabularies) {
  const ScratchFolder folder;
  const auto train = folder.write("train.csv", "m,t,h\na,a,a\na,a,b\na,b,c\nb,b,d\nc,c,e\nb,d,f\n");
  Csv source = csv_of_a(train);
  source.spec.default_kind = ColumnKind::kCategory;
  source.spec.columns = {{.name = "m", .vocabulary = {.min_count = 2}},
                         {.name = "t", .vocabulary = {.most = 3}},
                         {.name = "h", .vocabulary = {.hash_buckets = 50}}};
  const auto fields = source.fit().shape().fields;
  ASSERT_EQ(fields.size(), 3U);
  EXPECT_EQ(fields[0].categories, 3U);
  EXPECT_EQ(fields[1].categories, 4U);
  EXPECT_EQ(fields[2].categories, 51U);
}

TEST(Preparation, ReadsCompressedFiles) {
  const ScratchFolder folder;
  const Csv source = csv_of_all_kinds(folder);
  const Preparation preparation = source.fit();
  const PreparedRows plain = preparation.read(source.train, Labels::kNeeded, folder.path());
  for (const auto& [name, bytes] : {std::pair("a.csv.gz", blindfl::testing::gzip(kAllKinds)),
                                    std::pair("a.csv.xz", blindfl::testing::xz(kAllKinds)),
                                    std::pair("a.csv.zst", blindfl::testing::zstd(kAllKinds))}) {
    Csv compressed = source;
    compressed.train = folder.write(name, bytes);
    expect_same(*compressed.rows(folder).rows, *plain.rows);
  }
}

TEST(Preparation, ReadsFilesWithoutAHeader) {
  const ScratchFolder folder;
  Csv source = csv_of_b(folder.write("train.tsv", "1\tRome\t0\n2\tBern\t1\n"));
  source.spec.delimiter = '\t';
  source.spec.header = false;
  source.spec.label = "3";
  source.spec.columns = {{.name = "2", .kind = ColumnKind::kCategory}};
  const Preparation preparation = source.fit();
  EXPECT_EQ(preparation.shape().numeric, 1U);
  EXPECT_EQ(preparation.shape().fields.size(), 1U);
  // The label is the last column: it may lack.
  const auto to_score = folder.write("score.tsv", "7\tRome\n");
  EXPECT_EQ(numbers_of(preparation.read(to_score, Labels::kIfThere, folder.path())), Rows{{7}});
}

TEST(Preparation, TakesLabelsOnlyWhereTheyAreWantedAndThere) {
  const ScratchFolder folder;
  const Csv source = csv_of_b(folder.write("train.csv", "x,y\n1,0\n2,1\n"));
  const Preparation preparation = source.fit();
  const auto without = folder.write("score.csv", "other,x\nwords,5\n");
  EXPECT_TRUE(preparation.read(without, Labels::kIfThere, folder.path()).labels.empty());
  EXPECT_TRUE(preparation.read(without, Labels::kNone, folder.path()).labels.empty());
  EXPECT_EQ(numbers_of(preparation.read(without, Labels::kNone, folder.path())), Rows{{5}}) << "columns by name";
  const auto with = folder.write("test.csv", "y,x\n1,5\n");
  EXPECT_EQ(preparation.read(with, Labels::kIfThere, folder.path()).labels, std::vector<double>{1});
  const auto unknown = folder.write("unknown.csv", "y,x\nwho knows,5\n");
  EXPECT_TRUE(preparation.read(unknown, Labels::kNone, folder.path()).labels.empty());
}

TEST(Preparation, MayGiveBNothingButLabels) {
  const ScratchFolder folder;
  const Csv source = csv_of_b(folder.write("train.csv", "y\n1\n0\n1\n"));
  const PreparedRows rows = source.rows(folder);
  EXPECT_EQ(rows.rows->rows(), 3U);
  EXPECT_EQ(all_rows(*rows.rows).features.cols(), 0U);
  EXPECT_EQ(rows.labels, (std::vector<double>{1, 0, 1}));
}

/// A file of more rows than are in memory at once while it is read.
std::string long_text() {
  std::string text = "id,age,city,tags,y\n";
  for (std::size_t i = 0; i < 2 * kPieceRows + 100; ++i) {
    const std::string number = std::to_string(i);
    text += number + "," + std::to_string(i % 90) + ",c" + std::to_string(i % 7) + ",t" + std::to_string(i % 5) + ";t" +
            std::to_string(i % 11) + "," + std::to_string(i % 2) + "\n";
  }
  return text;
}

TEST(Preparation, GivesTheSameRowsFromMemoryAndFromAFile) {
  const ScratchFolder folder;
  const ScratchFolder scratch;
  Csv source = csv_of_b(folder.write("train.csv", long_text()));
  source.spec.id = "id";
  source.spec.columns = all_kinds();
  source.spec.columns.pop_back();
  for (const bool one_hot : {false, true}) {
    source.spec.columns[1].one_hot = one_hot;
    source.spec.columns[2].one_hot = one_hot;
    const PreparedRows in_memory = source.rows(scratch);
    EXPECT_NE(dynamic_cast<const data::RowsInMemory*>(in_memory.rows.get()), nullptr);
    Preparation small = source.fit();
    small.set_row_memory(27'000);  // one row takes more than 8 bytes
    const PreparedRows in_file = small.read(source.train, Labels::kIfThere, scratch.path());
    EXPECT_NE(dynamic_cast<const data::RowStore*>(in_file.rows.get()), nullptr);
    EXPECT_EQ(in_file.rows->rows(), 2 * kPieceRows + 100);
    EXPECT_EQ(in_file.ids, in_memory.ids);
    EXPECT_EQ(in_file.labels, in_memory.labels);
    expect_same(*in_file.rows, *in_memory.rows);
    EXPECT_EQ(scratch.count(), 0);
  }
}

TEST(Preparation, ReadsFilesInPiecesOfBoundedSize) {
  EXPECT_EQ(rows_of_piece(0), kPieceRows);
  EXPECT_EQ(rows_of_piece(10), kPieceRows);
  for (const std::size_t cells : {1'000U, 100'000U, 1'000'000U}) EXPECT_LE(rows_of_piece(cells) * cells, kPieceCells);
  EXPECT_EQ(rows_of_piece(10 * kPieceCells), 1U);
}

TEST(Preparation, IsTheSameAfterSavingAndLoading) {
  const ScratchFolder folder;
  Csv source = csv_of_all_kinds(folder);
  for (const bool one_hot : {false, true}) {
    source.spec.columns[2].one_hot = one_hot;
    const Preparation preparation = source.fit();
    const Bytes bytes = saved(preparation);
    const Preparation again = loaded(bytes);
    EXPECT_EQ(saved(again), bytes);
    EXPECT_EQ(again.shape().numeric, preparation.shape().numeric);
    EXPECT_EQ(again.classes(), preparation.classes());
    const PreparedRows x = preparation.read(source.train, Labels::kNeeded, folder.path());
    const PreparedRows y = again.read(source.train, Labels::kNeeded, folder.path());
    EXPECT_EQ(x.ids, y.ids);
    EXPECT_EQ(x.labels, y.labels);
    expect_same(*x.rows, *y.rows);
  }
}

TEST(Preparation, ReadsRawAdult) {
  BLINDFL_NEEDS_DATA("adult.data.xz");
  const ScratchFolder scratch;
  Csv source = csv_of_b(blindfl::testing::real_data("adult.data.xz"));
  source.spec.header = false;
  source.spec.label = "15";
  source.spec.default_kind = ColumnKind::kCategory;
  for (const std::string name : {"1", "3", "5", "11", "12", "13"}) {
    source.spec.columns.push_back({.name = name, .kind = ColumnKind::kNumeric, .transform = Transform::kStandardise});
  }
  const Preparation preparation = source.fit();
  EXPECT_EQ(preparation.shape().numeric, 6U);
  EXPECT_EQ(preparation.shape().fields.size(), 8U);
  EXPECT_EQ(preparation.shape().fields[1].categories, 17U) << "16 educations";
  EXPECT_EQ(preparation.classes(), (std::vector<std::string>{"<=50K", ">50K"}));
  const PreparedRows rows = preparation.read(source.train, Labels::kNeeded, scratch.path());
  EXPECT_EQ(rows.rows->rows(), 32'561U);
  EXPECT_EQ(std::ranges::count(rows.labels, 1.0), 7'841);
}

TEST(Preparation, ReadsTheVerticallySplitBreastSet) {
  BLINDFL_NEEDS_DATA("fate-vertical/breast_hetero_guest.csv.xz");
  BLINDFL_NEEDS_DATA("fate-vertical/breast_hetero_host.csv.xz");
  const ScratchFolder scratch;
  Csv guest = csv_of_b(blindfl::testing::real_data("fate-vertical/breast_hetero_guest.csv.xz"));
  guest.spec.id = "id";
  const PreparedRows rows = guest.rows(scratch);
  EXPECT_EQ(rows.rows->rows(), 569U);
  EXPECT_EQ(rows.ids.front(), "133");
  EXPECT_EQ(std::ranges::count(rows.labels, 1.0), 357);
  EXPECT_NEAR(numbers_of(rows)[0][0], 0.254879, 1e-4);
  Csv host = csv_of_a(blindfl::testing::real_data("fate-vertical/breast_hetero_host.csv.xz"));
  host.spec.id = "id";
  EXPECT_EQ(host.fit().shape().numeric, 20U);
}

}  // namespace
}  // namespace blindfl::prepare::preparation_test

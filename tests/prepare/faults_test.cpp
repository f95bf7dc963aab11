#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/prepare/preparation.h"
#include "specs.h"
#include "testing/scratch_folder.h"
#include "testing/thrown.h"

namespace blindfl::prepare::faults_test {
namespace {

using blindfl::testing::message_of;
using blindfl::testing::ScratchFolder;
using data::ColumnKind;
using ::testing::AllOf;
using testing::Csv;
using testing::csv_of_a;
using testing::csv_of_b;
using ::testing::HasSubstr;
using testing::libsvm_of_b;
using testing::loaded;
using ::testing::Not;
using testing::saved;

/// What is said of a training file, whose faulty cells hold 'secret' or 777.
std::string fault_of(Csv source, std::string_view text) {
  const ScratchFolder folder;
  source.train = folder.write("train.csv", text);
  std::string message = message_of<DataError>([&] { (void)source.rows(folder); });
  EXPECT_THAT(message, AllOf(HasSubstr("train.csv"), Not(HasSubstr("secret")), Not(HasSubstr("777"))));
  return message;
}

std::string refusal_of(const Csv& source) {
  return message_of<ConfigError>([&] { (void)source.fit(); });
}

TEST(PreparationFaults, NameLineAndColumnOfABadNumber) {
  EXPECT_THAT(fault_of(csv_of_a(""), "a,b\n1,2\n1,secret\n"), HasSubstr("line 3: column 2 ('b'): not a number"));
  EXPECT_THAT(fault_of(csv_of_a(""), "a,b\n1,2\n1,777\n"),
              HasSubstr("line 3: column 2 ('b'): beyond private.data.numeric.largest"));
  Csv strict = csv_of_a("");
  strict.spec.columns = {{.name = "b", .missing = data::Missing::kError}};
  EXPECT_THAT(fault_of(strict, "a,b\n1,2\n\n1,?\n"), HasSubstr("line 4: column 2 ('b'): the number is missing"));
  for (const std::string number : {"inf", "-inf", "1e400"}) {
    EXPECT_THAT(fault_of(csv_of_a(""), "a,b\n1,2\n1," + number + "\n"),
                HasSubstr("line 3: column 2 ('b'): not a finite number"));
  }
  EXPECT_THAT(fault_of(csv_of_a(""), "a,b\n1,2\n1,777,777\n"), HasSubstr("line 3"));
  EXPECT_THAT(fault_of(csv_of_a(""), "a,b\n"), HasSubstr("holds no rows"));
}

TEST(PreparationFaults, NameLineAndColumnInLaterPiecesOfAFile) {
  std::string text = "a\n";
  for (int i = 0; i < 10'000; ++i) text += "1\n";
  EXPECT_THAT(fault_of(csv_of_a(""), text + "777\n"), HasSubstr("line 10002: column 1 ('a')"));
}

TEST(PreparationFaults, NameLineAndColumnOfBadCategories) {
  Csv source = csv_of_a("");
  source.spec.columns = {{.name = "t", .kind = ColumnKind::kCategories, .most_per_row = 2}};
  EXPECT_THAT(fault_of(source, "t\na\nsecret;secret;b\n"), HasSubstr("line 3: column 1 ('t'): more than 2 categories"));
  EXPECT_THAT(fault_of(source, "t\na\nb\n" + std::string(5000, 's') + "\n"),
              HasSubstr("line 4: column 1 ('t'): longer"));
  source.spec.id = "id";
  EXPECT_THAT(fault_of(source, "t,id\na,1\na,\n"), HasSubstr("line 3: column 2 ('id'): the id is missing"));
}

TEST(PreparationFaults, NameColumnsThatAreNotThere) {
  Csv source = csv_of_a("");
  source.spec.columns = {{.name = "b"}};
  EXPECT_THAT(fault_of(source, "a\n1\n"), HasSubstr("no column 'b'"));
  source = csv_of_a("");
  source.spec.id = "id";
  EXPECT_THAT(fault_of(source, "a\n1\n"), HasSubstr("no column 'id'"));
  source = csv_of_b("");
  EXPECT_THAT(fault_of(source, "a\n1\n"), HasSubstr("no column 'y'"));
  source = csv_of_a("");
  source.spec.columns = {{.name = "a", .missing = data::Missing::kMean}};
  EXPECT_THAT(fault_of(source, "a\n?\n"), HasSubstr("column 'a': has no number to learn from"));
}

TEST(PreparationFaults, ListColumnsThatNobodyDid) {
  const ScratchFolder folder;
  Csv source = csv_of_b(folder.write("t.csv", "id,x,new,odd,w,y\n1,1,2,3,1,0\n2,2,3,4,1,1\n"));
  source.spec.id = "id";
  source.spec.weight = "w";
  source.spec.default_kind.reset();
  source.spec.columns = {{.name = "x", .kind = ColumnKind::kNumeric}};
  EXPECT_THAT(refusal_of(source), AllOf(HasSubstr("t.csv: private.data.columns does not list 'new', 'odd';"),
                                        HasSubstr("kind: ignore"), HasSubstr("private.data.default_kind")));
  Csv mistyped = source;
  mistyped.spec.weight = "weights";
  EXPECT_THAT(
      refusal_of(mistyped),
      AllOf(
          HasSubstr("t.csv: has no column 'weights', which private.data.weight_column names; it has 'new', 'odd', 'w'"),
          Not(HasSubstr("kind: ignore"))));
  source.spec.default_kind = ColumnKind::kIgnored;
  EXPECT_EQ(source.fit().shape().numeric, 1U);
  source.spec.default_kind = ColumnKind::kNumeric;
  EXPECT_EQ(source.fit().shape().numeric, 3U);
  source.spec.default_kind.reset();
  source.spec.columns = {{.name = "x"}, {.name = "new", .kind = ColumnKind::kIgnored}, {.name = "odd"}};
  EXPECT_EQ(source.fit().shape().numeric, 2U) << "a listed column without a kind is a number";
}

TEST(PreparationFaults, CountClassesWithoutNamingThem) {
  const Csv two = csv_of_b("");
  EXPECT_THAT(fault_of(two, "x,y\n1,secret1\n1,secret2\n1,secret3\n"),
              HasSubstr("column 'y': 3 different labels, and the model has 2 classes"));
  EXPECT_THAT(fault_of(two, "x,y\n1,777\n1,777.0\n"), HasSubstr("1 different labels")) << "the same number";
  EXPECT_THAT(fault_of(two, "x,y\n1,0\n1,\n"), HasSubstr("line 3: column 2 ('y'): the label is missing"));
  std::string many = "x,y\n";
  for (int i = 0; i < 10'100; ++i) many += "1," + std::to_string(i + 100'000) + "\n";
  EXPECT_THAT(fault_of(two, many), HasSubstr("more than 10000 different labels"));
  const Csv three = csv_of_b("", {.classes = 3});
  EXPECT_THAT(fault_of(three, "x,y\n1,0\n1,1\n"), HasSubstr("2 different labels, and the model has 3 classes"));
}

TEST(PreparationFaults, NameLinesOfLabelsThatAreNone) {
  EXPECT_THAT(fault_of(csv_of_b("", {.kind = LabelSpec::Kind::kReals}), "x,y\n1,0.5\n1,secret\n"),
              HasSubstr("line 3: column 2 ('y'): the label is not a finite number"));
  for (const std::string_view label : {"-777", "777.5", "secret"}) {
    EXPECT_THAT(fault_of(csv_of_b("", {.kind = LabelSpec::Kind::kCounts}), "x,y\n1,3\n1," + std::string(label) + "\n"),
                HasSubstr("line 3: column 2 ('y'): the label is not a whole number from 0 on"));
  }
  const ScratchFolder folder;
  const Preparation preparation = csv_of_b(folder.write("a.csv", "x,y\n1,no\n1,yes\n")).fit();
  const auto later = folder.write("later.csv", "x,y\n1,no\n1,secret\n");
  const std::string message =
      message_of<DataError>([&] { (void)preparation.read(later, Labels::kIfThere, folder.path()); });
  EXPECT_THAT(message, AllOf(HasSubstr("later.csv: line 3: column 2 ('y'): the label is none of those"),
                             Not(HasSubstr("secret"))));
  const auto without = folder.write("without.csv", "x\n1\n");
  EXPECT_THROW((void)preparation.read(without, Labels::kNeeded, folder.path()), DataError);
}

TEST(PreparationLabels, AreClassesInTheirOrder) {
  const ScratchFolder folder;
  const auto labels_of = [&](std::string_view text, const LabelSpec& labels) {
    return csv_of_b(folder.write("t.csv", text), labels).rows(folder).labels;
  };
  using Numbers = std::vector<double>;
  EXPECT_EQ(labels_of("x,y\n1,+1\n1,-1\n", {}), (Numbers{1, 0}));
  EXPECT_EQ(labels_of("x,y\n1,1\n1,0\n1,1.0\n", {}), (Numbers{1, 0, 1}));
  EXPECT_EQ(labels_of("x,y\n1,>50K\n1,<=50K\n", {}), (Numbers{1, 0}));
  EXPECT_EQ(labels_of("x,y\n1,10\n1,9\n1,-3\n", {.classes = 3}), (Numbers{2, 1, 0})) << "numbers, not texts";
  EXPECT_EQ(labels_of("x,y\n1,10\n1,9\n1,b\n", {.classes = 3}), (Numbers{0, 1, 2})) << "texts, if one is";
  EXPECT_EQ(labels_of("x,y\n1,-0.5\n1,7\n", {.kind = LabelSpec::Kind::kReals}), (Numbers{-0.5, 7}));
  EXPECT_EQ(labels_of("x,y\n1,0\n1,7\n", {.kind = LabelSpec::Kind::kCounts}), (Numbers{0, 7}));
}

TEST(PreparationFaults, SayWhatToWriteForCategoriesInAModelOfNumbers) {
  const ScratchFolder folder;
  const auto train = folder.write("t.csv", "city,tags,y\nRome,a,0\nBern,b,1\n");
  Csv source = csv_of_b(train);
  source.spec.embeddings = false;
  source.spec.columns = {{.name = "city", .kind = ColumnKind::kCategory, .one_hot = true},
                         {.name = "tags", .kind = ColumnKind::kCategories}};
  EXPECT_THAT(refusal_of(source), AllOf(HasSubstr("column 'tags'"), HasSubstr("one_hot: true")));
  source.spec.columns[1].one_hot = true;
  EXPECT_EQ(source.fit().shape().numeric, 6U);
  source.spec.encoding.largest = 0.5;
  EXPECT_THAT(refusal_of(source), AllOf(HasSubstr("column 'city'"), HasSubstr("numeric.largest")));
}

TEST(PreparationFaults, RefuseColumnsThatMakeNoSense) {
  const ScratchFolder folder;
  const auto train = folder.write("t.csv", "x,y\n1,0\n2,1\n");
  Csv source = csv_of_a(train);
  source.spec.default_kind = ColumnKind::kIgnored;
  EXPECT_THAT(refusal_of(source), HasSubstr("no features"));
  source = csv_of_a(train);
  source.spec.columns = {{.name = "x", .kind = ColumnKind::kCategories, .separator = ""}};
  EXPECT_THAT(refusal_of(source), HasSubstr("separator"));
  source = csv_of_a(train);
  source.spec.columns = {{.name = "x", .kind = ColumnKind::kCategory, .one_hot = true},
                         {.name = "y", .kind = ColumnKind::kCategory, .one_hot = true}};
  for (ColumnSpec& column : source.spec.columns) column.vocabulary.hash_buckets = 4'000'000'000;
  EXPECT_THAT(refusal_of(source), HasSubstr("hash_buckets"));
}

TEST(PreparationFaults, RefuseFilesWithoutAHeaderThatHaveOtherColumns) {
  const ScratchFolder folder;
  Csv source = csv_of_b(folder.write("t.csv", "0,1,2\n1,1,2\n"));
  source.spec.header = false;
  source.spec.label = "1";
  const Preparation preparation = source.fit();
  const auto later = folder.write("later.csv", "1,2\n");
  const std::string message =
      message_of<DataError>([&] { (void)preparation.read(later, Labels::kIfThere, folder.path()); });
  EXPECT_THAT(message, HasSubstr("later.csv: has 2 columns, and the training file 3"));
}

TEST(SavedPreparation, IsRefusedWithoutItsEndAndWithOtherBytes) {
  const ScratchFolder folder;
  Csv source = csv_of_b(folder.write("t.csv", "id,x,c,t,y\n1,1,Rome,a;b,0\n2,2,Bern,a,1\n"));
  source.spec.id = "id";
  source.spec.columns = {{.name = "c", .kind = ColumnKind::kCategory, .one_hot = true},
                         {.name = "t", .kind = ColumnKind::kCategories}};
  const auto libsvm = folder.write("t.svm", "0 1:1\n1 9:1\n");
  const auto to_read = folder.write("later.csv", "id,x,c,t,y\n1,1,Rome,a;b,0\n");
  for (const Bytes& whole : {saved(source.fit()), saved(libsvm_of_b(libsvm).fit())}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      EXPECT_THROW((void)loaded(ByteView(whole).first(size)), DataError) << size;
    }
    std::size_t refused = 0;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      for (const unsigned change : {0x01U, 0x80U, 0xFFU}) {
        Bytes other = whole;
        other[i] ^= static_cast<std::byte>(change);
        // What is loaded all the same is used without any other error than one about the data.
        try {
          (void)loaded(other).read(to_read, Labels::kIfThere, folder.path());
        } catch (const DataError&) {
          ++refused;
        }
      }
    }
    EXPECT_GT(refused, whole.size());
  }
}

}  // namespace
}  // namespace blindfl::prepare::faults_test

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "blindfl/app/prepare/preparation.h"
#include "blindfl/base/error.h"
#include "prepare_jobs.h"
#include "testing/scratch_folder.h"
#include "testing/thrown.h"

namespace blindfl::app {
namespace {

using blindfl::testing::message_of;
using blindfl::testing::ScratchFolder;
using data::ColumnKind;
using job::ModelKind;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::job_of_a;
using testing::job_of_b;
using testing::libsvm_job;
using testing::loaded;
using ::testing::Not;
using testing::saved;
using testing::train_rows;

/// What is said of a training file, whose faulty cells hold 'secret' or 777.
std::string fault_of(job::Job job, std::string_view text) {
  const ScratchFolder folder;
  job.own.data.train = folder.write("train.csv", text);
  std::string message = message_of<DataError>([&] { (void)train_rows(job, folder); });
  EXPECT_THAT(message, AllOf(HasSubstr("train.csv"), Not(HasSubstr("secret")), Not(HasSubstr("777"))));
  return message;
}

std::string refusal_of(const job::Job& job) {
  return message_of<ConfigError>([&] { (void)Preparation::fit(job); });
}

TEST(PreparationFaults, NameLineAndColumnOfABadNumber) {
  EXPECT_THAT(fault_of(job_of_a(""), "a,b\n1,2\n1,secret\n"), HasSubstr("line 3: column 2 ('b'): not a number"));
  EXPECT_THAT(fault_of(job_of_a(""), "a,b\n1,2\n1,777\n"),
              HasSubstr("line 3: column 2 ('b'): beyond private.data.numeric.largest"));
  job::Job strict = job_of_a("");
  strict.own.data.columns = {{.name = "b", .missing = data::Missing::kError}};
  EXPECT_THAT(fault_of(strict, "a,b\n1,2\n\n1,?\n"), HasSubstr("line 4: column 2 ('b'): the number is missing"));
  for (const std::string number : {"inf", "-inf", "1e400"}) {
    EXPECT_THAT(fault_of(job_of_a(""), "a,b\n1,2\n1," + number + "\n"),
                HasSubstr("line 3: column 2 ('b'): not a finite number"));
  }
  EXPECT_THAT(fault_of(job_of_a(""), "a,b\n1,2\n1,777,777\n"), HasSubstr("line 3"));
  EXPECT_THAT(fault_of(job_of_a(""), "a,b\n"), HasSubstr("holds no rows"));
}

TEST(PreparationFaults, NameLineAndColumnInLaterPiecesOfAFile) {
  std::string text = "a\n";
  for (int i = 0; i < 10'000; ++i) text += "1\n";
  EXPECT_THAT(fault_of(job_of_a(""), text + "777\n"), HasSubstr("line 10002: column 1 ('a')"));
}

TEST(PreparationFaults, NameLineAndColumnOfBadCategories) {
  job::Job job = job_of_a("");
  job.own.data.columns = {{.name = "t", .kind = ColumnKind::kCategories, .most_per_row = 2}};
  EXPECT_THAT(fault_of(job, "t\na\nsecret;secret;b\n"), HasSubstr("line 3: column 1 ('t'): more than 2 categories"));
  EXPECT_THAT(fault_of(job, "t\na\nb\n" + std::string(5000, 's') + "\n"), HasSubstr("line 4: column 1 ('t'): longer"));
  job.own.data.id_column = "id";
  EXPECT_THAT(fault_of(job, "t,id\na,1\na,\n"), HasSubstr("line 3: column 2 ('id'): the id is missing"));
}

TEST(PreparationFaults, NameColumnsThatAreNotThere) {
  job::Job job = job_of_a("");
  job.own.data.columns = {{.name = "b"}};
  EXPECT_THAT(fault_of(job, "a\n1\n"), HasSubstr("no column 'b'"));
  job = job_of_a("");
  job.own.data.id_column = "id";
  EXPECT_THAT(fault_of(job, "a\n1\n"), HasSubstr("no column 'id'"));
  job = job_of_b("");
  EXPECT_THAT(fault_of(job, "a\n1\n"), HasSubstr("no column 'y'"));
  job = job_of_a("");
  job.own.data.columns = {{.name = "a", .missing = data::Missing::kMean}};
  EXPECT_THAT(fault_of(job, "a\n?\n"), HasSubstr("column 'a': has no number to learn from"));
}

TEST(PreparationFaults, ListColumnsThatTheJobDoesNot) {
  const ScratchFolder folder;
  job::Job job = job_of_b(folder.write("t.csv", "id,x,new,odd,w,y\n1,1,2,3,1,0\n2,2,3,4,1,1\n"), ModelKind::kLr);
  job.own.data.id_column = "id";
  job.own.data.weight_column = "w";
  job.own.data.default_kind.reset();
  job.own.data.columns = {{.name = "x", .kind = ColumnKind::kNumeric}};
  EXPECT_THAT(refusal_of(job), AllOf(HasSubstr("t.csv: private.data.columns does not list 'new', 'odd';"),
                                     HasSubstr("kind: ignore"), HasSubstr("private.data.default_kind")));
  job.own.data.default_kind = ColumnKind::kIgnored;
  EXPECT_EQ(Preparation::fit(job).shape().numeric, 1U);
  job.own.data.default_kind = ColumnKind::kNumeric;
  EXPECT_EQ(Preparation::fit(job).shape().numeric, 3U);
  job.own.data.default_kind.reset();
  job.own.data.columns = {{.name = "x"}, {.name = "new", .kind = ColumnKind::kIgnored}, {.name = "odd"}};
  EXPECT_EQ(Preparation::fit(job).shape().numeric, 2U) << "a listed column without a kind is a number";
}

TEST(PreparationFaults, CountClassesWithoutNamingThem) {
  const job::Job two = job_of_b("", ModelKind::kLr);
  EXPECT_THAT(fault_of(two, "x,y\n1,secret1\n1,secret2\n1,secret3\n"),
              HasSubstr("column 'y': 3 different labels, and the model has 2 classes"));
  EXPECT_THAT(fault_of(two, "x,y\n1,777\n1,777.0\n"), HasSubstr("1 different labels")) << "the same number";
  EXPECT_THAT(fault_of(two, "x,y\n1,0\n1,\n"), HasSubstr("line 3: column 2 ('y'): the label is missing"));
  std::string many = "x,y\n";
  for (int i = 0; i < 10'100; ++i) many += "1," + std::to_string(i + 100'000) + "\n";
  EXPECT_THAT(fault_of(two, many), HasSubstr("more than 10000 different labels"));
  job::Job three = job_of_b("", ModelKind::kMlr);
  three.shared.model.classes = 3;
  EXPECT_THAT(fault_of(three, "x,y\n1,0\n1,1\n"), HasSubstr("2 different labels, and the model has 3 classes"));
}

TEST(PreparationFaults, NameLinesOfLabelsThatAreNone) {
  EXPECT_THAT(fault_of(job_of_b("", ModelKind::kLinear), "x,y\n1,0.5\n1,secret\n"),
              HasSubstr("line 3: column 2 ('y'): the label is not a finite number"));
  for (const std::string_view label : {"-777", "777.5", "secret"}) {
    EXPECT_THAT(fault_of(job_of_b("", ModelKind::kPoisson), "x,y\n1,3\n1," + std::string(label) + "\n"),
                HasSubstr("line 3: column 2 ('y'): the label is not a whole number from 0 on"));
  }
  const ScratchFolder folder;
  const Preparation preparation =
      Preparation::fit(job_of_b(folder.write("a.csv", "x,y\n1,no\n1,yes\n"), ModelKind::kLr));
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
  const auto labels_of = [&](std::string_view text, ModelKind kind, std::size_t classes) {
    job::Job job = job_of_b(folder.write("t.csv", text), kind);
    job.shared.model.classes = classes;
    return train_rows(job, folder).labels;
  };
  using Numbers = std::vector<double>;
  EXPECT_EQ(labels_of("x,y\n1,+1\n1,-1\n", ModelKind::kLr, 2), (Numbers{1, 0}));
  EXPECT_EQ(labels_of("x,y\n1,1\n1,0\n1,1.0\n", ModelKind::kLr, 2), (Numbers{1, 0, 1}));
  EXPECT_EQ(labels_of("x,y\n1,>50K\n1,<=50K\n", ModelKind::kLr, 2), (Numbers{1, 0}));
  EXPECT_EQ(labels_of("x,y\n1,10\n1,9\n1,-3\n", ModelKind::kMlr, 3), (Numbers{2, 1, 0})) << "numbers, not texts";
  EXPECT_EQ(labels_of("x,y\n1,10\n1,9\n1,b\n", ModelKind::kMlr, 3), (Numbers{0, 1, 2})) << "texts, if one is";
  EXPECT_EQ(labels_of("x,y\n1,-0.5\n1,7\n", ModelKind::kLinear, 2), (Numbers{-0.5, 7}));
  EXPECT_EQ(labels_of("x,y\n1,0\n1,7\n", ModelKind::kPoisson, 2), (Numbers{0, 7}));
}

TEST(PreparationFaults, SayWhatToWriteForCategoriesInAModelOfNumbers) {
  const ScratchFolder folder;
  const auto train = folder.write("t.csv", "city,tags,y\nRome,a,0\nBern,b,1\n");
  for (const ModelKind kind : {ModelKind::kLr, ModelKind::kMlp}) {
    job::Job job = job_of_b(train, kind);
    job.own.data.columns = {{.name = "city", .kind = ColumnKind::kCategory, .one_hot = true},
                            {.name = "tags", .kind = ColumnKind::kCategories}};
    EXPECT_THAT(refusal_of(job), AllOf(HasSubstr("column 'tags'"), HasSubstr("one_hot: true")));
    job.own.data.columns[1].one_hot = true;
    EXPECT_EQ(Preparation::fit(job).shape().numeric, 6U);
    job.own.data.numeric.largest = 0.5;
    EXPECT_THAT(refusal_of(job), AllOf(HasSubstr("column 'city'"), HasSubstr("numeric.largest")));
  }
}

TEST(PreparationFaults, RefuseJobsThatMakeNoSense) {
  const ScratchFolder folder;
  const auto train = folder.write("t.csv", "x,y\n1,0\n2,1\n");
  job::Job job = job_of_a(train);
  job.own.data.label_column = "y";
  EXPECT_THAT(refusal_of(job), HasSubstr("private.data.label_column is for B"));
  job = job_of_b(train);
  job.own.data.label_column.reset();
  EXPECT_THAT(refusal_of(job), HasSubstr("private.data.label_column is missing"));
  job = job_of_b(train);
  job.own.data.train.reset();
  EXPECT_THAT(refusal_of(job), HasSubstr("private.data.train is missing"));
  job = job_of_a(train);
  job.own.data.default_kind = ColumnKind::kIgnored;
  EXPECT_THAT(refusal_of(job), HasSubstr("no features"));
  job = job_of_a(train);
  job.own.data.delimiter = "\"";
  EXPECT_THAT(refusal_of(job), HasSubstr("private.data.delimiter"));
  job = job_of_a(train);
  job.own.data.columns = {{.name = "x", .kind = ColumnKind::kCategories, .separator = ""}};
  EXPECT_THAT(refusal_of(job), HasSubstr("separator"));
  job = job_of_a(train);
  job.own.data.columns = {{.name = "x", .kind = ColumnKind::kCategory, .one_hot = true},
                          {.name = "y", .kind = ColumnKind::kCategory, .one_hot = true}};
  for (job::Column& column : job.own.data.columns) column.vocabulary.hash_buckets = 4'000'000'000;
  EXPECT_THAT(refusal_of(job), HasSubstr("hash_buckets"));
}

TEST(PreparationFaults, RefuseFilesWithoutAHeaderThatHaveOtherColumns) {
  const ScratchFolder folder;
  job::Job job = job_of_b(folder.write("t.csv", "0,1,2\n1,1,2\n"), ModelKind::kLr);
  job.own.data.header = false;
  job.own.data.label_column = "1";
  const Preparation preparation = Preparation::fit(job);
  const auto later = folder.write("later.csv", "1,2\n");
  const std::string message =
      message_of<DataError>([&] { (void)preparation.read(later, Labels::kIfThere, folder.path()); });
  EXPECT_THAT(message, HasSubstr("later.csv: has 2 columns, and the training file 3"));
}

TEST(SavedPreparation, IsRefusedWithoutItsEndAndWithOtherBytes) {
  const ScratchFolder folder;
  job::Job job = job_of_b(folder.write("t.csv", "id,x,c,t,y\n1,1,Rome,a;b,0\n2,2,Bern,a,1\n"));
  job.own.data.id_column = "id";
  job.own.data.columns = {{.name = "c", .kind = ColumnKind::kCategory, .one_hot = true},
                          {.name = "t", .kind = ColumnKind::kCategories}};
  const auto libsvm = folder.write("t.svm", "0 1:1\n1 9:1\n");
  const auto to_read = folder.write("later.csv", "id,x,c,t,y\n1,1,Rome,a;b,0\n");
  for (const Bytes& whole : {saved(Preparation::fit(job)), saved(Preparation::fit(libsvm_job(libsvm)))}) {
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
}  // namespace blindfl::app

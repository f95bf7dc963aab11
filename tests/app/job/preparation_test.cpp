#include "blindfl/app/job/preparation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>

#include "blindfl/base/error.h"
#include "testing/scratch_folder.h"
#include "testing/thrown.h"

namespace blindfl::app::job::preparation_test {
namespace {

using blindfl::testing::ScratchFolder;
using prepare::FileFormat;
using ::testing::HasSubstr;

/// B's job: a model, and a file with the label in column y.
Job job_of_b(std::filesystem::path train, ModelKind kind = ModelKind::kLr) {
  Job job;
  job.shared.model.kind = kind;
  job.own.party = Party::kB;
  job.own.data.train = std::move(train);
  job.own.data.format = FileFormat::kCsv;
  job.own.data.label_column = "y";
  job.own.data.default_kind = data::ColumnKind::kNumeric;
  return job;
}

Job job_of_a(std::filesystem::path train) {
  Job job = job_of_b(std::move(train));
  job.own.party = Party::kA;
  job.own.data.label_column.reset();
  return job;
}

Job libsvm_job(std::filesystem::path train) {
  Job job = job_of_b(std::move(train));
  job.own.data.format = FileFormat::kLibsvm;
  job.own.data.label_column.reset();
  return job;
}

std::string refusal_of(const Job& job) {
  return blindfl::testing::message_of<ConfigError>([&] { (void)fit_preparation(job); });
}

TEST(PreparationOfAJob, IsFittedAsTheJobSays) {
  const ScratchFolder folder;
  Job job = job_of_b(folder.write("t.tsv", "1\tu1\t2\tRome\tno\n1\tu2\t?\tBern\tyes\n"));
  Data& data = job.own.data;
  data.delimiter = "tab";
  data.header = false;
  data.weight_column = "1";
  data.id_column = "2";
  data.label_column = "5";
  data.label.positive = "no";
  data.columns = {{.name = "4", .kind = data::ColumnKind::kCategory, .one_hot = true}};
  data.numeric.scale = 3;
  const Preparation preparation = fit_preparation(job);
  EXPECT_EQ(preparation.shape().numeric, 1U + 3);
  EXPECT_EQ(preparation.shape().encoding, data.numeric);
  EXPECT_EQ(preparation.classes(), (std::vector<std::string>{"yes", "no"}));
  const PreparedRows rows = preparation.read(*data.train, Labels::kNeeded, folder.path());
  EXPECT_EQ(rows.ids, (std::vector<std::string>{"u1", "u2"}));
  EXPECT_EQ(rows.labels, (std::vector<double>{1, 0}));
  EXPECT_EQ(rows.weights, (std::vector<double>{1, 1}));
  data.columns[0].one_hot = false;
  EXPECT_THAT(refusal_of(job), HasSubstr("column '4' holds categories, and this kind of model takes numbers"));
  job.shared.model.kind = ModelKind::kWdl;
  EXPECT_EQ(fit_preparation(job).shape().fields.size(), 1U);
}

TEST(PreparationOfAJob, HasTheLabelsOfItsModel) {
  const ScratchFolder folder;
  const auto train = folder.write("t.csv", "x,y\n1,0\n2,1\n2,7\n");
  EXPECT_THROW((void)fit_preparation(job_of_b(train)), DataError) << "two classes";
  Job three = job_of_b(train, ModelKind::kMlr);
  three.shared.model.classes = 3;
  EXPECT_EQ(fit_preparation(three).classes().size(), 3U);
  for (const ModelKind kind : {ModelKind::kLinear, ModelKind::kPoisson}) {
    const Preparation preparation = fit_preparation(job_of_b(train, kind));
    EXPECT_EQ(preparation.read(train, Labels::kNeeded, folder.path()).labels, (std::vector<double>{0, 1, 7}));
  }
}

TEST(PreparationOfAJob, RefusesJobsThatMakeNoSense) {
  const ScratchFolder folder;
  const auto train = folder.write("t.csv", "x,y\n1,0\n2,1\n");
  Job job = job_of_a(train);
  job.own.data.label_column = "y";
  EXPECT_THAT(refusal_of(job), HasSubstr("private.data.label_column is for B"));
  job = job_of_b(train);
  job.own.data.label_column.reset();
  EXPECT_THAT(refusal_of(job), HasSubstr("private.data.label_column is missing"));
  job = job_of_b(train);
  job.own.data.train.reset();
  EXPECT_THAT(refusal_of(job), HasSubstr("private.data.train is missing"));
  job = job_of_a(train);
  job.own.data.delimiter = "\"";
  EXPECT_THAT(refusal_of(job), HasSubstr("private.data.delimiter"));
}

TEST(PreparationOfAJob, OfLibsvmNeedsAlignedRowsAndNoNames) {
  const ScratchFolder folder;
  Job job = libsvm_job(folder.write("x.svm", "-1 1:0.5 9:2\n+1 3:1\n"));
  EXPECT_EQ(fit_preparation(job).shape().numeric, 9U);
  job.own.data.libsvm = {.features = 100, .first_index = 0};
  EXPECT_EQ(fit_preparation(job).shape().numeric, 100U);
  job.own.party = Party::kA;
  EXPECT_TRUE(fit_preparation(job).classes().empty());
  job.shared.alignment.mode = AlignmentMode::kIntersection;
  EXPECT_THROW((void)fit_preparation(job), ConfigError);
  job.shared.alignment.mode = AlignmentMode::kAligned;
  job.own.party = Party::kB;
  job.own.data.label_column = "y";
  EXPECT_THROW((void)fit_preparation(job), ConfigError);
}

TEST(PreparationOfAJob, TakesFilesForWhatTheJobOrTheyThemselvesSay) {
  const ScratchFolder folder;
  Data data;
  data.train = folder.write("a", "1 2:3\n");
  EXPECT_EQ(format_of(data), FileFormat::kLibsvm);
  data.label_column = "y";
  EXPECT_EQ(format_of(data), FileFormat::kCsv) << "LIBSVM files have no names";
  data.format = FileFormat::kLibsvm;
  EXPECT_EQ(format_of(data), FileFormat::kLibsvm);
}

TEST(PreparationOfAJob, GivesRowsAQuarterOfTheMemory) {
  EXPECT_EQ(row_memory_of({}), std::size_t{1} << 30);
  EXPECT_EQ(row_memory_of({.memory = 16.0}), std::size_t{4} << 30);
}

}  // namespace
}  // namespace blindfl::app::job::preparation_test

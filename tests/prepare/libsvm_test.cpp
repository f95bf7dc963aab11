#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/prepare/file_format.h"
#include "blindfl/prepare/libsvm_features.h"
#include "blindfl/prepare/preparation.h"
#include "specs.h"
#include "testing/batches.h"
#include "testing/compressed.h"
#include "testing/real_data.h"
#include "testing/scratch_folder.h"
#include "testing/thrown.h"

namespace blindfl::prepare::libsvm_test {
namespace {

using blindfl::testing::all_rows;
using blindfl::testing::expect_same;
using blindfl::testing::message_of;
using blindfl::testing::ScratchFolder;
using testing::Libsvm;
using testing::libsvm_of_a;
using testing::libsvm_of_b;
using testing::loaded;
using testing::numbers_of;
using testing::saved;

constexpr std::string_view kText = "-1 1:0.5 9:2\n+1 3:1\n-1 20:1 21:1 22:1\n";

TEST(PreparationOfLibsvm, TakesFeaturesAsTheyAre) {
  const ScratchFolder folder;
  const Libsvm source = libsvm_of_b(folder.write("train.libsvm", kText));
  const Preparation preparation = source.fit();
  EXPECT_EQ(preparation.shape().numeric, 22U);
  EXPECT_EQ(preparation.shape().nonzeros, 4U) << "3 in one row, and room for one more";
  EXPECT_EQ(preparation.classes(), (std::vector<std::string>{"-1", "1"}));
  const PreparedRows rows = preparation.read(source.train, Labels::kNeeded, folder.path());
  EXPECT_EQ(rows.labels, (std::vector<double>{0, 1, 0}));
  const data::Batch batch = all_rows(*rows.rows);
  EXPECT_EQ(batch.features.kind(), IntMatrix::Kind::kCsr);
  EXPECT_EQ(batch.features.stored(), 6U);
  EXPECT_EQ(numbers_of(rows)[0][8], 2);
}

TEST(PreparationOfLibsvm, IsDenseIfMostValuesAreThere) {
  const ScratchFolder folder;
  const Preparation preparation = libsvm_of_b(folder.write("x.svm", "0 1:1 2:2\n1 1:3 2:4\n")).fit();
  EXPECT_EQ(preparation.shape().nonzeros, 0U);
  EXPECT_EQ(all_rows(*preparation.read(folder / "x.svm", Labels::kNone, folder.path()).rows).features.kind(),
            IntMatrix::Kind::kDense);
}

TEST(PreparationOfLibsvm, IgnoresLabelsAtA) {
  const ScratchFolder folder;
  const Libsvm source = libsvm_of_a(folder.write("x.svm", "0 1:1\n0 9:4\n"));
  EXPECT_TRUE(source.rows(folder).labels.empty());
  EXPECT_TRUE(source.fit().classes().empty());
}

TEST(PreparationOfLibsvm, NeedsNoLabelsAtAOrToScore) {
  const ScratchFolder folder;
  const Libsvm source = libsvm_of_a(folder.write("x.svm", "1:1\n9:4\n"));
  const PreparedRows rows = source.rows(folder);
  EXPECT_EQ(rows.rows->rows(), 2U);
  EXPECT_EQ(numbers_of(rows)[1][8], 4);
  const Preparation of_b = libsvm_of_b(folder.write("b.svm", kText)).fit();
  EXPECT_EQ(of_b.read(folder.write("score.svm", "1:1\n"), Labels::kNone, folder.path()).rows->rows(), 1U);
  EXPECT_THROW((void)libsvm_of_b(folder.write("no.svm", "1:1\n")).fit(), DataError) << "B's labels";
}

TEST(PreparationOfLibsvm, CountsAsTheSpecSays) {
  const ScratchFolder folder;
  Libsvm source = libsvm_of_b(folder.write("x.svm", "0 0:1\n1 4:4\n"));
  source.spec.features = 100;
  source.spec.first_index = 0;
  const Preparation preparation = source.fit();
  EXPECT_EQ(preparation.shape().numeric, 100U);
  const auto later = folder.write("later.svm", "0 99:1\n");
  EXPECT_EQ(numbers_of(preparation.read(later, Labels::kNone, folder.path()))[0][99], 1);
}

TEST(PreparationOfLibsvm, LeavesRoomForFullerRows) {
  EXPECT_EQ(LibsvmFeatures::with_room(0, 10), 1U);
  EXPECT_EQ(LibsvmFeatures::with_room(14, 123), 18U);
  EXPECT_EQ(LibsvmFeatures::with_room(100, 1000), 128U);
  EXPECT_EQ(LibsvmFeatures::with_room(101, 10'000), 128U) << "several numbers have the same";
  EXPECT_EQ(LibsvmFeatures::with_room(100, 110), 110U);
}

TEST(PreparationOfLibsvm, SaysWhichRowIsTooFull) {
  const ScratchFolder folder;
  const Preparation preparation = libsvm_of_b(folder.write("x.svm", kText)).fit();
  const auto later = folder.write("later.svm", "1 1:1\n\n1 1:1 2:1 3:1 4:1 5:0\n1 1:1 2:1 3:1 4:1 5:1\n");
  const std::string message =
      message_of<DataError>([&] { (void)preparation.read(later, Labels::kNone, folder.path()); });
  EXPECT_NE(message.find("later.svm: line 4: more than 4 values"), std::string::npos) << message;
}

TEST(PreparationOfLibsvm, OfLabelsAloneRefusesFeaturesInLaterFiles) {
  const ScratchFolder folder;
  const Preparation preparation = libsvm_of_b(folder.write("labels.svm", "0\n1\n")).fit();
  EXPECT_EQ(preparation.shape().numeric, 0U);
  EXPECT_EQ(preparation.read(folder / "labels.svm", Labels::kNeeded, folder.path()).labels,
            (std::vector<double>{0, 1}));
  const std::string message = message_of<DataError>(
      [&] { (void)preparation.read(folder.write("more.svm", "0\n1 5:1\n"), Labels::kNeeded, folder.path()); });
  EXPECT_NE(message.find("line 2: index 5: beyond the training file's 0 features"), std::string::npos) << message;
}

TEST(PreparationOfLibsvm, SaysWhichValueIsOutOfRange) {
  const ScratchFolder folder;
  Libsvm source = libsvm_of_b(folder.write("x.svm", "0 1:1\n1 7:123.5\n"));
  const std::string message = message_of<DataError>([&] { (void)source.rows(folder); });
  EXPECT_NE(message.find("x.svm: line 2: index 7: beyond private.data.numeric.largest"), std::string::npos) << message;
  EXPECT_EQ(message.find("123"), std::string::npos);
  source.spec.encoding.clip = true;
  EXPECT_EQ(numbers_of(source.rows(folder))[1][6], 16);
}

TEST(PreparationOfLibsvm, TakesOneForeignLabelInAllRowsForNone) {
  const ScratchFolder folder;
  const Preparation preparation = libsvm_of_b(folder.write("x.svm", kText)).fit();
  const auto unlabelled = folder.write("score.svm", "0 1:1\n0 2:1\n");
  EXPECT_TRUE(preparation.read(unlabelled, Labels::kIfThere, folder.path()).labels.empty());
  EXPECT_THROW((void)preparation.read(unlabelled, Labels::kNeeded, folder.path()), DataError);
  const auto mixed = folder.write("mixed.svm", "0 1:1\n1 2:1\n");
  EXPECT_THROW((void)preparation.read(mixed, Labels::kIfThere, folder.path()), DataError);
  const auto late = folder.write("late.svm", "1 1:1\n\n0 2:1\n");
  const std::string message =
      message_of<DataError>([&] { (void)preparation.read(late, Labels::kIfThere, folder.path()); });
  EXPECT_NE(message.find("late.svm: line 3: the label is none of those"), std::string::npos) << message;
}

TEST(PreparationOfLibsvm, IsTheSameAfterSavingAndLoadingAndFromAFile) {
  const ScratchFolder folder;
  const Libsvm source = libsvm_of_b(folder.write("x.svm.gz", blindfl::testing::gzip(kText)));
  const Preparation preparation = source.fit();
  Preparation again = loaded(saved(preparation));
  EXPECT_EQ(saved(again), saved(preparation));
  again.set_row_memory(0);
  expect_same(*again.read(source.train, Labels::kNeeded, folder.path()).rows,
              *preparation.read(source.train, Labels::kNeeded, folder.path()).rows);
}

TEST(FileFormat, IsSeenByNameOrContent) {
  const ScratchFolder folder;
  EXPECT_EQ(format_of(folder.write("a.csv", "1 2:3")), FileFormat::kCsv);
  EXPECT_EQ(format_of(folder.write("a.svm.xz", "a,b")), FileFormat::kLibsvm);
  EXPECT_EQ(format_of(folder.write("a", "# made by hand\n\n+1 2:3 5:7 # first\n")), FileFormat::kLibsvm);
  EXPECT_EQ(format_of(folder.write("b.txt", "x,y\n1,2\n")), FileFormat::kCsv);
  EXPECT_EQ(format_of(folder.write("c.txt", "1,2\n")), FileFormat::kCsv);
  EXPECT_EQ(format_of(folder.write("d.txt", "12:30 13:45\n")), FileFormat::kCsv);
  EXPECT_EQ(format_of(folder.write("e.txt", "")), FileFormat::kCsv);
  EXPECT_EQ(format_of(folder.write("f", blindfl::testing::zstd("1 2:3\n"))), FileFormat::kLibsvm);
}

TEST(PreparationOfLibsvm, ReadsA9a) {
  BLINDFL_NEEDS_DATA("a9a.xz");
  BLINDFL_NEEDS_DATA("a9a.t.xz");
  const ScratchFolder scratch;
  const Libsvm source = libsvm_of_b(blindfl::testing::real_data("a9a.xz"));
  const Preparation preparation = source.fit();
  EXPECT_EQ(preparation.shape().numeric, 123U);
  EXPECT_EQ(preparation.shape().nonzeros, 18U);
  const PreparedRows test = preparation.read(blindfl::testing::real_data("a9a.t.xz"), Labels::kNeeded, scratch.path());
  EXPECT_EQ(test.rows->rows(), 16'281U);
  EXPECT_EQ(std::ranges::count(test.labels, 1.0), 3'846);
}

}  // namespace
}  // namespace blindfl::prepare::libsvm_test

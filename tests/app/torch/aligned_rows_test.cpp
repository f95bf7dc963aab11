#include "blindfl/app/torch/aligned_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "blindfl/app/torch/job_model.h"
#include "blindfl/app/torch/run_files.h"
#include "blindfl/base/error.h"
#include "testing/scratch_folder.h"

namespace blindfl::app::aligned_rows_test {
namespace {

using ::testing::ElementsAre;

data::Dataset five_rows() {
  return {IntMatrix::dense(5, 1, {10, 11, 12, 13, 14}, 0, 20), {0, 1, 0, 1, 1}};
}

/// Some rows of a step, of which the real ones count.
data::Batch batch_of(std::vector<double> labels, std::vector<bool> counts, std::vector<double> weights = {}) {
  data::Batch batch;
  batch.rows = labels.size();
  batch.labels = std::move(labels);
  batch.counts = std::move(counts);
  batch.weights = std::move(weights);
  return batch;
}

TEST(AlignedRows, ComeInTheCommonOrderAndPlaceholdersDoNotCount) {
  const data::RowsInMemory rows(five_rows());
  const AlignedRows aligned(rows, {{3, 0, 0, 4}, {true, true, false, true}});
  const std::vector<std::uint32_t> places = {0, 2, 3};
  const data::Batch batch = aligned.batch(places, 4);
  EXPECT_EQ(batch.rows, 3U);
  EXPECT_THAT(batch.labels, ElementsAre(1, 0, 1)) << "a placeholder is another of this party's rows";
  EXPECT_THAT(batch.counts, ElementsAre(true, false, true));
  const std::vector<std::uint32_t> real_ones = {0, 3};
  EXPECT_TRUE(aligned.batch(real_ones, 4).counts.empty()) << "all count";
  EXPECT_THAT(aligned.in_order({0, 1, 2, 3, 4}), ElementsAre(3, 0, 0, 4));
  EXPECT_THAT(select_places(aligned.alignment(), places).rows, ElementsAre(3, 0, 4));
}

TEST(AlignedRows, WithoutLabelsCountNothing) {
  const data::RowsInMemory rows({five_rows().features, {}});
  const AlignedRows aligned(rows, {{3, 0}, {true, false}});
  EXPECT_TRUE(aligned.batch(std::vector<std::uint32_t>{0, 1}, 2).counts.empty());
}

TEST(AlignedRows, AreSavedAndRefusedForAnotherFile) {
  const protocol::Alignment alignment{{3, 0, 4}, {true, false, true}};
  const Bytes bytes = write_to_bytes([&](ByteSink& out) { write_alignment(alignment, out); });
  BufferSource whole(bytes);
  const protocol::Alignment again = read_alignment(whole, 5);
  EXPECT_EQ(again.rows, alignment.rows);
  EXPECT_EQ(again.real, alignment.real);
  BufferSource of_a_shorter_file(bytes);
  EXPECT_THROW((void)read_alignment(of_a_shorter_file, 4), DataError);
  BufferSource cut(ByteView(bytes).first(bytes.size() - 1));
  EXPECT_THROW((void)read_alignment(cut, 5), DataError);
}

TEST(AlignedRows, CountWhichAreReal) {
  const data::RowsInMemory rows(five_rows());
  const AlignedRows aligned(rows, {{3, 0, 0, 4}, {true, true, false, true}});
  EXPECT_EQ(aligned.rows(), 4U);
  EXPECT_EQ(aligned.real(), 3U);
  EXPECT_THAT(aligned.only_real().alignment().rows, ElementsAre(3, 0, 4));
  EXPECT_EQ(aligned.only_real().real(), 3U);
}

TEST(JobLoss, LeavesOutPlaceholdersAndWeighsClasses) {
  JobModel model;
  model.family = nn::Family::kLogistic;
  const torch::Tensor scores = torch::tensor({{0.3F}, {-1.0F}, {2.0F}});
  const data::Batch batch = batch_of({1, 0, 1}, {true, true, false});
  const auto each = [&](int row, float label) {
    return nn::loss(model.family, scores.slice(0, row, row + 1), torch::tensor({label})).item<double>();
  };
  const auto loss_of = [&](const std::vector<double>& class_weights, const data::Batch& of) {
    return train::batch_loss(job_loss(model, class_weights), scores, of).item<double>();
  };
  EXPECT_NEAR(loss_of({}, batch), (each(0, 1) + each(1, 0)) / 2, 1e-6);
  EXPECT_NEAR(loss_of({0.5, 4}, batch), (4 * each(0, 1) + 0.5 * each(1, 0)) / 2, 1e-6);
  const data::Batch weighted = batch_of(batch.labels, batch.counts, {2, 3, 5});
  EXPECT_NEAR(loss_of({0.5, 4}, weighted), (8 * each(0, 1) + 1.5 * each(1, 0)) / 2, 1e-6);
  const torch::Tensor real = torch::tensor({1.0F, 0.0F, 1.0F});
  EXPECT_EQ(loss_of({}, batch_of(batch.labels, {})), nn::loss(model.family, scores, real).item<double>());
}

TEST(JobLoss, HasTheGradientOfABatchWithoutPlaceholders) {
  JobModel model;
  model.family = nn::Family::kLinear;
  const data::Batch batch = batch_of({1, 9, 0.5, 9}, {true, false, true, false});
  const torch::Tensor all = torch::tensor({{0.3F}, {-1.0F}, {2.0F}, {5.0F}}, torch::requires_grad());
  train::batch_loss(job_loss(model, {}), all, batch).backward();
  const torch::Tensor real = torch::tensor({{0.3F}, {2.0F}}, torch::requires_grad());
  train::batch_loss(job_loss(model, {}), real, batch_of({1, 0.5}, {})).backward();
  const torch::Tensor gradient = all.grad().clone();
  EXPECT_EQ(gradient[0].item<float>(), real.grad()[0].item<float>());
  EXPECT_EQ(gradient[1].item<float>(), 0);
  EXPECT_EQ(gradient[2].item<float>(), real.grad()[1].item<float>());
  EXPECT_EQ(gradient[3].item<float>(), 0);
  // Half of the rows count: their derivatives are twice those among four that do, unless that is too much.
  all.mutable_grad().zero_();
  train::batch_loss(job_loss(model, {}), all, batch, 1.5).backward();
  EXPECT_NEAR(all.grad()[0].item<float>(), 0.75 * gradient[0].item<float>(), 1e-6);
}

TEST(JobLoss, OfPlaceholdersAloneIsNothing) {
  JobModel model;
  model.family = nn::Family::kLogistic;
  const torch::Tensor scores = torch::tensor({{0.3F}, {-1.0F}}, torch::requires_grad());
  const torch::Tensor loss = train::batch_loss(job_loss(model, {}), scores, batch_of({1, 0}, {false, false}));
  loss.backward();
  EXPECT_EQ(loss.item<double>(), 0);
  EXPECT_EQ(scores.grad().abs().sum().item<double>(), 0);
}

TEST(SavedAlignment, OfSeveralAsHasWhatTheyBeganWithAndWhatTheyKnowTheirOrdersBy) {
  const testing::ScratchFolder folder;
  const MarkedFile train = MarkedFile::of(folder.write("train.csv", "a\nb\nc\n"), 3);
  const MarkedFile test = MarkedFile::of(folder.write("test.csv", "d\ne\n"), 2);
  const auto version = [&] { return static_cast<int>(testing::content_of(folder / "alignment.bin").at(12)); };
  SavedAlignment saved{.train = {{2, 0}, {true, true}}, .test = protocol::Alignment{{1}, {true}}};
  save_alignment(folder.path(), saved, train, test);
  EXPECT_EQ(version(), 2) << "that of one A stays as it was";
  EXPECT_TRUE(load_beginning(folder.path()).empty());
  EXPECT_TRUE(load_alignment(folder.path(), train, test).began.empty());

  saved.began = Bytes(32, std::byte{5});
  saved.train.name = "order of training rows";
  saved.test->name = "another order";
  save_alignment(folder.path(), saved, train, test);
  EXPECT_EQ(version(), 3);
  EXPECT_EQ(load_beginning(folder.path()), saved.began);
  const SavedAlignment loaded = load_alignment(folder.path(), train, test);
  EXPECT_EQ(loaded.began, saved.began);
  EXPECT_EQ(loaded.train.name, saved.train.name);
  EXPECT_EQ(loaded.train.rows, saved.train.rows);
  EXPECT_EQ(loaded.test.value().name, saved.test->name);
  EXPECT_EQ(loaded.test->rows, saved.test->rows);
}

}  // namespace
}  // namespace blindfl::app::aligned_rows_test

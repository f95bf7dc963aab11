#include "blindfl/app/torch/aligned_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "blindfl/app/torch/job_model.h"
#include "blindfl/base/error.h"

namespace blindfl::app::aligned_rows_test {
namespace {

using ::testing::ElementsAre;

data::Dataset five_rows() {
  return {IntMatrix::dense(5, 1, {10, 11, 12, 13, 14}, 0, 20), {0, 1, 0, 1, 1}};
}

TEST(AlignedRows, ComeInTheCommonOrderAndStandInsHaveNoLabel) {
  const data::RowsInMemory rows(five_rows());
  const AlignedRows aligned(rows, {{3, 0, 0, 4}, {true, true, false, true}});
  const std::vector<std::uint32_t> places = {0, 2, 3};
  const data::Batch batch = aligned.batch(places, 4);
  EXPECT_EQ(batch.rows, 3U);
  EXPECT_EQ(batch.labels[0], 1);
  EXPECT_TRUE(std::isnan(batch.labels[1]));
  EXPECT_EQ(batch.labels[2], 1);
  const std::vector<double> ordered = aligned.in_order({0, 1, 2, 3, 4});
  EXPECT_EQ(ordered[0], 3);
  EXPECT_TRUE(std::isnan(ordered[2]));
  EXPECT_EQ(ordered[3], 4);
  EXPECT_THAT(select_places(aligned.alignment(), places).rows, ElementsAre(3, 0, 4));
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
  const torch::Tensor labels = torch::tensor({1.0F, 0.0F, std::nanf("")});
  const auto each = [&](int row, float label) {
    return nn::loss(model.family, scores.slice(0, row, row + 1), torch::tensor({label})).item<double>();
  };
  EXPECT_NEAR(job_loss(model, {})(scores, labels, {}).item<double>(), (each(0, 1) + each(1, 0)) / 2, 1e-6);
  EXPECT_NEAR(job_loss(model, {0.5, 4})(scores, labels, {}).item<double>(), (4 * each(0, 1) + 0.5 * each(1, 0)) / 2,
              1e-6);
  const torch::Tensor by_row = torch::tensor({2.0F, 3.0F, 5.0F});
  EXPECT_NEAR(job_loss(model, {0.5, 4})(scores, labels, by_row).item<double>(), (8 * each(0, 1) + 1.5 * each(1, 0)) / 2,
              1e-6);
  const torch::Tensor real = torch::tensor({1.0F, 0.0F, 1.0F});
  EXPECT_EQ(job_loss(model, {})(scores, real, {}).item<double>(), nn::loss(model.family, scores, real).item<double>());
}

TEST(JobLoss, HasTheGradientOfABatchWithoutPlaceholders) {
  JobModel model;
  model.family = nn::Family::kLinear;
  const torch::Tensor all = torch::tensor({{0.3F}, {-1.0F}, {2.0F}, {5.0F}}, torch::requires_grad());
  job_loss(model, {})(all, torch::tensor({1.0F, std::nanf(""), 0.5F, std::nanf("")}), {}).backward();
  const torch::Tensor real = torch::tensor({{0.3F}, {2.0F}}, torch::requires_grad());
  job_loss(model, {})(real, torch::tensor({1.0F, 0.5F}), {}).backward();
  const torch::Tensor& gradient = all.grad();
  EXPECT_EQ(gradient[0].item<float>(), real.grad()[0].item<float>());
  EXPECT_EQ(gradient[1].item<float>(), 0);
  EXPECT_EQ(gradient[2].item<float>(), real.grad()[1].item<float>());
  EXPECT_EQ(gradient[3].item<float>(), 0);
}

TEST(JobLoss, OfPlaceholdersAloneIsNothing) {
  JobModel model;
  model.family = nn::Family::kLogistic;
  const torch::Tensor scores = torch::tensor({{0.3F}, {-1.0F}}, torch::requires_grad());
  const torch::Tensor loss = job_loss(model, {})(scores, torch::tensor({std::nanf(""), std::nanf("")}), {});
  loss.backward();
  EXPECT_EQ(loss.item<double>(), 0);
  EXPECT_EQ(scores.grad().abs().sum().item<double>(), 0);
}

}  // namespace
}  // namespace blindfl::app::aligned_rows_test

// What rows and classes count, in B's loss and in its measures; and that rows said to be aligned are.

#include "blindfl/app/torch/weighting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "blindfl/app/torch/aligned_rows.h"
#include "blindfl/app/torch/measures.h"
#include "blindfl/base/error.h"
#include "testing/plain/plain_scheme.h"
#include "testing/steps.h"
#include "testing/thrown.h"
#include "testing/two_parties.h"

namespace blindfl::app::weighting_test {
namespace {

using ::testing::AllOf;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;
using ::testing::Not;

const protocol::Alignment kAll{{0, 1, 2, 3}, {true, true, true, true}};

PreparedRows rows_with(std::vector<double> labels, std::vector<double> weights = {}) {
  PreparedRows rows;
  rows.labels = std::move(labels);
  rows.weights = std::move(weights);
  return rows;
}

job::Job job_of(job::ModelKind kind, job::ClassWeights weights = {}) {
  job::Job job;
  job.shared.model.kind = kind;
  job.shared.model.top = protocol::Top::kOpen;
  job.own.top.class_weights = std::move(weights);
  return job;
}

TEST(Weighting, IsWhatTheJobSaysOrBalanced) {
  const PreparedRows rows = rows_with({0, 0, 0, 1});
  EXPECT_TRUE(weighting_of(job_of(job::ModelKind::kLr), rows, kAll).by_class.empty());
  EXPECT_THAT(weighting_of(job_of(job::ModelKind::kLr, {.weights = {1, 5}}), rows, kAll).by_class, ElementsAre(1, 5));
  const job::Job balanced = job_of(job::ModelKind::kLr, {.balanced = true});
  EXPECT_THAT(weighting_of(balanced, rows, kAll).by_class, ElementsAre(DoubleNear(4.0 / 6, 1e-12), 2));
  // Only rows that are trained on count: here one of each class, and a placeholder.
  const protocol::Alignment some{{0, 3, 1}, {true, true, false}};
  EXPECT_THAT(weighting_of(balanced, rows, some).by_class, ElementsAre(1, 1));
}

TEST(Weighting, OfRowsIsOneOnAverage) {
  const PreparedRows rows = rows_with({0, 1, 0, 1}, {10, 30, 1000, 20});
  const protocol::Alignment some{{0, 1, 3, 2}, {true, true, true, false}};
  const Weighting weighting = weighting_of(job_of(job::ModelKind::kLr), rows, some);
  EXPECT_EQ(weighting.by_row[0], 0.5);
  EXPECT_EQ(weighting.by_row[1], 1.5);
  EXPECT_EQ(weighting.by_row[3], 1);
  EXPECT_THAT(message_of<DataError>([] {
                (void)weighting_of(job_of(job::ModelKind::kLr), rows_with({0, 1, 0, 1}, {0, 0, 0, 0}), kAll);
              }),
              HasSubstr("weight_column"));
}

TEST(Weighting, ThatLeavesTheAgreedRangeIsRefusedBeforehand) {
  const job::Job job = job_of(job::ModelKind::kLr, {.weights = {1, 257}});
  const std::string message = message_of<ConfigError>([&] { (void)weighting_of(job, rows_with({0, 1, 0, 1}), kAll); });
  EXPECT_THAT(message, AllOf(HasSubstr("shared.training.derivative.largest"), HasSubstr("256"), Not(HasSubstr("257"))));
  job::Job clipped = job;
  clipped.shared.training.derivative.clip = true;
  EXPECT_NO_THROW((void)weighting_of(clipped, rows_with({0, 1, 0, 1}), kAll));
}

TEST(Weighting, UnderASharedTopHasALimitForEveryRow) {
  job::Job job = job_of(job::ModelKind::kLinear);
  job.shared.model.top = protocol::Top::kShared;
  const auto said = [&](const PreparedRows& rows, const protocol::Alignment& validated) {
    return message_of<ConfigError>([&] { (void)weighting_of(job, rows, kAll, validated); });
  };
  std::vector<double> weights(40, 1.0);
  const protocol::Alignment first{{0, 1}, {true, true}};
  EXPECT_NO_THROW((void)weighting_of(job, rows_with(std::vector<double>(40), weights), kAll, first));
  // As many rows as it takes for one to be 16 times the average.
  protocol::Alignment many;
  for (std::uint32_t i = 0; i < 40; ++i) {
    many.rows.push_back(i);
    many.real.push_back(true);
  }
  weights[39] = 30;  // of 69
  EXPECT_THAT(said(rows_with(std::vector<double>(40), weights), many),
              AllOf(HasSubstr("counts less than 16 times an average one"), HasSubstr("cut off the largest weights")));
  job = job_of(job::ModelKind::kLr, {.weights = {1, 16}});
  job.shared.model.top = protocol::Top::kShared;
  EXPECT_THAT(said(rows_with({0, 1, 0, 1}), {}), HasSubstr("counts less than 16 times"));
  EXPECT_NO_THROW((void)weighting_of(job, rows_with({0, 0, 0, 0}), kAll)) << "no row of that class";
  // Rows to validate with have weights of their own: 1 on average over them.
  job = job_of(job::ModelKind::kLr);
  job.shared.model.top = protocol::Top::kShared;
  const Weighting both = weighting_of(job, rows_with({0, 1, 0, 1}, {1, 3, 2, 2}), kAll, first);
  EXPECT_THAT(both.by_row, ElementsAre(0.5, 1.5, 1, 1));
  EXPECT_THAT(both.by_validated_row, ElementsAre(0.5, 1.5, 1, 1));
}

// 1000 rows that count alike, or more that do not.
TEST(Weighting, UnderASharedTopKeepsMeanLossesFromTellingOfFewRows) {
  job::Job job = job_of(job::ModelKind::kLr);
  job.shared.model.top = protocol::Top::kShared;
  job.shared.training.row_weights = true;
  const auto with = [&](std::size_t count, const std::vector<double>& weights) {
    protocol::Alignment all;
    for (std::uint32_t i = 0; i < count; ++i) {
      all.rows.push_back(i);
      all.real.push_back(true);
    }
    (void)weighting_of(job, rows_with(std::vector<double>(weights.size()), weights), all, all);
  };
  EXPECT_NO_THROW(with(1000, std::vector<double>(1000, 3.0)));
  std::vector<double> some(2100, 1.0);
  EXPECT_NO_THROW(with(2100, some));
  std::fill_n(some.begin(), 1101, 0.0);
  EXPECT_THAT(message_of<ConfigError>([&] { with(2100, some); }),
              AllOf(HasSubstr("shared.training.validation_share: with the weights of these rows"),
                    HasSubstr("fewer than 1000 rows")));
}

TEST(ClassWords, NameThePositiveClassAndTheOrderOfWeights) {
  job::Model model;
  EXPECT_EQ(class_words(model, {"no", "yes"}), "positive class: yes; the other: no");
  EXPECT_EQ(weight_words({"no", "yes"}, {1, 2.5}), "class weights: no 1, yes 2.5");
  EXPECT_EQ(weight_words({"no", "yes"}, {}), "");
  model.kind = job::ModelKind::kMlr;
  EXPECT_EQ(class_words(model, {"a", "b", "c"}), "classes: a, b, c");
  EXPECT_EQ(class_words(model, {}), "");
}

TEST(Measures, CountRowsByTheirWeights) {
  JobModel model;
  model.family = nn::Family::kLogistic;
  const torch::Tensor scores = torch::tensor({{2.0F}, {-1.0F}, {1.0F}, {5.0F}});
  const train::WeightedLoss loss = job_loss(model, {});
  const Evaluation evaluation =
      evaluate_scores(model, loss, scores, {1, 0, 0, 1}, {3, 1, 2, 1}, {true, true, true, false}).value();
  EXPECT_THAT(evaluation.weights, ElementsAre(3, 1, 2));
  const auto values = measure({job::Metric::kAccuracy, job::Metric::kLoss, job::Metric::kLogLoss}, evaluation);
  ASSERT_EQ(values.size(), 3U);
  EXPECT_NEAR(values[0].value, 4.0 / 6, 1e-12);
  EXPECT_NEAR(values[1].value, values[2].value, 1e-6) << "the loss is the weighted mean, too";
  // A row without weight is not there.
  EXPECT_EQ(evaluate_scores(model, loss, scores, {1, 0, 0, 1}, {1, 1, 0, 1})->labels.size(), 3U);
}

TEST(AlignedRows, BringTheirWeights) {
  const data::RowsInMemory rows({IntMatrix::dense(3, 1, {10, 11, 12}, 0, 20), {0, 1, 0}});
  const std::vector<double> weights = {1, 2, 3};
  const AlignedRows aligned(rows, {{2, 0, 1}, {true, false, true}}, weights);
  const std::vector<std::uint32_t> places = {0, 1, 2};
  EXPECT_THAT(aligned.batch(places, 4).weights, ElementsAre(3, 0, 2));
}

PreparedRows rows_of(const std::vector<std::string>& ids) {
  PreparedRows rows;
  rows.rows = std::make_unique<data::RowsInMemory>(data::Dataset{IntMatrix::dense(3, 1, {1, 2, 3}, 0, 20), {}});
  rows.ids = ids;
  return rows;
}

/// What both say, or the error that both have.
std::string align_as_they_are(const std::vector<std::string>& of_a, const std::vector<std::string>& of_b) {
  const testing::PlainScheme scheme;
  blindfl::testing::TwoParties parties(scheme);
  job::Job job;
  job.shared.alignment.mode = job::AlignmentMode::kAligned;
  const auto at = [&](const std::vector<std::string>& ids) {
    return [&job, &ids](protocol::Session& session) {
      std::ostringstream out;
      try {
        EXPECT_EQ(align_rows(session, {}, job, rows_of(ids), "training rows", out).size(), 3U);
      } catch (const DataError& error) {
        return std::string(error.what());
      }
      return out.str();
    };
  };
  const auto [a, b] = parties.run(at(of_a), at(of_b));
  return a == b ? a : a + b;
}

TEST(AlignedIds, AreComparedWhereBothHaveThem) {
  EXPECT_THAT(align_as_they_are({"x", "y", "z"}, {"x", "y", "z"}), HasSubstr("the same ids in the same order"));
  for (const auto& other : {std::vector<std::string>{"y", "x", "z"}, std::vector<std::string>{"x", "y", "w"},
                            std::vector<std::string>{"xy", "", "z"}}) {
    EXPECT_THAT(align_as_they_are({"x", "y", "z"}, other),
                AllOf(HasSubstr("not about the same people in the same order"), HasSubstr("intersection"),
                      HasSubstr("id_column")));
  }
  EXPECT_THAT(align_as_they_are({"x", "y", "z"}, {}),
              AllOf(HasSubstr("the peer names no ids"), HasSubstr("only the peer names ids")));
  EXPECT_THAT(align_as_they_are({}, {}), HasSubstr("neither names ids"));
}

TEST(AlignedIds, HaveAnotherDigestInEachSession) {
  const auto digest = [] {
    const testing::PlainScheme scheme;
    blindfl::testing::TwoParties parties(scheme);
    const job::Job job;
    (void)parties.run([&](protocol::Session& session) {
      std::ostringstream out;
      return align_rows(session, {}, job, rows_of({"x", "y", "z"}), "training rows", out).size();
    });
    for (const testing::RecordedMessage& message : parties.recording(Party::kA).messages()) {
      if (message.message.step == protocol::steps::kAlignedOrder) return message.payload;
    }
    return Bytes();
  };
  const Bytes first = digest();
  EXPECT_EQ(first.size(), 32U);
  EXPECT_NE(first, digest());
}

}  // namespace
}  // namespace blindfl::app::weighting_test

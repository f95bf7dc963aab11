// What B's report draws of scores and labels, for each family of models.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blindfl/app/torch/measures.h"
#include "blindfl/app/torch/training_report.h"
#include "blindfl/base/error.h"

namespace blindfl::app::report_curves_test {
namespace {

using job::ModelKind;
using ::testing::ElementsAre;

job::Model model_of(ModelKind kind, std::size_t classes = 2) {
  job::Model model;
  model.kind = kind;
  if (classes > 2) model.classes = classes;
  return model;
}

TEST(ReportCurves, OfTwoClassesAreRocCalibrationAndTheConfusionMatrix) {
  run::RunReport report;
  const Evaluation evaluation{.predictions = {0.9, 0.2, 0.6, 0.4}, .labels = {1, 0, 0, 1}, .columns = 1};
  add_curves(model_of(ModelKind::kLr), evaluation, {"stays", "leaves"}, report);
  EXPECT_FALSE(report.roc.empty());
  EXPECT_FALSE(report.calibration.empty());
  EXPECT_THAT(report.classes.classes, ElementsAre("stays", "leaves"));
  EXPECT_THAT(report.classes.counts, ElementsAre(1, 1, 1, 1));
  EXPECT_TRUE(report.regression.actual.empty());
}

TEST(ReportCurves, OfOneClassAreTheConfusionMatrixAlone) {
  run::RunReport report;
  add_curves(model_of(ModelKind::kLr), {.predictions = {0.9, 0.2}, .labels = {1, 1}, .columns = 1}, {}, report);
  EXPECT_TRUE(report.roc.empty());
  EXPECT_THAT(report.classes.classes, ElementsAre("0", "1")) << "without names, their numbers";
  EXPECT_THAT(report.classes.counts, ElementsAre(0, 0, 1, 1));
}

TEST(ReportCurves, OfSeveralClassesTakeTheHighestProbability) {
  run::RunReport report;
  const Evaluation evaluation{
      .predictions = {0.5, 0.3, 0.2, 0.1, 0.2, 0.7, 0.4, 0.4, 0.2}, .labels = {0, 1, 1}, .columns = 3};
  add_curves(model_of(ModelKind::kMlr, 3), evaluation, {"x", "y", "z"}, report);
  EXPECT_TRUE(report.roc.empty());
  EXPECT_THAT(report.classes.counts, ElementsAre(1, 0, 0, 1, 0, 1, 0, 0, 0)) << "the first of equal ones";
  EXPECT_THROW(
      add_curves(model_of(ModelKind::kMlr, 3), {.predictions = {1, 0, 0}, .labels = {7}, .columns = 3}, {}, report),
      InvalidArgument);
}

TEST(ReportCurves, CountWeightsOfRowsWhereThereAreAny) {
  run::RunReport report;
  add_curves(model_of(ModelKind::kLr), {.predictions = {0.9, 0.2}, .labels = {1, 0}, .weights = {2.5, 1}, .columns = 1},
             {}, report);
  EXPECT_THAT(report.classes.counts, ElementsAre(1, 0, 0, 2.5));
}

TEST(ReportCurves, OfARegressionArePredictionsBesideWhatIsTrue) {
  for (const ModelKind kind : {ModelKind::kLinear, ModelKind::kPoisson}) {
    run::RunReport report;
    add_curves(model_of(kind), {.predictions = {1.5, 2.5}, .labels = {1, 3}, .columns = 1}, {}, report);
    EXPECT_THAT(report.regression.predicted, ElementsAre(1.5, 2.5));
    EXPECT_THAT(report.regression.actual, ElementsAre(1, 3));
    EXPECT_TRUE(report.classes.empty());
  }
}

TEST(ReportTitle, HasANameForEveryModel) {
  EXPECT_EQ(name_of_model(ModelKind::kLr), "Logistic regression");
  EXPECT_EQ(name_of_model(ModelKind::kDlrm), "DLRM");
  EXPECT_EQ(name_of_model(ModelKind::kFm), "Factorisation machine");
  EXPECT_EQ(name_of_model(ModelKind::kDeepfm), "DeepFM");
}

}  // namespace
}  // namespace blindfl::app::report_curves_test

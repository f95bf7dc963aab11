// ModelSS with and without GradSS train the same model; what differs is what A has of it.

#include "blindfl/lab/baselines/shared_weights.h"

#include <gtest/gtest.h>

#include "blindfl/base/error.h"
#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/nn/bridge.h"
#include "blindfl/run/metrics.h"
#include "lab/vertical_rows.h"
#include "testing/plain/plain_scheme.h"

namespace blindfl::lab::baselines::shared_weights_test {
namespace {

using torch::Tensor;

const TrainAndTest& rows() {
  static const TrainAndTest made = numeric_rows({.rows = 600, .columns_a = 6, .columns_b = 5, .seed = 3});
  return made;
}
train::TrainOptions options() {
  return {.epochs = 4, .batch = 64, .sgd = {.learning_rate = 0.1, .momentum = 0.9}};
}
SharedWeightsRun trained(const SharedWeightsSpec& spec) {
  return run_shared_weights(testing::PlainScheme(), rows().train, rows().test, spec, options());
}
double largest(const Tensor& values) {
  return values.abs().max().item<double>();
}

TEST(SharedWeights, GiveTheSameModelWithAndWithoutSharedGradients) {
  const SharedWeightsRun alone = trained({.parts = SharedParts::kWeights});
  const SharedWeightsRun both = trained({});
  EXPECT_LT(largest(alone.share_at_first - both.share_at_first), 1e-9);
  EXPECT_LT(largest(alone.weight - both.weight), 1e-3);
  EXPECT_LT(largest(alone.scores - both.scores), 1e-2);
  EXPECT_GT(run::auc(nn::to_vector(both.scores), rows().test.b.labels), 0.8);
}

TEST(SharedWeights, LeaveVAsItWasDrawnWithoutSharedGradients) {
  const SharedWeightsRun run = trained({.parts = SharedParts::kWeights});
  train::TrainOptions none = options();
  none.epochs = 0;
  const SharedWeightsRun before =
      run_shared_weights(testing::PlainScheme(), rows().train, rows().test, {.parts = SharedParts::kWeights}, none);
  EXPECT_LT(largest((run.weight - run.share) - (before.weight - before.share)), 1e-6);
  EXPECT_GT(largest(run.share - run.share_at_first), 0.05);
  EXPECT_LT(largest(run.share), 100);
}

TEST(SharedWeights, HaveUniformSharesAtAWithSharedGradients) {
  const SharedWeightsRun run = trained({});
  EXPECT_LT(largest(run.weight), 100);
  EXPECT_GT(largest(run.share), 1000 * largest(run.weight));
}

TEST(SharedWeights, ScaleVAndStillLearn) {
  train::TrainOptions none = options();
  none.epochs = 0;
  const auto v = [&](double scale) {
    const SharedWeightsRun run = run_shared_weights(testing::PlainScheme(), rows().train, rows().test,
                                                    {.parts = SharedParts::kWeights, .scale_of_v = scale}, none);
    return run.weight - run.share;
  };
  EXPECT_LT(largest(v(10) - 10 * v(1)), 1e-5);
  const SharedWeightsRun run = trained({.parts = SharedParts::kWeights, .scale_of_v = 4});
  EXPECT_GT(run::auc(nn::to_vector(run.scores), rows().test.b.labels), 0.8);
}

TEST(SharedWeights, LearnUnderASharedTop) {
  const SharedWeightsRun run =
      run_shared_weights(he::LatticeScheme(), rows().train, rows().test, {.top = protocol::Top::kShared}, options());
  EXPECT_GT(run::auc(nn::to_vector(run.scores), rows().test.b.labels), 0.8);
  EXPECT_GT(largest(run.share), 100 * largest(run.weight));
}

TEST(SharedWeights, RefuseASharedTopWithoutSharedGradients) {
  EXPECT_THROW((void)trained({.parts = SharedParts::kWeights, .top = protocol::Top::kShared}), InvalidArgument);
  EXPECT_THROW((void)trained({.scale_of_v = 0.5}), InvalidArgument);
}

}  // namespace
}  // namespace blindfl::lab::baselines::shared_weights_test

#include "blindfl/train/early_stopping.h"

#include <gtest/gtest.h>

namespace blindfl::train::early_stopping_test {
namespace {

constexpr EarlyStopping kOptions{.patience = 2, .minimum_improvement = 0.01};

TEST(EarlyStopping, TakesTheFirstModelForTheBest) {
  const StopVote vote = judge(kOptions, {}, {.name = "auc", .value = 0.5});
  EXPECT_TRUE(vote.better);
  EXPECT_FALSE(vote.enough);
  EXPECT_EQ(words_of(kOptions, {}, {.name = "auc", .value = 0.5}, 0), "watched: auc 0.5000, the best so far");
}

TEST(EarlyStopping, AsksForTheLeastImprovementInTheRightDirection) {
  const TrainingState state{.best_step = 4, .best = 0.5};
  EXPECT_FALSE(judge(kOptions, state, {.name = "auc", .value = 0.505}).better);
  EXPECT_TRUE(judge(kOptions, state, {.name = "auc", .value = 0.52}).better);
  EXPECT_FALSE(judge(kOptions, state, {.name = "loss", .value = 0.52, .larger_is_better = false}).better);
  EXPECT_TRUE(judge(kOptions, state, {.name = "loss", .value = 0.48, .larger_is_better = false}).better);
}

TEST(EarlyStopping, HasPatience) {
  TrainingState state{.step = 8, .best_step = 4, .best = 0.5};
  const Watched watched{.name = "auc", .value = 0.5};
  StopVote vote = judge(kOptions, state, watched);
  EXPECT_FALSE(vote.enough);
  note_verdict(vote, state);
  EXPECT_EQ(state.not_better, 1U);
  EXPECT_EQ(words_of(kOptions, state, watched, 1),
            "watched: auc 0.5000, not better than 0.5000 in epoch 1 for 2 of 2 epochs");
  state.step = 12;
  vote = judge(kOptions, state, watched);
  EXPECT_TRUE(vote.enough);
  note_verdict(vote, state);
  EXPECT_TRUE(state.enough);
  EXPECT_EQ(state.best_step, 4U);
}

TEST(EarlyStopping, CountsAnewAfterABetterModel) {
  TrainingState state{.step = 12, .best_step = 4, .best = 0.5, .not_better = 1};
  note_verdict(judge(kOptions, state, {.name = "auc", .value = 0.6}), state);
  EXPECT_EQ(state.best_step, 12U);
  EXPECT_EQ(state.not_better, 0U);
  EXPECT_FALSE(state.enough);
}

}  // namespace
}  // namespace blindfl::train::early_stopping_test

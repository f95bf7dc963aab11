// A model with a shared top in the same trainer and loop as every other: killed, resumed, and driven out of its range.

#include "blindfl/train/shared_learner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <stdexcept>

#include "blindfl/he/lattice/lattice_scheme.h"
#include "blindfl/run/metrics_log.h"
#include "blindfl/train/training_loop.h"
#include "nn/vertical_fixture.h"
#include "testing/scratch_folder.h"
#include "testing/thrown.h"

namespace blindfl::train::shared_learner_test {
namespace {

using nn::Family;
using protocol::Party;
using protocol::Session;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using testing::message_of;

constexpr std::size_t kBatch = 64;
constexpr std::size_t kStepsPerEpoch = 4;

struct Killed : std::runtime_error {
  Killed() : std::runtime_error("killed") {}
};

struct Course {
  std::size_t epochs = 3;
  double learning_rate = 0.2;
  std::size_t checkpoint_every = 0;
  std::size_t killed_in_step = 0;  ///< at A; 0: never
};

struct Outcome {
  std::optional<std::uint64_t> resumed{};
  std::uint64_t range_checks = 0;
  torch::Tensor scores;  ///< at B
};

class SharedTraining : public ::testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path folder_of(Party party) const {
    return scratch_ / (party == Party::kA ? "a" : "b");
  }
  [[nodiscard]] std::vector<std::string> checkpoints_of(Party party) const {
    std::vector<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(folder_of(party) / "checkpoints")) {
      names.push_back(file.path().filename());
    }
    return names;
  }

  /// Both parties from their first message to their last; what each of them threw.
  std::pair<Outcome, Outcome> attempt(const Course& course) {
    const auto channels = testing::make_channels();
    const auto as = [&](Party party, net::Channel& channel) {
      return [&, party] {
        Session session(party, channel, std::vector<const he::Scheme*>{&lattice_},
                        protocol::SessionOptions{.weight_seed = party == Party::kA ? 11 : 22});
        try {
          return train_party(session, course);
        } catch (const std::exception& error) {
          (party == Party::kA ? thrown_a_ : thrown_b_) = error.what();
          throw;
        }
      };
    };
    return protocol::run_both(as(Party::kA, *channels.first), as(Party::kB, *channels.second), [&] {
      channels.first->close();
      channels.second->close();
    });
  }

  Outcome train_party(Session& session, const Course& course) {
    const StartedRun run = start_run(session, folder_of(session.party()), {});
    const nn::SgdOptions sgd{.learning_rate = course.learning_rate, .momentum = 0.9};
    const nn::SharedTopOptions top{.batch = kBatch, .sgd = sgd};
    const nn::SharedGeneralizedLinear model(session, data_.shape, 1, nn::MatMulOptions{}, top);
    SharedLearner learner(model.ptr(), nn::SharedLoss(session, Family::kLogistic, 1, top));
    const data::RowsInMemory rows(data_.at(session.party()));
    Trainer trainer(*learner, learner->step(), rows, {.epochs = course.epochs, .batch = kBatch, .sgd = sgd});
    LoopOptions options{.checkpoint_every = course.checkpoint_every};
    options.before_step = [&, at_a = session.party() == Party::kA] {
      if (at_a && trainer.step() + 1 == course.killed_in_step) throw Killed();
    };
    TrainingLoop loop(run, *learner, trainer, options);
    std::ostringstream shown;
    RunLog log(run.folder, session, shown,
               {.resumed_after = run.resumed, .resumed_epoch = loop.epoch_of(loop.state().step)});
    loop.run(&log);
    const torch::Tensor scores = score(
        [&](const data::Batch& x) { return learner->model->open_scores(learner->model->scores(x), 14); }, rows, kBatch);
    run::RunSummary summary;
    loop.describe(summary);
    return {.resumed = run.resumed, .range_checks = summary.range_checks.inside, .scores = scores};
  }

  testing::ScratchFolder scratch_;
  he::LatticeScheme lattice_;
  nn::VerticalData data_{made_up::make_synthetic({.rows = 250, .columns_a = 3, .columns_b = 2}).joined, 3, kBatch};
  std::string thrown_a_;
  std::string thrown_b_;
};

TEST_F(SharedTraining, KilledAndResumedEndsWhereAnUndisturbedOneEnds) {
  const auto whole = attempt({});
  EXPECT_EQ(whole.second.scores.size(0), 250);
  EXPECT_EQ(whole.first.scores.size(0), 0);
  // After steps 1, 2, 4 and 8, and the last.
  EXPECT_EQ(whole.first.range_checks, 5U);
  EXPECT_EQ(whole.second.range_checks, 5U);
  for (const Party party : {Party::kA, Party::kB}) std::filesystem::remove_all(folder_of(party));
  EXPECT_THROW((void)attempt({.killed_in_step = 7}), Killed);
  const auto resumed = attempt({});
  EXPECT_EQ(resumed.first.resumed, kStepsPerEpoch);
  EXPECT_EQ(resumed.second.resumed, kStepsPerEpoch);
  EXPECT_EQ(resumed.first.range_checks, 5U) << "those before the checkpoint count, those after it once";
  EXPECT_EQ(resumed.second.range_checks, 5U);
  EXPECT_LE(nn::largest_difference(resumed.second.scores, whole.second.scores), 1e-3);
}

TEST_F(SharedTraining, WritesDownNoLossThatNobodyKnows) {
  (void)attempt({.epochs = 1});
  for (const Party party : {Party::kA, Party::kB}) {
    const auto lines = run::read_metrics(folder_of(party) / "metrics.jsonl").lines;
    EXPECT_EQ(lines.size(), kStepsPerEpoch);
    for (const run::MetricsLine& line : lines) {
      EXPECT_THAT(line.values, Each(::testing::Field(&run::Measure::name, ::testing::Ne("loss"))));
    }
  }
}

TEST_F(SharedTraining, OutOfItsRangeEndsAtBothAndLeavesTheLastGoodCheckpoint) {
  const Course far{.epochs = 2, .learning_rate = 500, .checkpoint_every = 1};
  EXPECT_THROW((void)attempt(far), nn::OutOfRange);
  for (const std::string& thrown : {thrown_a_, thrown_b_}) {
    EXPECT_THAT(thrown, AllOf(HasSubstr("after step 2: values of the scores left the interval"),
                              HasSubstr("Lower the learning rate")));
  }
  for (const Party party : {Party::kA, Party::kB}) {
    EXPECT_THAT(checkpoints_of(party),
                ::testing::UnorderedElementsAre("step-000000000000.ckpt", "step-000000000001.ckpt"))
        << "what left its range is in no checkpoint";
  }
}

}  // namespace
}  // namespace blindfl::train::shared_learner_test

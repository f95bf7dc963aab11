// Both parties train, are killed at any moment, and resume as if nothing had been: in one process, over memory.

#include "blindfl/train/training_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iomanip>
#include <numeric>
#include <sstream>
#include <stdexcept>

#include "blindfl/base/checked_file.h"
#include "blindfl/base/error.h"
#include "blindfl/run/metrics_log.h"
#include "blindfl/train/evaluation.h"
#include "nn/vertical_fixture.h"
#include "testing/scratch_folder.h"
#include "testing/thrown.h"

namespace blindfl::train::training_loop_test {
namespace {

using nn::Family;
using protocol::Party;
using protocol::Session;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;

constexpr std::size_t kBatch = 16;
constexpr std::size_t kStepsPerEpoch = 4;

/// A party's end, as sudden as in one process it can be: nobody catches it before all of the party's objects are gone.
struct Killed : std::runtime_error {
  Killed() : std::runtime_error("killed") {}
};

struct Kill {
  enum class Moment {
    kInStep,     ///< between the backward pass and the step
    kAfterStep,  ///< before what follows it: votes and the checkpoint, which the peer may write
  };
  Party party{};
  Moment moment{};
  std::size_t step = 0;
};

/// What both parties are told.
struct Course {
  std::size_t epochs = 3;
  double learning_rate = 0.2;
  LoopOptions loop{.checkpoint_every = 3};
  std::optional<Kill> kill{};
  std::optional<std::size_t> stop_after{};  ///< at A
  ResumeOptions resume{};
  bool encrypted = false;
};

/// Where a party got to.
struct Outcome {
  std::optional<std::uint64_t> resumed;
  std::uint64_t step = 0;
  std::uint64_t kept = 0;
  bool stopped = false;
  bool enough = false;
  torch::Tensor scores;  ///< of other rows by the model that is kept, at B
};

struct Outcomes {
  Outcome a;
  Outcome b;
};

torch::Tensor logistic_loss(const torch::Tensor& scores, const torch::Tensor& labels, const torch::Tensor& /*none*/) {
  return nn::loss(Family::kLogistic, scores, labels);
}

torch::Tensor probabilities(const torch::Tensor& scores) {
  return nn::predictions(Family::kLogistic, scores);
}

class ResumedTraining : public ::testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path folder_of(Party party) const {
    return scratch_ / (party == Party::kA ? "a" : "b");
  }
  [[nodiscard]] std::filesystem::path checkpoint_of(Party party, std::size_t step) const {
    std::ostringstream name;
    name << "checkpoints/step-" << std::setw(12) << std::setfill('0') << step << ".ckpt";
    return folder_of(party) / name.str();
  }
  void forget() {
    for (const Party party : {Party::kA, Party::kB}) std::filesystem::remove_all(folder_of(party));
  }

  /// Both parties, from their first message to their last.
  Outcomes attempt(const Course& course) {
    const auto channels = testing::make_channels();
    const auto as = [&](Party party, net::Channel& channel) {
      return [&, party] {
        const protocol::SessionOptions options{.weight_seed = party == Party::kA ? 11 : 22,
                                               .saved_keys = load_keys(folder_of(party))};
        Session session(party, channel, std::vector<const he::Scheme*>{&plain_, paillier_.get()}, options);
        return train_party(session, course);
      };
    };
    auto [a, b] = protocol::run_both(as(Party::kA, *channels.first), as(Party::kB, *channels.second), [&] {
      channels.first->close();
      channels.second->close();
    });
    return {std::move(a), std::move(b)};
  }
  void killed_attempt(Course course, const Kill& kill) {
    course.kill = kill;
    EXPECT_THROW((void)attempt(course), Killed);
  }
  /// The same without anything in its way, in folders that are gone afterwards.
  Outcomes undisturbed(const Course& course) {
    Outcomes outcomes = attempt(course);
    forget();
    return outcomes;
  }

  Outcome train_party(Session& session, const Course& course) {
    StartedRun run = start_run(session, folder_of(session.party()), course.resume);
    const nn::SgdOptions sgd{
        .learning_rate = course.learning_rate, .momentum = 0.9, .steps = course.epochs * kStepsPerEpoch};
    nn::MatMulOptions layer;
    if (course.encrypted) {
      layer.update = protocol::Update::kEncrypted;
      layer.scheme_a = "paillier";
      layer.sgd = sgd;
    }
    nn::GeneralizedLinear model(session, data_.shape, 1, layer);
    const Forward forward = [&](const data::Batch& x) { return model->forward(x); };
    const data::RowsInMemory rows(data_.at(session.party()));
    Trainer trainer(*model, forward, WeightedLoss(logistic_loss), rows,
                    {.epochs = course.epochs, .batch = kBatch, .sgd = sgd});
    LoopOptions options = course.loop;
    const auto dies = [&, party = session.party()](Kill::Moment moment, std::size_t step) {
      const auto& kill = course.kill;
      if (kill && kill->party == party && kill->moment == moment && kill->step == step) throw Killed();
    };
    options.before_step = [&] { dies(Kill::Moment::kInStep, trainer.step() + 1); };
    options.stop_asked = [&] {
      dies(Kill::Moment::kAfterStep, trainer.step());
      return session.party() == Party::kA && course.stop_after && trainer.step() >= *course.stop_after;
    };
    options.validate = [&]() -> std::optional<Validation> {
      const torch::Tensor scores = score(forward, others_.at(session.party()), kBatch);
      if (session.party() == Party::kA) return std::nullopt;
      const auto evaluation = evaluate_scores(logistic_loss, probabilities, scores, others_.b.labels);
      return Validation{.measures = {{"loss", evaluation->loss}},
                        .watched = {.name = "loss", .value = evaluation->loss, .larger_is_better = false}};
    };
    TrainingLoop loop(run, *model, trainer, options);
    std::ostringstream shown;
    RunLog log(run.folder, session, shown,
               {.resumed_after = run.resumed, .resumed_epoch = loop.epoch_of(loop.state().step)});
    loop.run(&log);
    if (!loop.stopped()) loop.keep_best();
    return {.resumed = run.resumed,
            .step = loop.state().step,
            .kept = loop.kept_step(),
            .stopped = loop.stopped(),
            .enough = loop.state().enough,
            .scores = score(forward, others_.at(session.party()), kBatch)};
  }

  /// Every step is in the log of each party, once.
  void check_metrics(std::uint64_t steps) const {
    for (const Party party : {Party::kA, Party::kB}) {
      std::vector<std::uint64_t> expected(steps);
      std::iota(expected.begin(), expected.end(), 1U);
      std::vector<std::uint64_t> trained;
      for (const run::MetricsLine& line : run::read_metrics(folder_of(party) / "metrics.jsonl").lines) {
        if (line.set == "train") trained.push_back(line.step);
      }
      EXPECT_EQ(trained, expected);
    }
  }
  static void expect_same(const Outcomes& resumed, const Outcomes& whole) {
    EXPECT_EQ(resumed.a.step, whole.a.step);
    EXPECT_EQ(resumed.b.step, whole.b.step);
    EXPECT_EQ(resumed.a.kept, whole.a.kept);
    EXPECT_EQ(resumed.b.kept, whole.b.kept);
    EXPECT_LE(nn::largest_difference(resumed.b.scores, whole.b.scores), 1e-3);
  }

  testing::ScratchFolder scratch_;
  testing::PlainScheme plain_;
  std::unique_ptr<he::Scheme> paillier_ = testing::make_scheme("paillier");
  nn::VerticalData data_{made_up::make_synthetic({.rows = 60, .columns_a = 3, .columns_b = 2}).joined, 3, kBatch};
  nn::VerticalData others_{made_up::make_synthetic({.rows = 40, .columns_a = 3, .columns_b = 2, .seed = 2}).joined, 3,
                           kBatch};
};

TEST_F(ResumedTraining, KilledAtAnyMomentEndsWhereAnUndisturbedOneEnds) {
  const Course course;
  const Outcomes whole = undisturbed(course);
  EXPECT_EQ(whole.a.step, 12U);
  EXPECT_EQ(whole.a.resumed, std::nullopt);
  for (const Party party : {Party::kA, Party::kB}) {
    for (const auto moment : {Kill::Moment::kInStep, Kill::Moment::kAfterStep}) {
      for (std::size_t step = 1; step <= 12; ++step) {
        SCOPED_TRACE(std::string(name_of(party)) + ", step " + std::to_string(step));
        killed_attempt(course, {party, moment, step});
        const Outcomes resumed = attempt(course);
        ASSERT_TRUE(resumed.a.resumed.has_value());
        EXPECT_EQ(resumed.a.resumed, resumed.b.resumed);
        EXPECT_GE(*resumed.a.resumed + 3, step - 1) << "no more is lost than a checkpoint";
        expect_same(resumed, whole);
        check_metrics(12);
        forget();
      }
    }
  }
}

TEST_F(ResumedTraining, MayBeKilledAgainAndAgain) {
  const Course course;
  const Outcomes whole = undisturbed(course);
  for (std::size_t step = 3; step <= 12; ++step) {
    killed_attempt(course, {step % 2 == 0 ? Party::kA : Party::kB, Kill::Moment::kAfterStep, step});
  }
  expect_same(attempt(course), whole);
  check_metrics(12);
  // And once more when all is done.
  const Outcomes again = attempt(course);
  EXPECT_EQ(again.b.resumed, 12U);
  expect_same(again, whole);
}

TEST_F(ResumedTraining, UnderEncryptionNeedsTheSavedKeysAndHasThem) {
  Course course;
  course.encrypted = true;
  const Outcomes whole = undisturbed(course);
  killed_attempt(course, {Party::kA, Kill::Moment::kInStep, 6});
  killed_attempt(course, {Party::kB, Kill::Moment::kAfterStep, 9});
  expect_same(attempt(course), whole);
}

TEST_F(ResumedTraining, StopsAtBothWhereOneWantsToAndGoesOnThere) {
  Course course;
  const Outcomes whole = undisturbed(course);
  Course stopped = course;
  stopped.stop_after = 5;
  const Outcomes there = attempt(stopped);
  EXPECT_TRUE(there.a.stopped);
  EXPECT_TRUE(there.b.stopped);
  EXPECT_EQ(there.a.step, 8U) << "votes come every 8 steps, and at the end of an epoch";
  EXPECT_EQ(there.b.step, 8U);
  const Outcomes resumed = attempt(course);
  EXPECT_EQ(resumed.a.resumed, 8U);
  EXPECT_FALSE(resumed.a.stopped);
  expect_same(resumed, whole);
}

TEST_F(ResumedTraining, StopsEarlyAtBothAndKeepsTheBestAlsoAfterKills) {
  Course course;
  course.epochs = 30;
  course.learning_rate = 1;
  course.loop.early_stopping = {.patience = 2, .minimum_improvement = 0.01};
  const Outcomes whole = undisturbed(course);
  EXPECT_TRUE(whole.a.enough);
  EXPECT_TRUE(whole.b.enough);
  EXPECT_LT(whole.b.step, 120U);
  EXPECT_EQ(whole.b.kept, whole.b.step - 2 * kStepsPerEpoch) << "the best is two epochs old";
  for (std::size_t step = kStepsPerEpoch; step <= whole.b.step; step += kStepsPerEpoch) {
    const Party party = step % 8 == 0 ? Party::kA : Party::kB;
    killed_attempt(course, {party, step % 12 == 0 ? Kill::Moment::kInStep : Kill::Moment::kAfterStep, step});
  }
  expect_same(attempt(course), whole);
}

TEST_F(ResumedTraining, BeginsAtTheNewestStepThatBothHave) {
  Course course;
  course.loop.keep = 10;
  const Outcomes whole = undisturbed(course);
  killed_attempt(course, {Party::kA, Kill::Moment::kInStep, 11});
  ASSERT_TRUE(std::filesystem::exists(checkpoint_of(Party::kA, 9)));
  std::filesystem::remove(checkpoint_of(Party::kB, 9));
  const Outcomes resumed = attempt(course);
  EXPECT_EQ(resumed.a.resumed, 8U);
  expect_same(resumed, whole);
  EXPECT_TRUE(std::filesystem::exists(folder_of(Party::kA) / "checkpoints/superseded/step-000000000009.ckpt"))
      << "what the peer lacks is set aside: shares of two attempts never meet";
}

TEST_F(ResumedTraining, RefusesADamagedCheckpointAndGoesOnWithoutIt) {
  const Course course;
  const Outcomes whole = undisturbed(course);
  killed_attempt(course, {Party::kB, Kill::Moment::kInStep, 11});
  const std::filesystem::path newest = checkpoint_of(Party::kB, 9);
  std::string content = testing::content_of(newest);
  content[content.size() / 2] = static_cast<char>(content[content.size() / 2] ^ 1);
  std::ofstream(newest, std::ios::binary) << content;
  EXPECT_THAT(message_of<DataError>([&] { (void)attempt(course); }),
              AllOf(HasSubstr("step-000000000009.ckpt"), HasSubstr("damaged")));
  std::filesystem::remove(newest);
  const Outcomes resumed = attempt(course);
  EXPECT_EQ(resumed.b.resumed, 8U);
  expect_same(resumed, whole);
}

TEST_F(ResumedTraining, ReadsCheckpointsWithoutACountOfRangeChecks) {
  // What is before it: steps, seconds, the best, verdicts and traffic.
  constexpr std::size_t kCount = 74;
  const Course course;
  const Outcomes whole = undisturbed(course);
  killed_attempt(course, {Party::kB, Kill::Moment::kInStep, 11});
  for (const Party party : {Party::kA, Party::kB}) {
    const std::filesystem::path path = checkpoint_of(party, 9);
    const run::RunSummary summary = run::read_summary(folder_of(party));
    const std::string owner = run::RunFolder::reopen(folder_of(party), party, summary.run).owner();
    SecretVector<std::byte> content = read_checked(path, {.kind = "checkpoint", .version = 2, .owner = owner}).bytes;
    content.erase(content.begin() + kCount, content.begin() + kCount + sizeof(std::uint64_t));
    write_atomically(path, {.kind = "checkpoint", .version = 1, .owner = owner}, content);
  }
  const Outcomes resumed = attempt(course);
  EXPECT_EQ(resumed.a.resumed, 9U);
  expect_same(resumed, whole);
}

TEST_F(ResumedTraining, GoesBackBehindSeveralCheckpointsOnlyIfToldTo) {
  Course course;
  course.loop.keep = 10;
  const Outcomes whole = undisturbed(course);
  killed_attempt(course, {Party::kB, Kill::Moment::kInStep, 11});
  for (const std::size_t step : {6, 8, 9}) std::filesystem::remove(checkpoint_of(Party::kB, step));
  EXPECT_THAT(message_of<ConfigError>([&] { (void)attempt(course); }),
              AllOf(HasSubstr("up to step 9, the peer up to step 4"), HasSubstr("ResumeOptions::go_back")));
  EXPECT_TRUE(std::filesystem::exists(checkpoint_of(Party::kA, 9))) << "nothing is touched";
  course.resume.go_back = true;
  const Outcomes resumed = attempt(course);
  EXPECT_EQ(resumed.a.resumed, 4U);
  expect_same(resumed, whole);
}

TEST_F(ResumedTraining, BeginsAnewWhereNothingWasTrained) {
  const Course course;
  const Outcomes whole = undisturbed(course);
  // Killed while it made its folder, and when it had just made it.
  std::filesystem::create_directories(folder_of(Party::kA) / "checkpoints");
  std::ofstream lock(folder_of(Party::kA) / "run.lock");
  lock.close();
  (void)run::RunFolder::create(folder_of(Party::kB), {.party = Party::kB, .run = "r"});
  const Outcomes begun = attempt(course);
  EXPECT_EQ(begun.a.resumed, std::nullopt);
  expect_same(begun, whole);
}

TEST_F(ResumedTraining, RemovesWhatAKilledProcessLeftHalfWritten) {
  const Course course;
  killed_attempt(course, {Party::kA, Kill::Moment::kInStep, 7});
  const std::filesystem::path half = folder_of(Party::kA) / "checkpoints/.step-000000000006.ckpt.1-0.blindfl-part";
  std::ofstream(half) << "half";
  EXPECT_EQ(attempt(course).a.step, 12U);
  EXPECT_FALSE(std::filesystem::exists(half));
}

TEST_F(ResumedTraining, RefusesFoldersThatAreNotItsOwn) {
  const Course course;
  (void)attempt(course);
  EXPECT_THAT(message_of<ConfigError>([&] { (void)open_run(folder_of(Party::kB), Party::kA); }),
              HasSubstr("belongs to party B"));
  std::filesystem::remove_all(folder_of(Party::kB));
  EXPECT_THAT(message_of<ConfigError>([&] { (void)attempt(course); }),
              AllOf(HasSubstr("nothing that both parties can resume"), HasSubstr("name the folder of the same run")));
  EXPECT_TRUE(std::filesystem::exists(checkpoint_of(Party::kA, 12))) << "steps are not thrown away";
  std::filesystem::create_directory(folder_of(Party::kB));
  std::ofstream(folder_of(Party::kB) / "letter.txt") << "dear";
  EXPECT_THAT(message_of<ConfigError>([&] { (void)open_run(folder_of(Party::kB), Party::kB); }),
              HasSubstr("is not the folder of a run; name another folder"));
}

TEST_F(ResumedTraining, RefusesAFolderThatIsInUse) {
  const Course course;
  (void)attempt(course);
  const auto open = open_run(folder_of(Party::kA), Party::kA);
  EXPECT_THAT(message_of<ConfigError>([&] { (void)attempt(course); }), HasSubstr("another process"));
}

}  // namespace
}  // namespace blindfl::train::training_loop_test

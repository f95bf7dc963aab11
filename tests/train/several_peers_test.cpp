// B with two A's: all begin, stop and resume together, though an A hears B alone. In one process, over memory.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <future>
#include <stdexcept>

#include "blindfl/base/error.h"
#include "blindfl/base/int128.h"
#include "blindfl/protocol/session/output_masks.h"
#include "blindfl/train/training_loop.h"
#include "nn/vertical_fixture.h"
#include "testing/scratch_folder.h"
#include "testing/several_parties.h"

namespace blindfl::train::several_peers_test {
namespace {

using nn::Family;
using protocol::Party;
using protocol::Peer;
using protocol::Session;
using ::testing::HasSubstr;

constexpr std::size_t kBatch = 16;
/// The parties; the two A's are the first and second peer of B.
constexpr std::size_t kFirst = 0;
constexpr std::size_t kSecond = 1;
constexpr std::size_t kOfB = 2;

/// When the A's take a mask each: the two cancel only if both are told to be at the same step.
enum class Moment { kNever, kBegun, kTraining, kValidating, kOver, kKept };

struct Course {
  std::optional<std::size_t> stops{};   ///< who wants to stop after step 5
  std::optional<std::size_t> killed{};  ///< who is killed in step 7
  bool encrypted = false;
  bool validated = false;
  std::array<Moment, 2> mask_at{};                ///< of the A's; in the first epoch
  std::optional<std::uint64_t> told_to_resume{};  ///< the second A, by a B that lies
};

/// How a party ended.
struct Outcome {
  std::string error;
  std::optional<std::uint64_t> resumed;
  std::uint64_t step = 0;
  bool stopped = false;
  torch::Tensor scores;               ///< at B
  std::vector<std::uint64_t> mask{};  ///< at A
};
using Outcomes = std::array<Outcome, 3>;

class SeveralPeers : public ::testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path folder_of(std::size_t who) const {
    return scratch_ / std::array{"a1", "a2", "b"}.at(who);
  }
  void forget() {
    for (const std::size_t who : {kFirst, kSecond, kOfB}) std::filesystem::remove_all(folder_of(who));
  }

  /// All parties, from their first message to their last.
  Outcomes attempt(const Course& course) {
    const std::array<Link, 2> links = {net::make_memory_channels(), net::make_memory_channels()};
    Outcomes outcomes;
    const auto caught = [&](std::size_t who, const std::function<Outcome()>& party) {
      try {
        outcomes.at(who) = party();
      } catch (const std::exception& error) {
        outcomes.at(who).error = error.what();
      }
    };
    const auto at_a = [&](std::size_t who) {
      Peer b(Party::kA, links.at(who).first, schemes(),
             {.weight_seed = 11 + who, .saved_keys = load_keys(folder_of(who))});
      return train_party({&b.session()}, who, course);
    };
    const auto at_b = [&] {
      Peer first(Party::kB, links[0].second, schemes(),
                 {.weight_seed = 22, .saved_keys = load_keys(folder_of(kOfB)), .peer_name = "a1"});
      Peer second(Party::kB, links[1].second, schemes(),
                  {.weight_seed = 23, .saved_keys = load_keys(folder_of(kOfB), 2), .peer_name = "a2"});
      return train_party({&first.session(), &second.session()}, kOfB, course);
    };
    auto first = std::async(std::launch::async, [&] { caught(kFirst, [&] { return at_a(kFirst); }); });
    auto second = std::async(std::launch::async, [&] { caught(kSecond, [&] { return at_a(kSecond); }); });
    caught(kOfB, at_b);
    first.wait();
    second.wait();
    return outcomes;
  }
  Outcomes undisturbed(const Course& course = {}) {
    Outcomes outcomes = attempt(course);
    forget();
    return outcomes;
  }

  Outcome train_party(const std::vector<Session*>& sessions, std::size_t who, const Course& course) {
    const StartedRun run = start_run(protocol::Sessions(sessions), folder_of(who));
    std::vector<std::uint64_t> mask;
    const auto look = [&](Moment moment) {
      if (who == kOfB || course.mask_at.at(who) != moment || !mask.empty()) return;
      const auto taken = sessions.front()->output_masks()->next({4, 4, 62});
      mask.assign(taken.begin(), taken.end());
    };
    const nn::SgdOptions sgd{.learning_rate = 0.2, .momentum = 0.9, .steps = 12};
    nn::MatMulOptions layer;
    if (course.encrypted) {
      layer.update = protocol::Update::kEncrypted;
      layer.scheme_a = "paillier";
      layer.sgd = sgd;
    }
    if (who == kOfB) {
      protocol::agree_on_masks(protocol::Sessions(sessions), run.folder.summary().run, testing::names_of_as(2));
    } else {
      protocol::agree_on_masks(*sessions.front(), testing::mask_party(who, 2, run.folder.summary().run));
    }
    nn::FeatureShape shape = data_.shape;
    shape.in_others = shape.in_a;
    nn::GeneralizedLinear model(protocol::Sessions(sessions), shape, std::size_t{1}, layer);
    const Forward forward = [&](const data::Batch& x) { return model->forward(x); };
    const Loss loss = [](const torch::Tensor& scores, const torch::Tensor& labels) {
      return nn::loss(Family::kLogistic, scores, labels);
    };
    const data::Dataset& rows = who == kOfB ? data_.b : data_.a;
    const data::RowsInMemory source(rows);
    Trainer trainer(*model, forward, loss, source, {.epochs = 3, .batch = kBatch, .sgd = sgd});
    LoopOptions options{.checkpoint_every = 3};
    options.stop_asked = [&] { return course.stops == who && trainer.step() >= 5; };
    options.before_step = [&] {
      if (course.killed == who && trainer.step() == 6) throw std::runtime_error("killed");
      if (trainer.step() == 3) look(Moment::kTraining);
    };
    if (course.validated) {
      options.validate = [&]() -> std::optional<Validation> {
        look(Moment::kValidating);
        (void)score(forward, rows, kBatch);
        return std::nullopt;
      };
    }
    TrainingLoop loop(run, *model, trainer, options);
    if (who == kSecond && course.told_to_resume) {
      const std::string words = "begun after step " + std::to_string(*course.told_to_resume);
      protocol::bind_outputs(*sessions.front(), "run", as_bytes(words));
    }
    look(Moment::kBegun);
    if (course.told_to_resume) {
      for (Session* session : sessions) session->settle();
      (void)exchange_votes(protocol::Sessions(sessions), 0, {});
      return {.error = {}, .resumed = run.resumed, .scores = {}, .mask = std::move(mask)};
    }
    loop.run();
    look(Moment::kOver);
    loop.keep_best();
    look(Moment::kKept);
    return {.error = {},
            .resumed = run.resumed,
            .step = loop.state().step,
            .stopped = loop.stopped(),
            .scores = score(forward, rows, kBatch),
            .mask = std::move(mask)};
  }

  static bool masks_cancel(const Outcomes& outcomes) {
    for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.error, "");
    const std::vector<std::uint64_t>& first = outcomes[kFirst].mask;
    const std::vector<std::uint64_t>& second = outcomes[kSecond].mask;
    EXPECT_EQ(first.size(), 16U);
    EXPECT_EQ(second.size(), 16U);
    return std::ranges::equal(
        first, second, [](std::uint64_t a, std::uint64_t b) { return low_bits(UInt128{a} + UInt128{b}, 62) == 0; });
  }

  static void expect_resumed(const Outcomes& resumed, std::uint64_t step, const Outcomes& whole) {
    for (const Outcome& outcome : resumed) {
      EXPECT_EQ(outcome.error, "");
      EXPECT_EQ(outcome.resumed, step);
      EXPECT_EQ(outcome.step, 12U);
    }
    ASSERT_TRUE(resumed[kOfB].scores.defined());
    EXPECT_LE(nn::largest_difference(resumed[kOfB].scores, whole[kOfB].scores), 1e-3);
  }

  using Link = std::pair<std::shared_ptr<net::Channel>, std::shared_ptr<net::Channel>>;
  [[nodiscard]] he::Schemes schemes() const { return he::borrowed({&plain_, paillier_.get()}); }

  testing::ScratchFolder scratch_;
  testing::PlainScheme plain_;
  std::unique_ptr<he::Scheme> paillier_ = testing::make_scheme("paillier");
  nn::VerticalData data_{made_up::make_synthetic({.rows = 60, .columns_a = 3, .columns_b = 2}).joined, 3, kBatch};
};

TEST_F(SeveralPeers, StopWhereOneOfThemWantsToAndGoOnThere) {
  const Outcomes whole = undisturbed();
  for (const std::size_t who : {kFirst, kSecond, kOfB}) {
    SCOPED_TRACE(who);
    for (const Outcome& outcome : attempt({.stops = who})) {
      EXPECT_EQ(outcome.error, "");
      EXPECT_TRUE(outcome.stopped);
      EXPECT_EQ(outcome.step, 8U) << "votes come every 8 steps, and at the end of an epoch";
    }
    expect_resumed(attempt({}), 8, whole);
    forget();
  }
}

TEST_F(SeveralPeers, ResumeAsIfNoneHadBeenKilled) {
  for (const bool encrypted : {false, true}) {
    SCOPED_TRACE(encrypted);
    const Outcomes whole = undisturbed({.encrypted = encrypted});
    for (const Outcome& outcome : attempt({.killed = kSecond, .encrypted = encrypted})) EXPECT_NE(outcome.error, "");
    EXPECT_EQ(std::filesystem::exists(folder_of(kOfB) / "keys-2.bin"), encrypted) << "one for each peer";
    expect_resumed(attempt({.encrypted = encrypted}), 6, whole);
    forget();
  }
}

TEST_F(SeveralPeers, HaveMasksOfTheirStep) {
  for (const Moment moment : {Moment::kBegun, Moment::kTraining, Moment::kValidating, Moment::kOver, Moment::kKept}) {
    SCOPED_TRACE(static_cast<int>(moment));
    EXPECT_TRUE(masks_cancel(attempt({.validated = true, .mask_at = {moment, moment}})));
    forget();
  }
  // Both A's take their masks after as many openings, and then one thinks that it validates, or that training is over.
  EXPECT_FALSE(masks_cancel(attempt({.validated = true, .mask_at = {Moment::kTraining, Moment::kValidating}})));
  forget();
  EXPECT_FALSE(masks_cancel(attempt({.mask_at = {Moment::kOver, Moment::kKept}})));
}

TEST_F(SeveralPeers, HaveOtherMasksWhereOneIsToldToResumeAtAnotherStep) {
  (void)attempt({.stops = kOfB});  // checkpoints after steps 6 and 8
  EXPECT_TRUE(masks_cancel(attempt({.mask_at = {Moment::kBegun, Moment::kBegun}, .told_to_resume = 8})));
  EXPECT_FALSE(masks_cancel(attempt({.mask_at = {Moment::kBegun, Moment::kBegun}, .told_to_resume = 6})));
}

TEST_F(SeveralPeers, KnowTheirRunByOneName) {
  (void)attempt({});
  const std::string name = run::read_summary(folder_of(kOfB)).run;
  EXPECT_EQ(name.size(), 32U);
  EXPECT_EQ(run::read_summary(folder_of(kFirst)).run, name);
  EXPECT_EQ(run::read_summary(folder_of(kSecond)).run, name);
}

TEST_F(SeveralPeers, AreToldWhichOfThemHasAnotherRun) {
  (void)attempt({});
  const std::string run = "run " + run::read_summary(folder_of(kOfB)).run + " up to step 12";
  std::filesystem::remove_all(folder_of(kSecond));
  const Outcomes refused = attempt({});
  EXPECT_THAT(refused[kOfB].error, HasSubstr("nothing that all parties can resume: here is " + run + ", at a1 " + run +
                                             ", at a2 no run; name the folder of the same run"));
  EXPECT_THAT(refused[kFirst].error, HasSubstr("here is " + run +
                                               ", at the peer no run that all of its peers have, since a2 has another; "
                                               "name the folder"));
  EXPECT_THAT(refused[kSecond].error,
              HasSubstr("here is no run, at the peer no run that all of its peers have, since a2 has another"));
  EXPECT_FALSE(std::filesystem::exists(folder_of(kSecond))) << "nothing begins";
}

TEST_F(SeveralPeers, AreThoseOfBAlone) {
  testing::TwoParties one(plain_, testing::Record::kNo);
  testing::TwoParties other(plain_, testing::Record::kNo);
  const auto both = [&](Party party) { return protocol::Sessions({&one.session(party), &other.session(party)}); };
  EXPECT_THROW((void)both(Party::kA), InvalidArgument);
  EXPECT_THROW((void)protocol::Sessions(std::vector<Session*>()), InvalidArgument);
  EXPECT_EQ(protocol::Sessions(one.session(Party::kA)).id(), one.session(Party::kB).id());
  EXPECT_NE(both(Party::kB).id(), one.session(Party::kB).id());
  EXPECT_EQ(both(Party::kB).sent(), net::total(one.session(Party::kB).channel().sent()) +
                                        net::total(other.session(Party::kB).channel().sent()));
}

}  // namespace
}  // namespace blindfl::train::several_peers_test

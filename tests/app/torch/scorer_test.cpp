// A finished model is loaded from its folder and asked as often as one likes, without a trainer and without processes.

#include "blindfl/app/torch/scorer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blindfl/app/plan/job_layers.h"
#include "blindfl/base/error.h"
#include "blindfl/train/trainer.h"
#include "testing/scratch_folder.h"
#include "testing/thrown.h"
#include "testing/two_parties.h"

namespace blindfl::app::scorer_test {
namespace {

using ::testing::HasSubstr;

/// Three rows of two columns at each party.
class FinishedModel : public ::testing::Test {
 protected:
  FinishedModel() {
    (void)scratch_.write("a.csv", "x,y\n1,0\n0,1\n1,1\n");
    (void)scratch_.write("b.csv", "z,label\n0.5,1\n-1,0\n2,1\n");
    for (const Party party : {Party::kA, Party::kB}) std::filesystem::create_directories(folder_of(party) / "model");
  }
  [[nodiscard]] std::filesystem::path folder_of(Party party) const {
    return scratch_ / (party == Party::kA ? "run_a" : "run_b");
  }
  [[nodiscard]] job::Job job_of(Party party) const {
    job::Job job;
    job.shared.model.top = protocol::Top::kOpen;
    job.shared.training.batch = 2;
    job.shared.training.epochs = 1;
    job.shared.alignment.mode = job::AlignmentMode::kAligned;
    job.own.party = party;
    job.own.data.train = scratch_ / (party == Party::kA ? "a.csv" : "b.csv");
    job.own.data.format = prepare::FileFormat::kCsv;
    job.own.data.default_kind = data::ColumnKind::kNumeric;
    if (party == Party::kB) job.own.data.label_column = "label";
    return job;
  }

  /// What a training leaves: the model's folder at both parties. Returns the scores that it gives B.
  torch::Tensor save() {
    const job::Shared shared = job_of(Party::kA).shared;
    const Preparation a = job::fit_preparation(job_of(Party::kA));
    const Preparation b = job::fit_preparation(job_of(Party::kB));
    testing::TwoParties parties(pointers_to(schemes_), testing::Record::kNo);
    const auto scores = parties.run([&](protocol::Session& s) {
      const ModelFacts facts{.run = "r",
                             .party = s.party(),
                             .step = 3,
                             .rows = 3,
                             .trained = 3,
                             .shared = shared,
                             .shapes_a = a.shape(),
                             .shape_b = b.shape()};
      const JobModel model = make_model(s, shared.model, job_layers(shared, a.shape(), b.shape(), 3));
      Random random = s.random();
      const auto masks = protocol::MaskKey::draw(random, facts.name());
      save_preparation(folder_of(s.party()) / "model", s.party() == Party::kA ? a : b);
      train::save_keys(folder_of(s.party()) / "model", s);
      save_model(folder_of(s.party()) / "model", facts, masks, model);
      const protocol::RepeatableScoring repeatable(s, masks);
      const PreparedRows rows = rows_of(s.party() == Party::kA ? a : b, s.party());
      return train::score(model.forward, *rows.rows, 2);
    });
    return scores.second;
  }
  [[nodiscard]] PreparedRows rows_of(const Preparation& preparation, Party party) const {
    return preparation.read(*job_of(party).own.data.train, Labels::kNone, scratch_.path());
  }

  testing::ScratchFolder scratch_;
  he::Schemes schemes_ = job_schemes({});
};

TEST_F(FinishedModel, ScoresAsItDidWhenItWasSavedAsOftenAsItIsAsked) {
  const torch::Tensor expected = save();
  ASSERT_EQ(expected.size(0), 3);
  const LoadedModel a = LoadedModel::from(folder_of(Party::kA), Party::kA);
  const LoadedModel b = LoadedModel::from(folder_of(Party::kB), Party::kB);
  testing::TwoParties parties(pointers_to(schemes_), testing::make_channels(), testing::Record::kNo,
                              {a.keys.front(), b.keys.front()});
  const auto scores = parties.run([&](protocol::Session& s) {
    const LoadedModel& loaded = s.party() == Party::kA ? a : b;
    const PreparedRows rows = rows_of(loaded.preparation, s.party());
    const Scorer scorer(s, loaded);
    return std::pair(scorer.score(*rows.rows), scorer.score(*rows.rows));
  });
  EXPECT_EQ(scores.first.first.size(0), 0) << "the scores are B's alone";
  EXPECT_TRUE(torch::equal(scores.second.first, expected));
  EXPECT_TRUE(torch::equal(scores.second.second, expected));
}

TEST_F(FinishedModel, OfTheOtherPartyIsRefused) {
  (void)save();
  EXPECT_THAT(testing::message_of<ConfigError>([&] { (void)LoadedModel::from(folder_of(Party::kA), Party::kB); }),
              HasSubstr("the other party's shares"));
  EXPECT_THAT(testing::message_of<ConfigError>([&] { (void)LoadedModel::from(scratch_.path(), Party::kB); }),
              HasSubstr("there is no model"));
}

}  // namespace
}  // namespace blindfl::app::scorer_test

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "blindfl/app/job/job.h"

namespace blindfl::app::job::shared_settings_test {
namespace {

using protocol::Settings;
using ::testing::HasSubstr;

std::string differences(const Shared& mine, const Shared& theirs) {
  return Settings::differences(shared_settings(mine), shared_settings(theirs));
}

TEST(SharedSettings, NameWhatDiffersWithBothValues) {
  const Shared mine;
  Shared theirs;
  EXPECT_EQ(shared_settings(mine), shared_settings(theirs));
  EXPECT_EQ(differences(mine, theirs), "");
  theirs.training.epochs = 5;
  theirs.model.hidden = {64};
  theirs.model.initial_deviation = 0.5;
  theirs.scheme.update = protocol::Update::kEncrypted;
  theirs.training.schedule = {{.epoch = 3, .learning_rate = 0.01}};
  EXPECT_EQ(
      differences(mine, theirs),
      "model.hidden is [64, 32] here and [64] at the peer; model.initial_deviation is none here and 0.5 at the peer; "
      "training.epochs is none here and 5 at the peer; training.schedule is [] here and "
      "[{epoch: 3, learning_rate: 0.01}] at the peer; scheme.update is auto here and encrypted at the peer");
}

TEST(SharedSettings, TellNumbersApartThatLookAlike) {
  Shared mine;
  Shared theirs;
  mine.training.learning_rate = 0.1;
  theirs.training.learning_rate = 0.1 + 0x1p-55;
  EXPECT_THAT(differences(mine, theirs), HasSubstr("training.learning_rate"));
}

TEST(SharedSettings, OfLongListsReachThePeerInWords) {
  Shared mine;
  for (std::size_t i = 1; i <= 64; ++i) mine.training.schedule.push_back({.step = i * 1000, .learning_rate = 1.0 / 3});
  mine.model.hidden.assign(16, 65536);
  mine.model.dlrm.bottom.assign(16, 65536);
  mine.model.dlrm.top.assign(16, 65536);
  EXPECT_LE(shared_settings(mine).text().size(), 3000U) << "Session cuts its words at 4096 bytes";
  Shared theirs = mine;
  theirs.training.schedule.back().learning_rate = 0.25;
  EXPECT_THAT(differences(mine, theirs),
              HasSubstr("training.schedule is [{step: 1000, learning_rate: 0.3333333333333333}"))
      << "a change at the end of the list shows in its digest";
}

TEST(SharedSettings, HaveEveryOptionOfTheSection) {
  const Shared shared;
  const std::string text = shared_settings(shared).text();
  for (const std::string line :
       {"model.kind: lr\n", "model.classes: none\n", "model.dlrm.vectors: 8\n", "training.early_stopping.patience: 0\n",
        "training.derivative.clip: false\n", "scheme.security: 112\n", "scheme.default: lattice\n",
        "scheme.allowed: [lattice, paillier]\n", "alignment.mode: aligned\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

}  // namespace
}  // namespace blindfl::app::job::shared_settings_test

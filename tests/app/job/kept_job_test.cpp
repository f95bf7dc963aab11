#include "blindfl/app/job/kept_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blindfl/base/error.h"
#include "testing/job_text.h"
#include "testing/scratch_folder.h"

namespace blindfl::app::job::kept_job_test {
namespace {

using blindfl::testing::edited_job;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Job job_with(const std::vector<std::string>& overrides, std::string_view text = blindfl::testing::kJobText) {
  return parse_job(text, {.source = "job.yaml", .folder = "/data/jobs"}, overrides);
}

TEST(KeptJob, HasEveryOptionInEffectAndComesBack) {
  const Job job = job_with({"shared.training.epochs=7", "shared.training.schedule=[{epoch: 3, learning_rate: 0.01}]",
                            "private.top.metrics=[auc, loss]", "private.data.columns=[{name: age, transform: log}]"});
  const std::string text = kept_text(job);
  EXPECT_THAT(text, HasSubstr("\n    epochs: 7\n")) << "--set";
  EXPECT_THAT(text, HasSubstr("\n    batch: 128\n")) << "a default";
  EXPECT_THAT(text, HasSubstr("\n    train: /data/jobs/b.csv\n"));
  EXPECT_EQ(parse_kept(text, "kept"), job);
  EXPECT_THAT(changes(parse_kept(text, "kept"), job), IsEmpty());
}

TEST(KeptJob, KeepsNoSecret) {
  const Job job =
      job_with({"private.run.weight_seed=987654321"},
               edited_job("    plaintext: true\n", "    certificate: b.crt\n    key: b-secret.key\n    peer: a.crt\n"));
  const std::string text = kept_text(job);
  EXPECT_THAT(text, Not(HasSubstr("987654321")));
  EXPECT_THAT(text, Not(HasSubstr("b-secret")));
  EXPECT_THAT(text, HasSubstr("# weight_seed: secret, and not kept"));
  const Job back = parse_kept(text, "kept");
  EXPECT_FALSE(back.own.run.weight_seed.has_value());
  EXPECT_THAT(changes(back, job), IsEmpty()) << "what is not kept is not compared";
}

TEST(KeptJob, OfAModelIsTheSectionSharedLineByLine) {
  const Shared shared =
      job_with({"shared.training.schedule=[{epoch: 3, learning_rate: 0.01}]", "shared.model.dlrm.vectors=3"}).shared;
  const std::string text = kept_shared(shared);
  EXPECT_THAT(text, HasSubstr("\nmodel.dlrm.vectors=3\n"));
  EXPECT_THAT(text, HasSubstr("\ntraining.schedule=[{epoch: 3, learning_rate: 0.01}]\n"));
  EXPECT_EQ(parse_kept_shared(text), shared);
  EXPECT_THROW((void)parse_kept_shared(text.substr(0, text.size() - 1)), DataError);
}

TEST(KeptJob, OfATimeWhenEveryTopWasOpenHasAnOpenOne) {
  const Shared shared = parse_kept_shared("model.kind=lr\nalignment.mode=aligned\n");
  EXPECT_EQ(shared.model.top, protocol::Top::kOpen) << "whatever the default is now";
  EXPECT_EQ(parse_kept("shared: {model: {kind: lr}, alignment: {mode: aligned}}\nprivate: {party: a}\n", "kept")
                .shared.model.top,
            protocol::Top::kOpen);
  Shared on_shares = shared;
  on_shares.model.top = protocol::Top::kShared;
  EXPECT_EQ(parse_kept_shared(kept_shared(on_shares)), on_shares);
}

TEST(KeptJob, NamesWhatChanged) {
  const Job was = job_with({});
  EXPECT_THAT(changes(was, job_with({"shared.training.batch=64"})),
              ElementsAre("shared.training.batch was 128, is 64"));
  EXPECT_THAT(changes(was, job_with({"shared.training.checkpoint_every=3", "private.data.delimiter=tab"})),
              ElementsAre("shared.training.checkpoint_every was 0, is 3", "private.data.delimiter was \",\", is tab"));
  EXPECT_THAT(changes(was, job_with({"shared.model.top=open", "private.top.clip_gradient=0.5"})),
              ElementsAre("shared.model.top was shared, is open", "private.top.clip_gradient was not clipped, is 0.5"));
}

TEST(KeptJob, LetsFilesLinkAndMachineChange) {
  EXPECT_THAT(changes(job_with({}), job_with({"private.data.train=/elsewhere/b.csv", "private.link.patience=7",
                                              "private.resources.threads=3", "private.run.folder=/r",
                                              "private.run.keep=9", "private.limits.scorings=3"})),
              IsEmpty());
}

TEST(KeptJob, ThatIsDamagedIsRefused) {
  const testing::ScratchFolder folder;
  EXPECT_THROW((void)load_kept(folder / "none"), DataError);
  EXPECT_THROW((void)load_kept(folder.write("a", "shared: {model: {kind: nonsense}}\n")), ConfigError);
  EXPECT_THROW((void)load_kept(folder.write("b", std::string((std::size_t{1} << 20) + 1, '#'))), ConfigError);
  EXPECT_THROW((void)load_kept(folder.write("c", "")), ConfigError);
}

}  // namespace
}  // namespace blindfl::app::job::kept_job_test

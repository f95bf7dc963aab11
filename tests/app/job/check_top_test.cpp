// What a shared top does not do is refused before anything runs, with the reason and what to do instead.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blindfl/app/job/check.h"

namespace blindfl::app::job::check_top_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kText =
    "shared:\n"
    "  model: {kind: lr, top: shared}\n"
    "  alignment: {mode: aligned}\n"
    "private:\n"
    "  party: b\n"
    "  data: {train: b.csv, id_column: id, label_column: y}\n"
    "  link: {listen: 0.0.0.0:7000, plaintext: true}\n";

Job job_with(const std::vector<std::string>& overrides) {
  return parse_job(kText, {.source = "job.yaml"}, overrides);
}

std::string refusal(const std::vector<std::string>& overrides) {
  try {
    (void)job_with(overrides);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return {};
}

TEST(SharedTop, IsForModelsThatAreThereOnShares) {
  for (const char* kind : {"lr", "linear", "poisson", "mlp", "wdl", "fm", "deepfm"}) {
    EXPECT_THAT(refusal({std::string("shared.model.kind=") + kind}), IsEmpty()) << kind;
  }
  EXPECT_THAT(refusal({"shared.model.kind=mlr", "shared.model.classes=3"}), IsEmpty());
  EXPECT_THAT(refusal({"shared.model.kind=dlrm"}),
              AllOf(HasSubstr("shared.model.top: the interaction of dlrm"), HasSubstr("top: open for dlrm")));
}

TEST(SharedTop, HasNoPlaceholdersAmongItsRows) {
  EXPECT_THAT(refusal({"shared.alignment.mode=intersection"}), IsEmpty());
  for (const char* mode : {"only_b", "union"}) {
    EXPECT_THAT(refusal({std::string("shared.alignment.mode=") + mode}),
                AllOf(HasSubstr(std::string("shared.alignment.mode: ") + mode + " has placeholders"),
                      HasSubstr("take intersection or aligned")));
  }
}

TEST(SharedTop, CountsRowsAlikeUnlessAKnowsThatTheyHaveWeights) {
  for (const char* weights : {"[1, 2]", "balanced"}) {
    const std::string option = std::string("private.top.class_weights=") + weights;
    EXPECT_THAT(refusal({option}), AllOf(HasSubstr("private.top.class_weights: under a shared top A takes part"),
                                         HasSubstr("set shared.training.row_weights to true at both parties")));
    EXPECT_THAT(refusal({option, "shared.training.row_weights=true"}), IsEmpty());
  }
  EXPECT_THAT(refusal({"private.data.weight_column=w"}),
              HasSubstr("private.data.weight_column: under a shared top A takes part"));
  EXPECT_THAT(refusal({"private.data.weight_column=w", "shared.training.row_weights=true"}), IsEmpty());
  EXPECT_THAT(refusal({"shared.model.top=open", "shared.training.row_weights=true"}),
              HasSubstr("shared.training.row_weights: is for a shared top"));
  EXPECT_THAT(refusal({"shared.model.top=open", "private.data.weight_column=w"}), IsEmpty());
}

TEST(SharedTop, ClipsNothing) {
  EXPECT_THAT(refusal({"private.top.clip_gradient=1"}),
              AllOf(HasSubstr("private.top.clip_gradient: under a shared top nobody sees the norm of a gradient"),
                    HasSubstr("smaller learning rate")));
  EXPECT_THAT(refusal({"shared.training.derivative.clip=true"}),
              HasSubstr("shared.training.derivative.clip: under a shared top nobody sees a derivative"));
}

// What is beyond would come out off by a power of two, and nobody would notice.
TEST(SharedTop, HasRoomForAllDerivativesThatPassUnnoticed) {
  const std::string key = "shared.training.derivative.largest";
  const auto with = [&](const std::string& kind, const std::string& largest) {
    return refusal({"shared.model.kind=" + kind, key + "=" + largest});
  };
  for (const std::string kind : {"linear", "poisson"}) {
    EXPECT_THAT(with(kind, "255"),
                AllOf(HasSubstr(key + ": under a shared top nobody sees"), HasSubstr("256 or more")));
    EXPECT_THAT(with(kind, "256"), IsEmpty());
  }
  for (const std::string kind : {"lr", "mlp", "wdl"}) {
    EXPECT_THAT(with(kind, "0.5"), AllOf(HasSubstr(key + ": under a shared top nobody sees"), HasSubstr("1 or more")));
    EXPECT_THAT(with(kind, "1"), IsEmpty());
  }
  EXPECT_THAT(refusal({"shared.model.top=open", "shared.model.kind=linear", key + "=1"}), IsEmpty());
}

TEST(SharedTop, NeedsTheSchemeWithSlots) {
  EXPECT_THAT(refusal({"shared.scheme.allowed=[paillier]", "shared.scheme.default=paillier"}),
              HasSubstr("shared.scheme.allowed: a shared top needs lattice"));
  EXPECT_THAT(refusal({"shared.scheme.default=paillier"}), IsEmpty()) << "it takes what it needs of what is allowed";
}

TEST(SharedTop, StopsEarlyByTheLossAlone) {
  const std::vector<std::string> stopping = {"shared.training.early_stopping.patience=2",
                                             "shared.training.validation_share=0.1"};
  const auto with = [&](const std::string& more) {
    std::vector<std::string> all = stopping;
    if (!more.empty()) all.push_back(more);
    return refusal(all);
  };
  EXPECT_THAT(with(""), IsEmpty()) << "what suits the model is the loss";
  EXPECT_THAT(with("private.top.metrics=[loss, auc]"), IsEmpty());
  EXPECT_THAT(with("private.top.metrics=[auc, loss]"),
              AllOf(HasSubstr("private.top.metrics: early stopping watches the first"), HasSubstr("Say loss first")));
  EXPECT_THAT(refusal({"private.top.metrics=[auc]"}), IsEmpty()) << "at the end it is measured once";
}

TEST(SharedTop, RoundsScoresAndAnOpenOneDoesNot) {
  EXPECT_EQ(job_with({}).shared.model.score_bits, 4);
  EXPECT_THAT(refusal({"shared.model.score_bits=10"}), IsEmpty()) << "A is asked, and this is B";
  EXPECT_THAT(refusal({"shared.model.score_bits=17"}), HasSubstr("shared.model.score_bits must be"));
  EXPECT_THAT(refusal({"shared.model.top=open", "shared.model.score_bits=10"}),
              AllOf(HasSubstr("shared.model.score_bits: is for a shared top"), HasSubstr("leave it out")));
}

TEST(SharedTop, IsCheckedInTheSectionOfThePeerToo) {
  Shared shared = job_with({}).shared;
  EXPECT_FALSE(refused_by_shared_top(shared, nullptr).has_value());
  shared.alignment.mode = AlignmentMode::kUnion;
  ASSERT_TRUE(refused_by_shared_top(shared, nullptr).has_value());
  EXPECT_EQ(refused_by_shared_top(shared, nullptr)->key, "shared.alignment.mode");
  shared.model.top = protocol::Top::kOpen;
  EXPECT_FALSE(refused_by_shared_top(shared, nullptr).has_value());
}

}  // namespace
}  // namespace blindfl::app::job::check_top_test

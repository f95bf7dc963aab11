// A's consent to an open top: what B could work out is said with the job's shapes, and only A can accept it.

#include "blindfl/app/plan/open_top.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "blindfl/app/cli/command.h"
#include "blindfl/app/commands/run.h"
#include "blindfl/app/job/check.h"
#include "blindfl/app/plan/shape_options.h"
#include "testing/job_text.h"
#include "testing/thrown.h"

namespace blindfl::app::open_top_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

PartyShape numeric_shape(std::size_t features) {
  PartyShape shape;
  shape.numeric = features;
  return shape;
}

job::Shared mlp(std::size_t width, std::size_t epochs) {
  job::Shared shared;
  shared.model.kind = job::ModelKind::kMlp;
  shared.model.top = protocol::Top::kOpen;
  shared.model.hidden = {width, 8};
  shared.training.epochs = epochs;
  return shared;
}

std::vector<std::string> refusal(const job::Own& own, const run::DisclosureFacts& facts,
                                 Opens opens = Opens::kTrainingRows) {
  try {
    require_consent(own, facts, opens);
  } catch (const ConsentError& error) {
    return error.lines();
  }
  return {};
}

TEST(Consent, IsAskedOfAAloneAndGivenByAcceptOpenTop) {
  const run::DisclosureFacts facts = open_top_facts(mlp(64, 10), numeric_shape(54), std::nullopt);
  job::Own own;
  EXPECT_THAT(refusal(own, facts), SizeIs(3));
  own.accept = job::Acceptance::kOpenTop;
  EXPECT_THAT(refusal(own, facts), SizeIs(0));
  EXPECT_THAT(refusal({.party = Party::kB}, facts), SizeIs(0)) << "it is not B's to say";
}

TEST(Consent, SaysInThreeLinesWhatBCouldWorkOutAndWhatToDo) {
  const std::vector<std::string> lines = refusal({}, open_top_facts(mlp(64, 10), numeric_shape(54), std::nullopt));
  EXPECT_THAT(lines, ElementsAre(AllOf(StartsWith("private.accept: "), HasSubstr("features that are 0 or 1 exactly")),
                                 AllOf(HasSubstr("(a) applies: 64 outputs for 54 features of A"),
                                       HasSubstr("(b) applies: the same rows are opened in at least 10 epochs"),
                                       HasSubstr("if B turns out to have no features")),
                                 AllOf(HasSubstr("`accept: open_top`"), HasSubstr("a top that hides Z"))));
}

TEST(Consent, UnderASharedTopIsAskedForFineScoresAlone) {
  job::Shared shared = mlp(64, 10);
  shared.model.top = protocol::Top::kShared;
  const auto facts = [&] { return open_top_facts(shared, numeric_shape(54), numeric_shape(0)); };
  job::Own own;
  EXPECT_THAT(refusal(own, facts()), SizeIs(0)) << "B does not see Z";
  EXPECT_THAT(part_warnings(own, facts()), SizeIs(0));
  const auto few = [&](std::size_t features) {
    return open_top_facts(shared, numeric_shape(features), numeric_shape(0));
  };
  EXPECT_THAT(part_warnings(own, few(8)), ElementsAre(HasSubstr("with 8 features of A the scores that B gets")));
  EXPECT_THAT(part_warnings(own, few(9)), SizeIs(0));
  EXPECT_THAT(part_warnings(own, few(0)), SizeIs(0));
  EXPECT_THAT(part_warnings({.party = Party::kB}, few(4)), SizeIs(0));
  EXPECT_EQ(consent_line(own, facts()),
            "Shared top: B learns the scores of rows that both agree to score, rounded to 4 fractional bits; nothing "
            "else.");
  shared.model.score_bits = 5;
  shared.training.validation_share = 0.1;
  for (const auto accepted : {job::Acceptance::kNothing, job::Acceptance::kOpenTop}) {
    own.accept = accepted;
    EXPECT_THAT(refusal(own, facts()),
                ElementsAre(AllOf(StartsWith("private.accept: "), HasSubstr("shared.model.score_bits above 4")),
                            HasSubstr("5 fractional bits"), HasSubstr("`accept: fine_scores`")));
  }
  EXPECT_EQ(consent_line(own, facts()),
            "Shared top: B learns the mean loss and the accuracy of each epoch's validation, and the scores of rows "
            "that both agree to score, rounded to 5 fractional bits; nothing else. private.accept is open_top: `train` "
            "will refuse to start.");
  own.accept = job::Acceptance::kFineScores;
  EXPECT_THAT(refusal(own, facts()), SizeIs(0));
  EXPECT_THAT(consent_line(own, facts()), HasSubstr("private.accept is fine_scores."));
  EXPECT_THAT(refusal({.party = Party::kB}, facts()), SizeIs(0)) << "it is not B's to say";
  shared.model.top = protocol::Top::kOpen;
  EXPECT_THAT(refusal(own, facts()), SizeIs(3)) << "fine scores are no open top";
}

TEST(Consent, NamesTheWaysThatTheShapesLeaveOpen) {
  const auto line = [](const job::Shared& shared, std::size_t a, std::size_t b, Opens opens = Opens::kTrainingRows) {
    return open_top_line(open_top_facts(shared, numeric_shape(a), numeric_shape(b)), opens);
  };
  EXPECT_THAT(line(mlp(64, 2), 64, 3), HasSubstr("(a) applies: 64 outputs for 64 features of A"));
  EXPECT_THAT(line(mlp(64, 2), 65, 3), HasSubstr("(a) is not known to apply: 64 outputs for 65 features of A"));
  job::Shared lr;
  EXPECT_THAT(line(lr, 20, 3), AllOf(HasSubstr("(a) is not known to apply: 1 output for 20 features"),
                                     HasSubstr("(b) applies: the same rows are opened in at least 10 epochs")));
  EXPECT_THAT(line(lr, 1, 3), HasSubstr("(a) applies: 1 output for 1 feature of A"));
  lr.training.epochs = 1;
  EXPECT_THAT(line(lr, 20, 3), HasSubstr("(b) applies to rows that are opened again under other weights"));
  EXPECT_THAT(line(mlp(64, 9), 20, 3, Opens::kScoredRows), Not(HasSubstr("9 epochs")));
  EXPECT_THAT(line(lr, 20, 3), Not(HasSubstr("no features")));
  EXPECT_THAT(line(lr, 20, 0), HasSubstr("B has no features: Z is A's part (X_A W_A) outright"));
}

TEST(Consent, CountsCategoriesAsTheBinaryColumnsThatTheyAre) {
  job::Shared wdl;
  wdl.model.kind = job::ModelKind::kWdl;
  PartyShape a;
  a.fields = parse_fields("20,30:2", "fields");
  const run::DisclosureFacts facts = open_top_facts(wdl, a, numeric_shape(2));
  EXPECT_EQ(facts.category_layer.in_a, 50U);
  EXPECT_EQ(facts.category_layer.out, 64U);
  EXPECT_TRUE(run::open_top_reach(facts).span);
  EXPECT_THAT(open_top_line(facts), HasSubstr("(a) applies: 64 outputs for 50 categories of A"));
}

TEST(Consent, IsRefusedOnThreeLinesOfTheScreen) {
  const std::vector<Command> commands = {
      {.name = "train", .summary = "trains", .options = {}, .run = [](const Arguments& /*a*/, std::ostream& /*out*/) {
         require_consent({}, open_top_facts(mlp(64, 10), numeric_shape(54), std::nullopt));
       }}};
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(run(commands, std::vector<std::string>{"train"}, out, err), kFailed);
  const std::string text = err.str();
  EXPECT_EQ(std::ranges::count(text, '\n'), 3);
  EXPECT_THAT(text, AllOf(StartsWith("blindfl train: private.accept: "), HasSubstr("\n  In this job (a) applies"),
                          HasSubstr("\n  To accept that, put `accept: open_top`"), Not(HasSubstr("?"))));
}

TEST(Consent, IsAnOptionOfAsAlone) {
  const auto parse = [](std::string_view text) { return job::parse_job(text, {.source = "job.yaml"}); };
  const std::string of_a = testing::edited_job("  party: b\n", "  party: a\n  accept: open_top\n");
  EXPECT_EQ(parse(of_a).own.accept, job::Acceptance::kOpenTop);
  EXPECT_EQ(parse(testing::edited_job("  party: b\n", "  party: a\n")).own.accept, job::Acceptance::kNothing);
  const auto at_b = [&] { (void)parse(testing::edited_job("  party: b\n", "  party: b\n  accept: open_top\n")); };
  EXPECT_EQ(testing::message_of<ConfigError>(at_b),
            "job.yaml:8:3: private.accept: is A's to say, whose features are at stake, and this is B; leave it out");
  // Nor can the section that both parties have say it.
  const auto shared = [&] { (void)parse(testing::edited_job("  alignment:\n", "  accept: open_top\n  alignment:\n")); };
  EXPECT_THROW(shared(), ConfigError);
}

TEST(StartWarnings, NameBWithoutFeaturesAtA) {
  const run::DisclosureFacts facts = open_top_facts(mlp(64, 10), numeric_shape(54), numeric_shape(0));
  EXPECT_THAT(part_warnings({}, facts), ElementsAre(HasSubstr("B has no features")));
  EXPECT_THAT(part_warnings({.party = Party::kB}, facts), SizeIs(0));
  EXPECT_THAT(part_warnings({}, open_top_facts(mlp(64, 10), numeric_shape(54), numeric_shape(1))), SizeIs(0));
}

TEST(StartWarnings, NameALayerThatBHasNoFeaturesFor) {
  job::Shared wdl = mlp(4, 10);
  wdl.model.kind = job::ModelKind::kWdl;
  PartyShape a = numeric_shape(3);
  a.fields = parse_fields("20", "fields");
  EXPECT_THAT(part_warnings({}, open_top_facts(wdl, a, numeric_shape(2))),
              ElementsAre("WARNING: B has no categories: what it sees of their layer is A's part outright."));
}

/// A shop with numbers and a bank with numbers and categories, and B with both.
class WithTwoAs : public ::testing::Test {
 protected:
  WithTwoAs() {
    wdl_.model.kind = job::ModelKind::kWdl;
    bank_.fields = parse_fields("20", "fields");
  }
  [[nodiscard]] run::DisclosureFacts facts(std::optional<std::size_t> place) const {
    return open_top_facts(wdl_, ShapesOfA({numeric_shape(3), bank_}, {"shop", "bank"}), bank_, place);
  }
  job::Shared wdl_ = mlp(4, 10);
  PartyShape bank_ = numeric_shape(2);
};

TEST_F(WithTwoAs, TheOneThatAloneHasCategoriesIsWarned) {
  EXPECT_THAT(part_warnings({}, facts(1)),
              ElementsAre("WARNING: No other A has categories: of their layer B sees this A's part beside its own, and "
                          "no sum over A's."));
  EXPECT_THAT(part_warnings({}, facts(0)), SizeIs(0));
  EXPECT_THAT(part_warnings({.party = Party::kB}, facts({})), SizeIs(0));
  EXPECT_THAT(consent_line({}, facts(1)),
              HasSubstr("; no other A has categories: of their layer B sees this A's part "));
  EXPECT_THAT(consent_line({}, facts(0)), Not(HasSubstr("no other A")));
}

TEST_F(WithTwoAs, ABWithoutFeaturesSeesTheirSumAndNoPartOutright) {
  const ShapesOfA both({numeric_shape(3), numeric_shape(5)}, {"shop", "bank"});
  const run::DisclosureFacts of_sum = open_top_facts(mlp(64, 10), both, numeric_shape(0), 0);
  EXPECT_THAT(part_warnings({}, of_sum), SizeIs(0));
  EXPECT_THAT(open_top_line(of_sum), Not(HasSubstr("outright")));
  const ShapesOfA one({numeric_shape(3), numeric_shape(0)}, {"shop", "bank"});
  EXPECT_THAT(part_warnings({}, open_top_facts(mlp(64, 10), one, numeric_shape(0), 0)),
              ElementsAre("WARNING: Neither B nor another A has numeric features: what B sees of their layer is this "
                          "A's part outright."));
}

TEST_F(WithTwoAs, BeforeTheyMeetEachIsToldWhatMayBeSo) {
  job::Job job;
  job.shared = wdl_;
  job.own.link.name = "bank";
  job.own.link.others = {{.name = "shop"}};
  const std::vector<std::string> lines = refusal(job.own, open_top_facts(job, bank_));
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_THAT(lines[1], AllOf(HasSubstr("; if no other A has numeric features, B sees this A's part of their layer "),
                              HasSubstr("; if no other A has categories, B sees this A's part of their layer alone")));
}

TEST(StartWarnings, NameASeedAtWhoeverSetIt) {
  for (const Party party : {Party::kA, Party::kB}) {
    job::Own own{.party = party};
    EXPECT_EQ(seed_warning(own), std::nullopt);
    EXPECT_EQ(seeded_party(own), std::nullopt);
    own.run.weight_seed = 5;
    EXPECT_THAT(seed_warning(own).value_or(""),
                AllOf(HasSubstr("private.run.weight_seed"), HasSubstr("who guesses it"), Not(HasSubstr("5"))));
    EXPECT_EQ(seeded_party(own), party);
  }
}

}  // namespace
}  // namespace blindfl::app::open_top_test

#include "blindfl/run/disclosure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "blindfl/base/error.h"
#include "blindfl/run/several_as.h"

namespace blindfl::run::disclosure_test {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<DisclosureFacts> all_models() {
  std::vector<DisclosureFacts> models;
  for (unsigned bits = 0; bits < 1024; ++bits) {
    DisclosureFacts model{.numeric = (bits & 1) != 0,
                          .categorical = (bits & 2) != 0,
                          .encrypted_update = (bits & 4) != 0,
                          .short_keys = (bits & 512) != 0,
                          .matching = static_cast<Matching>((bits >> 3) & 3),
                          .stops_early = (bits & 32) != 0};
    const LayerFacts layer{.in_a = 50, .out = (bits & 64) != 0 ? 64U : 1U};
    model.numeric_layer = model.category_layer = layer;
    model.openings = (bits & 128) != 0 ? 10 : 1;
    model.b_has_features = (bits & 256) == 0;
    if (model.numeric || model.categorical) models.push_back(model);
  }
  return models;
}

TEST(Disclosure, SaysSomethingOfEveryKindForEveryModel) {
  for (const DisclosureFacts& model : all_models()) {
    for (const Party party : {Party::kA, Party::kB}) {
      const Disclosure said = disclosure_of(party, model);
      for (const auto* texts : {&said.learned, &said.could_work_out, &said.never_saw}) {
        EXPECT_FALSE(texts->empty());
        EXPECT_THAT(*texts, Each(EndsWith("."))) << "whole sentences";
      }
    }
  }
  EXPECT_THROW((void)disclosure_of(Party::kA, {.numeric = false, .categorical = false}), InvalidArgument);
}

TEST(Disclosure, OfASharedTopIsTheLossTheScoresAndABit) {
  DisclosureFacts model{.shared_top = true, .scored_rows = 120, .opens_mean_loss = true};
  EXPECT_EQ(shared_top_openings(model),
            "the mean loss of each epoch's validation, and the scores of 120 rows, once, rounded to 4 fractional bits; "
            "nothing else");
  for (const Party party : {Party::kA, Party::kB}) {
    const Disclosure said = disclosure_of(party, model);
    for (const auto* texts : {&said.learned, &said.could_work_out, &said.never_saw}) {
      EXPECT_THAT(*texts, AllOf(Each(EndsWith(".")), Each(Not(HasSubstr("open top")))));
    }
    EXPECT_THAT(said.learned, AllOf(Contains(HasSubstr("one bit for each function")),
                                    Each(Not(HasSubstr("output of the first layer (Z)")))));
    EXPECT_THAT(said.never_saw, AllOf(Contains(HasSubstr("output of the first layer (Z)")),
                                      Contains(HasSubstr("Trained weights, its own included"))));
  }
  const Disclosure at_b = disclosure_of(Party::kB, model);
  EXPECT_THAT(at_b.learned, AllOf(Contains(HasSubstr(shared_top_openings(model))), Contains(HasSubstr("with noise"))));
  EXPECT_THAT(at_b.could_work_out,
              AllOf(Contains(AllOf(HasSubstr("Score a row once per model; A counts by id"),
                                   HasSubstr("under other ids, or without ids in another file, are not recognised"))),
                    Contains(HasSubstr("at 4 an attack still told from 35 to 98 % of the rows apart")),
                    Contains(HasSubstr("some hundred bits over a run")), Each(Not(HasSubstr("fine_scores")))));
  EXPECT_THAT(at_b.learned, Each(Not(HasSubstr("accuracy")))) << "of numbers there is none";
  model.opens_accuracy = true;
  EXPECT_EQ(shared_top_openings(model),
            "the mean loss and the accuracy of each epoch's validation, and the scores of 120 rows, once, rounded to 4 "
            "fractional bits; nothing else");
  EXPECT_THAT(disclosure_of(Party::kB, model).learned,
              Contains(AllOf(HasSubstr("The mean loss and the accuracy over the rows"), HasSubstr("with noise"),
                             HasSubstr("of no single row, nor whether it is right"))));
  EXPECT_THAT(disclosure_of(Party::kA, model).learned, Each(Not(HasSubstr("accuracy"))));
  model.score_bits = 10;
  model.opens_mean_loss = model.opens_accuracy = false;
  EXPECT_THAT(disclosure_of(Party::kB, model).could_work_out, Contains(HasSubstr("fine_scores")));
  EXPECT_THAT(disclosure_of(Party::kB, model).learned, Each(Not(HasSubstr("mean loss"))));
}

TEST(Disclosure, NamesTheSecurityOfPailliersShortKeysAtBothParties) {
  for (const DisclosureFacts& model : all_models()) {
    for (const Party party : {Party::kA, Party::kB}) {
      const Disclosure said = disclosure_of(party, model);
      const auto names_it = Contains(AllOf(HasSubstr("112 bits"), HasSubstr("NIST: until 2030"), HasSubstr("128")));
      if (model.short_keys) {
        EXPECT_THAT(said.could_work_out, names_it);
      } else {
        EXPECT_THAT(said.could_work_out, Not(names_it));
      }
    }
  }
}

TEST(Disclosure, ALearnsNothingOfLabelsInAnyModel) {
  for (const DisclosureFacts& model : all_models()) {
    const Disclosure a = disclosure_of(Party::kA, model);
    EXPECT_THAT(a.never_saw, Contains(AllOf(HasSubstr("Labels"), HasSubstr("predictions"), HasSubstr("loss"))));
    for (const char* word : {"Predictions", "predictions", "scores", "loss", "metric"}) {
      EXPECT_THAT(a.learned, Each(Not(HasSubstr(word))));
      EXPECT_THAT(a.could_work_out, Each(Not(HasSubstr(word))));
    }
  }
}

TEST(Disclosure, SaysPlainlyThatBCanWorkOutAsPart) {
  for (const DisclosureFacts& model : all_models()) {
    const Disclosure b = disclosure_of(Party::kB, model);
    EXPECT_THAT(b.learned, Contains(HasSubstr("Predictions")));
    EXPECT_THAT(b.could_work_out, Contains(HasSubstr("alike in all of B's features")));
    EXPECT_THAT(b.could_work_out, Contains(HasSubstr("shared secretly")));
    const auto measured = Contains(AllOf(HasSubstr("X_A W_A"), HasSubstr("0.99998"), HasSubstr("0.84")));
    if (model.numeric && *model.b_has_features) {
      EXPECT_THAT(b.could_work_out, measured);
    } else {
      // Measured for numeric features beside B's own: categories have nothing of the kind to claim.
      EXPECT_THAT(b.could_work_out, Not(measured));
    }
  }
}

TEST(Disclosure, SaysPlainlyThatBRecoversAsBinaryFeatures) {
  for (const DisclosureFacts& model : all_models()) {
    const Disclosure b = disclosure_of(Party::kB, model);
    EXPECT_THAT(
        b.could_work_out.front(),
        AllOf(HasSubstr("open top"), HasSubstr("can recover A's features that are 0 or 1, one-hot ones too, exactly"),
              HasSubstr("(a) where there are at least as many outputs as A has features"),
              HasSubstr("(b) with any number of outputs, where the same rows are opened again"),
              HasSubstr("Neither rounding nor initial_deviation prevents it")));
    // The figures of the review.
    EXPECT_THAT(b.could_work_out.front(),
                AllOf(HasSubstr("40 of 40"), HasSubstr("12 of 12"), HasSubstr("16 of 16"), HasSubstr("8 of 8"),
                      HasSubstr("all 54 lie in B's span"), HasSubstr("31 of them")));
    // What B never saw is about messages, and contradicts none of it.
    EXPECT_THAT(b.never_saw, Contains(AllOf(HasSubstr("A message that holds A's features"),
                                            HasSubstr("It does not need one to work out those that are 0 or 1"))));
    EXPECT_THAT(b.never_saw, Each(Not(AnyOf(StartsWith("A's features"), StartsWith("A's trained weights")))));
    EXPECT_THAT(b.could_work_out, Contains(HasSubstr("also A's trained weights")));
  }
}

TEST(Disclosure, NamesTheWaysThatTheModelLeavesOpen) {
  DisclosureFacts model;
  model.numeric_layer = {.in_a = 54, .out = 64};
  model.openings = 30;
  model.b_has_features = true;
  const auto could = [&] { return disclosure_of(Party::kB, model).could_work_out; };
  const auto a = Contains(AllOf(StartsWith("(a) "), HasSubstr("64 outputs, 54 features of A")));
  const auto b = Contains(AllOf(StartsWith("(b) "), HasSubstr("opened 30 times")));
  const auto outright =
      Contains(HasSubstr("B has no features of its own: Z is A's part of each row (X_A W_A) outright"));
  EXPECT_THAT(could(), AllOf(a, b, Not(outright)));
  model.numeric_layer.out = 1;
  EXPECT_THAT(could(), AllOf(Not(Contains(StartsWith("(a) "))), b));
  model.openings = 1;
  EXPECT_THAT(could(), AllOf(Not(Contains(StartsWith("(b) "))), Contains(HasSubstr("Neither (a) nor (b)"))));
  model.b_has_features = false;
  EXPECT_THAT(could(), outright);
  EXPECT_THAT(disclosure_of(Party::kB, model).learned, Contains(HasSubstr("it is A's part itself (X_A W_A)")));
  EXPECT_THAT(disclosure_of(Party::kB, model).never_saw, Each(Not(HasSubstr("apart from each other"))));
}

TEST(Disclosure, SaysHowFarZIsRounded) {
  DisclosureFacts model;
  EXPECT_THAT(disclosure_of(Party::kB, model).learned, Contains(HasSubstr("rounded to 16 fractional bits")));
  EXPECT_THAT(disclosure_of(Party::kB, model).could_work_out, Each(Not(HasSubstr("lattice reduction"))));
  model.output_scale = 24;
  EXPECT_THAT(disclosure_of(Party::kB, model).learned, Contains(HasSubstr("rounded to 24 fractional bits")));
  EXPECT_THAT(disclosure_of(Party::kB, model).could_work_out, Contains(HasSubstr("by lattice reduction")));
}

TEST(Disclosure, NamesASeedOfInitialWeights) {
  for (const Party party : {Party::kA, Party::kB}) {
    DisclosureFacts model;
    EXPECT_THAT(disclosure_of(peer_of(party), model).could_work_out, Each(Not(HasSubstr("weight_seed"))));
    model.weight_seed = party;
    EXPECT_THAT(disclosure_of(peer_of(party), model).could_work_out,
                Contains(AllOf(HasSubstr("weight_seed"), HasSubstr("guesses the number"))));
    EXPECT_THAT(disclosure_of(party, model).could_work_out, Each(Not(HasSubstr("weight_seed"))));
  }
}

TEST(Disclosure, OfSeveralAsIsThatOfTheirSum) {
  for (const std::size_t as : {1U, 2U, 4U}) {
    DisclosureFacts model;
    model.as = as;
    const auto sum_at_b = Contains(HasSubstr("only the sum over all " + std::to_string(as) + " A's"));
    const Disclosure at_b = disclosure_of(Party::kB, model);
    const Disclosure at_a = disclosure_of(Party::kA, model);
    if (as == 1) {
      EXPECT_THAT(at_b.never_saw, Not(sum_at_b));
      EXPECT_THAT(at_a.learned, Not(Contains(HasSubstr("other A"))));
      continue;
    }
    EXPECT_THAT(at_b.never_saw, sum_at_b);
    const std::string others = as == 2 ? "the other A" : "the other 3 A's";
    EXPECT_THAT(at_a.learned, Contains(StartsWith("Of " + others + ": that they take part")));
    EXPECT_THAT(at_a.could_work_out, Contains(HasSubstr("where " + others + " tell B their own parts")));
    EXPECT_THAT(at_a.never_saw, Contains(StartsWith("What " + others + " sent to B")));
  }
}

/// Three A's, of whom two have numbers and one categories; B has numbers alone.
DisclosureFacts of_three_as(const std::string& own = {}) {
  DisclosureFacts model{.categorical = true};
  model.as = 3;
  model.own_name = own;
  const std::size_t numbers = own == "till" ? 0 : 5;
  const std::size_t categories = own.empty() || own == "till" ? 9 : 0;
  model.numeric_layer = {.in_a = numbers, .out = 1, .in_b = true, .of = {{"shop", "bank"}}};
  model.category_layer = {.in_a = categories, .out = 4, .in_b = false, .of = {{"till"}}};
  model.b_has_features = true;
  model.openings = 10;
  return model;
}

TEST(Disclosure, OfSeveralAsSaysOfWhichLayersBSeesOneAsPartAlone) {
  const Disclosure at_b = disclosure_of(Party::kB, of_three_as());
  EXPECT_THAT(at_b.could_work_out, Contains("Of the A's only till has categories, and B has none: what B sees of their "
                                            "layer is till's part outright."));
  EXPECT_THAT(at_b.never_saw, Contains("The part of one A in the layer of numeric features: only the sum over shop and "
                                       "bank, unless all others of them tell theirs."));
  EXPECT_THAT(at_b.never_saw, Each(Not(AnyOf(HasSubstr("sum over all"), HasSubstr("in the layer of categories")))));
  EXPECT_THAT(at_b.never_saw, Contains(HasSubstr("only their sum, rounded to 16 fractional bits, but for the layer of "
                                                 "categories.")));

  const Disclosure at_till = disclosure_of(Party::kA, of_three_as("till"));
  EXPECT_THAT(at_till.could_work_out, Contains("Neither B nor another A has categories: what B sees of their layer is "
                                               "this A's part outright."));
  EXPECT_THAT(at_till.could_work_out, Each(Not(HasSubstr("sum over this A")))) << "it has nothing in a sum";

  const Disclosure at_shop = disclosure_of(Party::kA, of_three_as("shop"));
  EXPECT_THAT(at_shop.could_work_out, Contains(AllOf(StartsWith("Of the layer of numeric features B sees the sum over "
                                                                "this A and bank."),
                                                     HasSubstr("where bank tells B its own part"))));
  EXPECT_THAT(at_shop.could_work_out, Each(Not(HasSubstr("outright"))));

  DisclosureFacts all_have = of_three_as();
  all_have.category_layer.of = {"shop", "bank", "till"};
  const Disclosure in_sums = disclosure_of(Party::kB, all_have);
  EXPECT_THAT(in_sums.never_saw, Contains(AllOf(StartsWith("The part of one A in the layer of categories: "),
                                                HasSubstr("only the sum over all 3 A's"))));
  EXPECT_THAT(
      in_sums.could_work_out,
      Contains("B has no categories: what it sees of their layer is the sum over shop, bank and till outright."));
  EXPECT_THAT(in_sums.could_work_out, Each(Not(HasSubstr("only till"))));
}

TEST(LoneParts, AreThoseThatNoOtherPartHides) {
  DisclosureFacts model = of_three_as("till");
  model.category_layer.in_b = true;
  EXPECT_THAT(lone_parts(model),
              ElementsAre("no other A has categories: of their layer B sees this A's part beside its own, and no sum "
                          "over A's"));
  EXPECT_THAT(lone_parts(of_three_as("shop")), IsEmpty());
  model.category_layer.of.reset();
  EXPECT_THAT(lone_parts(model), ElementsAre("if no other A has categories, B sees this A's part of their layer alone, "
                                             "and no sum over A's"));
  model.shared_top = true;
  EXPECT_THAT(lone_parts(model), IsEmpty());
  DisclosureFacts one{.categorical = true};
  one.numeric_layer = {.in_a = 3, .out = 1, .in_b = true};
  one.category_layer = {.in_a = 9, .out = 4, .in_b = false};
  one.b_has_features = true;
  EXPECT_THAT(lone_parts(one), ElementsAre("B has no categories: what it sees of their layer is A's part outright"));
  one.b_has_features = false;
  one.numeric_layer.in_b = false;
  EXPECT_THAT(lone_parts(one), IsEmpty()) << "said of Z as a whole";
  EXPECT_TRUE(open_top_reach(one).outright);
  one.as = 2;
  EXPECT_FALSE(open_top_reach(one).outright) << "a sum over two";
}

TEST(Disclosure, DependsOnWhatTheModelHas) {
  const auto said = [](Party party, const DisclosureFacts& model) {
    const Disclosure all = disclosure_of(party, model);
    std::string text;
    for (const auto* texts : {&all.learned, &all.could_work_out, &all.never_saw}) {
      for (const std::string& sentence : *texts) text += sentence;
    }
    return text;
  };
  for (const Party party : {Party::kA, Party::kB}) {
    EXPECT_THAT(said(party, {}), Not(HasSubstr("categor")));
    EXPECT_THAT(said(party, {.categorical = true}), HasSubstr("Tables of categories"));
    EXPECT_THAT(said(party, {}), Not(HasSubstr("ncrypted")));
    EXPECT_THAT(said(party, {.encrypted_update = true}), HasSubstr("ncrypted"));
    EXPECT_THAT(said(party, {}), HasSubstr("same people"));
    EXPECT_THAT(said(party, {.matching = Matching::kIntersection}),
                AllOf(HasSubstr("Which of its own ids the other party has"), Not(HasSubstr("same people"))));
    EXPECT_THAT(said(party, {.matching = Matching::kUnion}), HasSubstr("how many both have, and not which"));
    EXPECT_THAT(said(party, {}), Not(HasSubstr("epochs")));
    EXPECT_THAT(said(party, {.stops_early = true}), HasSubstr("After which epochs"));
  }
  EXPECT_THAT(said(Party::kA, {.encrypted_update_b = true}), HasSubstr("The encrypted tables that B keeps"));
  EXPECT_THAT(said(Party::kA, {.matching = Matching::kOnlyB}), Not(HasSubstr("Which of its own ids")));
  EXPECT_THAT(said(Party::kB, {.matching = Matching::kOnlyB}), HasSubstr("Which of its own ids"));
  EXPECT_THAT(said(Party::kB, {.numeric = false, .categorical = true}), Not(HasSubstr("numeric")));
}

}  // namespace
}  // namespace blindfl::run::disclosure_test

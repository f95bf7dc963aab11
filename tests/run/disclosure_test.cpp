#include "blindfl/run/disclosure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "blindfl/base/error.h"

namespace blindfl::run {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<ModelFacts> all_models() {
  std::vector<ModelFacts> models;
  for (unsigned bits = 0; bits < 128; ++bits) {
    const ModelFacts model{.numeric = (bits & 1) != 0,
                           .categorical = (bits & 2) != 0,
                           .encrypted_update = (bits & 4) != 0,
                           .short_keys = (bits & 64) != 0,
                           .matching = static_cast<Matching>((bits >> 3) & 3),
                           .stops_early = (bits & 32) != 0};
    if (model.numeric || model.categorical) models.push_back(model);
  }
  return models;
}

TEST(Disclosure, SaysSomethingOfEveryKindForEveryModel) {
  for (const ModelFacts& model : all_models()) {
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

TEST(Disclosure, NamesTheSecurityOfPailliersShortKeysAtBothParties) {
  for (const ModelFacts& model : all_models()) {
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
  for (const ModelFacts& model : all_models()) {
    const Disclosure a = disclosure_of(Party::kA, model);
    EXPECT_THAT(a.never_saw, Contains(AllOf(HasSubstr("Labels"), HasSubstr("predictions"), HasSubstr("loss"))));
    for (const char* word : {"Predictions", "predictions", "scores", "loss", "metric"}) {
      EXPECT_THAT(a.learned, Each(Not(HasSubstr(word))));
      EXPECT_THAT(a.could_work_out, Each(Not(HasSubstr(word))));
    }
  }
}

TEST(Disclosure, SaysPlainlyThatBCanWorkOutAsPart) {
  for (const ModelFacts& model : all_models()) {
    const Disclosure b = disclosure_of(Party::kB, model);
    EXPECT_THAT(b.learned, Contains(HasSubstr("Predictions")));
    EXPECT_THAT(b.could_work_out, Contains(HasSubstr("alike in all of B's features")));
    EXPECT_THAT(b.could_work_out, Contains(HasSubstr("shared secretly")));
    const auto measured = Contains(AllOf(HasSubstr("X_A W_A"), HasSubstr("0.99998"), HasSubstr("0.84")));
    if (model.numeric) {
      EXPECT_THAT(b.could_work_out, measured);
    } else {
      // Measured for numeric features: categories have nothing of the kind to claim.
      EXPECT_THAT(b.could_work_out, Not(measured));
    }
  }
}

TEST(Disclosure, DependsOnWhatTheModelHas) {
  const auto said = [](Party party, const ModelFacts& model) {
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
    EXPECT_THAT(said(party, {.matching = Matching::kBoth}),
                AllOf(HasSubstr("Which of its own ids the other party has"), Not(HasSubstr("same people"))));
    EXPECT_THAT(said(party, {.matching = Matching::kUnion}), HasSubstr("how many both have, and not which"));
    EXPECT_THAT(said(party, {}), Not(HasSubstr("epochs")));
    EXPECT_THAT(said(party, {.stops_early = true}), HasSubstr("After which epochs"));
  }
  EXPECT_THAT(said(Party::kA, {.matching = Matching::kOnlyB}), Not(HasSubstr("Which of its own ids")));
  EXPECT_THAT(said(Party::kB, {.matching = Matching::kOnlyB}), HasSubstr("Which of its own ids"));
  EXPECT_THAT(said(Party::kB, {.numeric = false, .categorical = true}), Not(HasSubstr("numeric")));
}

}  // namespace
}  // namespace blindfl::run

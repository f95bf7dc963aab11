// The pages that people read first say what B can work out, as the reports do.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>

#include "blindfl/app/job/own.h"
#include "blindfl/app/job/shared.h"
#include "blindfl/run/disclosure.h"

namespace blindfl::app::documents_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A page of the project with its line breaks and marks taken out.
std::string page(const std::string& name) {
  std::ifstream in(std::filesystem::path(BLINDFL_DOCS).parent_path() / name);
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return std::regex_replace(std::regex_replace(text.str(), std::regex("[`*]"), ""), std::regex("\\s+"), " ");
}

TEST(Documents, SayThatBRecoversAsBinaryFeatures) {
  for (const char* name : {"README.md", "SECURITY.md"}) {
    SCOPED_TRACE(name);
    EXPECT_THAT(page(name), AllOf(HasSubstr("binary features exactly"), HasSubstr("40 of 40"), HasSubstr("8 of 8"),
                                  HasSubstr("30 validations"), HasSubstr("accept: open_top"), HasSubstr("a9a")));
  }
  EXPECT_THAT(
      page("SECURITY.md"),
      AllOf(HasSubstr("A passive B, one that follows the protocol and only looks, recovers A's binary features"),
            HasSubstr("12 of 12"), HasSubstr("16 of 16"), HasSubstr("whatever initial_deviation is"),
            HasSubstr("Then Z = X_A W_A outright")));
}

TEST(Documents, DoNotContradictTheReport) {
  const std::string readme = page("README.md");
  EXPECT_THAT(readme, HasSubstr("must not see | does that hold?"));
  EXPECT_THAT(readme,
              AllOf(HasSubstr("the top model is shared, so that nobody sees its input Z"), HasSubstr("scores tell"),
                    HasSubstr("With top: open, which is faster and which A must accept, B recovers A's features")));
  // The table of SECURITY.md once said that B learns nothing of A's features.
  EXPECT_THAT(page("SECURITY.md"), AllOf(HasSubstr("A's features that are 0 or 1 follow from Z exactly"),
                                         Not(HasSubstr("the other's categories | nothing | nothing"))));
}

TEST(Documents, DoNotSayThatLargerInitialWeightsHideMore) {
  job::Model model;
  const job::Entries entries = entries_of(model);
  const std::string meaning(entries.find("initial_deviation")->meaning);
  EXPECT_THAT(meaning, AllOf(HasSubstr("does not protect A's features"), Not(HasSubstr("hide"))));
  EXPECT_THAT(std::string(entries.find("fine_outputs_reveal_features")->meaning),
              AllOf(HasSubstr("gives A's features away"), HasSubstr("lattice reduction")));
  job::Own own;
  EXPECT_THAT(std::string(entries_of(own).find("accept")->meaning),
              AllOf(HasSubstr("only A says"), HasSubstr("0 or 1 exactly"), HasSubstr("refuse to start")));
}

TEST(Documents, OfDemoAndTutorialTrainWithASharedTopAndSayWhyTheyAcceptAnOpenOne) {
  EXPECT_THAT(page("scripts/demo"), AllOf(HasSubstr("The top is shared"), Not(HasSubstr("open_top"))));
  EXPECT_THAT(page("docs/tutorial.md"), AllOf(HasSubstr("Nobody sees what is above the joint layer"),
                                              HasSubstr("--accept open_top"), HasSubstr("She does so here because")));
}

}  // namespace
}  // namespace blindfl::app::documents_test

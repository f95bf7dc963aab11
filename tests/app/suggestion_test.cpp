#include "blindfl/app/cli/suggestion.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace blindfl::app::suggestion_test {
namespace {

const std::vector<std::string_view> kNames = {"epochs", "batch", "learning_rate", "a", "b"};

TEST(Suggestion, IsTheNearestName) {
  EXPECT_EQ(nearest("epoch", kNames), "epochs");
  EXPECT_EQ(nearest("epohcs", kNames), "epochs");
  EXPECT_EQ(nearest("bach", kNames), "batch");
  EXPECT_EQ(nearest("learnin_rat", kNames), "learning_rate");
  EXPECT_EQ(nearest("learn", kNames), "learning_rate") << "a beginning";
  EXPECT_EQ(nearest("B", kNames), "a") << "one letter of one";
}

TEST(Suggestion, IsNothingIfNoNameIsNear) {
  EXPECT_EQ(nearest("", kNames), "");
  EXPECT_EQ(nearest("momentum", kNames), "");
  EXPECT_EQ(nearest(std::string(100'000, 'e'), kNames), "");
  EXPECT_EQ(nearest("epochs", {}), "");
}

}  // namespace
}  // namespace blindfl::app::suggestion_test

#include "blindfl/app/cli/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "testing/thrown.h"

namespace blindfl::app::command_test {
namespace {

using blindfl::testing::message_of;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const Command kBake = {
    .name = "bake",
    .summary = "makes a cake",
    .options = {{.name = "flour", .placeholder = "GRAMS", .summary = "how much", .need = Option::Need::kRequired},
                {.name = "oven", .placeholder = "DEGREES", .summary = "how hot", .fallback = "180"},
                {.name = "topping", .placeholder = "WHAT", .summary = "what goes on it"},
                {.name = "vegan", .placeholder = "", .summary = "without eggs"}},
    .run = [](const Arguments& /*arguments*/, std::ostream& /*out*/) {}};

Arguments parse(const std::vector<std::string>& words) {
  return {kBake, words};
}

std::string refusal(const std::vector<std::string>& words) {
  return message_of<UsageError>([&] { (void)parse(words); });
}

TEST(Arguments, AreTakenFromTheFollowingWordOrAfterAnEqualsSign) {
  for (const auto& words : {std::vector<std::string>{"--flour", "500", "--topping", "plums and sugar"},
                            std::vector<std::string>{"--topping=plums and sugar", "--flour=500"}}) {
    const Arguments arguments = parse(words);
    EXPECT_EQ(arguments.text("flour"), "500");
    EXPECT_EQ(arguments.integer("flour", 1, 1000), 500);
    EXPECT_EQ(arguments.text("topping"), "plums and sugar");
  }
  EXPECT_EQ(parse({"--flour=500", "--topping=a=b"}).text("topping"), "a=b");
  EXPECT_EQ(parse({"--flour=500", "--topping=--vegan"}).text("topping"), "--vegan");
  EXPECT_EQ(parse({"--flour", "-5"}).integer("flour", -10, 10), -5);
}

TEST(Arguments, FallBackIfNotGiven) {
  const Arguments arguments = parse({"--flour", "500"});
  EXPECT_EQ(arguments.integer("oven", 0, 300), 180);
  EXPECT_TRUE(arguments.has("oven"));
  EXPECT_FALSE(arguments.has("topping"));
  EXPECT_THAT(message_of<UsageError>([&] { (void)arguments.text("topping"); }), HasSubstr("--topping"));
  EXPECT_EQ(parse({"--flour", "500", "--oven=200"}).integer("oven", 0, 300), 200);
}

TEST(Arguments, IncludeFlags) {
  EXPECT_FALSE(parse({"--flour", "500"}).has("vegan"));
  EXPECT_TRUE(parse({"--vegan", "--flour", "500"}).has("vegan"));
  EXPECT_THAT(refusal({"--flour", "500", "--vegan=yes"}), HasSubstr("--vegan takes no value"));
}

TEST(Arguments, AreRefusedByName) {
  EXPECT_THAT(refusal({}), AllOf(HasSubstr("--flour is missing"), HasSubstr("--flour GRAMS")));
  EXPECT_THAT(refusal({"--flour"}), HasSubstr("--flour needs a value: --flour GRAMS"));
  EXPECT_THAT(refusal({"--flour", "--vegan"}), HasSubstr("--flour needs a value"));
  EXPECT_THAT(refusal({"--flour", "1", "--flour=2"}), HasSubstr("--flour is given twice"));
  EXPECT_THAT(refusal({"--vegan", "--vegan"}), HasSubstr("--vegan is given twice"));
  for (const std::string word : {"flour", "-f", "-", "--", ""}) {
    EXPECT_THAT(refusal({word, "1"}), HasSubstr("'" + word + "'"));
  }
  const Arguments empty = parse({"--flour="});
  EXPECT_THAT(message_of<UsageError>([&] { (void)empty.text("flour"); }), HasSubstr("--flour needs a value"));
}

TEST(Arguments, AreWholeNumbersInTheirRange) {
  constexpr auto kLowest = std::numeric_limits<std::int64_t>::min();
  constexpr auto kHighest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(parse({"--flour", std::to_string(kHighest)}).integer("flour", kLowest, kHighest), kHighest);
  EXPECT_EQ(parse({"--flour", std::to_string(kLowest)}).integer("flour", kLowest, kHighest), kLowest);
  for (const std::string word :
       {"0", "1001", "12x", "x", "1.5", " 5", "5 ", "+5", "0x10", "-7", "99999999999999999999"}) {
    const Arguments arguments = parse({"--flour", word});
    EXPECT_THAT(message_of<UsageError>([&] { (void)arguments.integer("flour", 1, 1000); }),
                AllOf(HasSubstr("--flour needs a whole number from 1 to 1000"), HasSubstr("'" + word + "'")));
  }
}

TEST(Arguments, SuggestTheNearestOption) {
  for (const std::string word : {"--flor", "--folur", "--flours", "--fluor=5", "--flo", "--glour"}) {
    EXPECT_THAT(refusal({word}), EndsWith("did you mean --flour?")) << word;
  }
  EXPECT_THAT(refusal({"--ovn"}), EndsWith("did you mean --oven?"));
  EXPECT_THAT(refusal({"--vegna"}), EndsWith("did you mean --vegan?"));
  for (const std::string& word : {std::string("--zebra"), std::string("--=5"), "--" + std::string(100'000, 'f')}) {
    EXPECT_THAT(refusal({word}), AllOf(StartsWith("there is no option --"), Not(HasSubstr("did you mean")))) << word;
  }
}

TEST(Help, ListsEveryOption) {
  const std::string help = help_of(kBake);
  EXPECT_THAT(help, HasSubstr("usage: blindfl bake --flour GRAMS [--oven DEGREES] [--topping WHAT] [--vegan]\n"));
  for (const Option& option : kBake.options) {
    EXPECT_THAT(help, HasSubstr("\n  --" + std::string(option.name)));
    EXPECT_THAT(help, HasSubstr(std::string(option.summary)));
  }
  EXPECT_THAT(help, HasSubstr("(default: 180)"));
  EXPECT_THAT(help, HasSubstr("makes a cake"));
}

TEST(Help, IsAskedForByEitherName) {
  EXPECT_TRUE(asks_for_help(std::vector<std::string>{"--nonsense", "--help"}));
  EXPECT_TRUE(asks_for_help(std::vector<std::string>{"-h"}));
  EXPECT_FALSE(asks_for_help(std::vector<std::string>{"--helpless", "help"}));
  EXPECT_FALSE(asks_for_help({}));
}

}  // namespace
}  // namespace blindfl::app::command_test

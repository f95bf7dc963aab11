#include "blindfl/app/commands/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <new>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/app/commands/commands.h"
#include "blindfl/base/error.h"

namespace blindfl::app::run_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

struct Result {
  int code = -1;
  std::string out;
  std::string err;
};

Result run_program(const std::vector<std::string>& args) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = run(args, out, err);
  return {.code = code, .out = out.str(), .err = err.str()};
}

TEST(Manual, IsMadeOfTheSameTableAsTheHelp) {
  const Result page = run_program({"--manual"});
  EXPECT_EQ(page.code, kDone);
  EXPECT_THAT(page.out, StartsWith(".TH BLINDFL 1 \"\" \"blindfl "));
  for (const Command& command : all_commands()) {
    EXPECT_THAT(page.out, HasSubstr(".SS \"blindfl " + std::string(command.name) + "\"\n"));
    for (const Option& option : command.options) {
      std::string name = "\n.B \\-\\-";
      for (const char c : option.name) name += c == '-' ? "\\-" : std::string(1, c);
      EXPECT_THAT(page.out, HasSubstr(name)) << command.name;
    }
  }
  // No line of text is taken for a command of roff.
  EXPECT_THAT(page.out, ::testing::Not(HasSubstr("\n'")));
}

// Commands that do what their names say.
const std::vector<Command> kCommands = {
    {.name = "work",
     .summary = "works",
     .options = {},
     .run = [](const Arguments& /*a*/, std::ostream& out) { out << "worked\n"; }},
    {.name = "break",
     .summary = "breaks",
     .options = {},
     .run = [](const Arguments& /*a*/, std::ostream& /*out*/) { fail<DataError>("a.csv: is\nmissing"); }},
    {.name = "grow",
     .summary = "grows",
     .options = {},
     .run = [](const Arguments& /*a*/, std::ostream& /*out*/) { throw std::bad_alloc(); }},
};

Result run_test_program(const std::vector<std::string>& args) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = run(kCommands, args, out, err);
  return {.code = code, .out = out.str(), .err = err.str()};
}

bool is_plain_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= ' ' && c <= '~') || c == '\n'; });
}

TEST(Program, HelpListsEveryCommand) {
  for (const std::string word : {"--help", "-h"}) {
    const Result result = run_program({word});
    EXPECT_EQ(result.code, kDone);
    EXPECT_EQ(result.err, "");
    EXPECT_TRUE(is_plain_ascii(result.out));
    for (const Command& command : all_commands()) {
      EXPECT_THAT(result.out, HasSubstr("\n  " + std::string(command.name) + " "));
      EXPECT_THAT(result.out, HasSubstr(std::string(command.summary) + "\n"));
    }
  }
}

TEST(Program, HelpOfACommandListsEveryOption) {
  for (const Command& command : all_commands()) {
    const Result result = run_program({std::string(command.name), "--help"});
    EXPECT_EQ(result.code, kDone);
    EXPECT_EQ(result.err, "");
    EXPECT_TRUE(is_plain_ascii(result.out));
    EXPECT_THAT(result.out, HasSubstr("usage: blindfl " + std::string(command.name)));
    for (const Option& option : command.options) {
      EXPECT_THAT(result.out, HasSubstr("\n  --" + std::string(option.name) + " "));
      EXPECT_THAT(result.out, HasSubstr(std::string(option.summary)));
    }
    EXPECT_EQ(run_program({std::string(command.name), "--nonsense", "-h"}).out, result.out);
  }
}

TEST(Program, CommandsAndTheirOptionsHaveNamesOfTheirOwn) {
  std::set<std::string_view> commands;
  for (const Command& command : all_commands()) {
    EXPECT_THAT(std::string(command.name), MatchesRegex("[a-z][a-z0-9-]*"));
    EXPECT_FALSE(command.summary.empty());
    EXPECT_TRUE(commands.insert(command.name).second) << command.name;
    EXPECT_NE(command.run, nullptr);
    std::set<std::string_view> options = {"help"};
    for (const Option& option : command.options) {
      EXPECT_THAT(std::string(option.name), MatchesRegex("[a-z][a-z0-9-]*"));
      EXPECT_FALSE(option.summary.empty());
      EXPECT_TRUE(options.insert(option.name).second) << command.name << " --" << option.name;
    }
  }
}

TEST(Program, KnowsItsVersion) {
  const Result result = run_program({"--version"});
  EXPECT_EQ(result.code, kDone);
  EXPECT_THAT(result.out, MatchesRegex("blindfl [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(Program, ShowsHelpIfThereIsNothingToDo) {
  const Result result = run_program({});
  EXPECT_EQ(result.code, kWrongUsage);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, run_program({"--help"}).out);
}

TEST(Program, SuggestsTheNearestCommand) {
  const Result result = run_program({"kegyen", "--name", "x"});
  EXPECT_EQ(result.code, kWrongUsage);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "blindfl: there is no command 'kegyen'; did you mean keygen?\nSee: blindfl --help\n");
  EXPECT_EQ(run_program({"xyzzy"}).err, "blindfl: there is no command 'xyzzy'\nSee: blindfl --help\n");
  EXPECT_EQ(run_program({""}).code, kWrongUsage);
  EXPECT_EQ(run_program({"--verbose"}).code, kWrongUsage);
}

TEST(Program, SuggestsTheNearestOption) {
  const Result result = run_program({"keygen", "--nane", "x"});
  EXPECT_EQ(result.code, kWrongUsage);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err,
            "blindfl keygen: there is no option --nane; did you mean --name?\nSee: blindfl keygen --help\n");
}

TEST(Program, TellsSuccessFromFailure) {
  const Result worked = run_test_program({"work"});
  EXPECT_EQ(worked.code, kDone);
  EXPECT_EQ(worked.out, "worked\n");
  EXPECT_EQ(worked.err, "");

  const Result broke = run_test_program({"break"});
  EXPECT_EQ(broke.code, kFailed);
  EXPECT_EQ(broke.out, "");
  EXPECT_EQ(broke.err, "blindfl break: a.csv: is?missing\n") << "an error is one line";

  const Result grew = run_test_program({"grow"});
  EXPECT_EQ(grew.code, kFailed);
  EXPECT_THAT(grew.err, StartsWith("blindfl grow: "));

  EXPECT_EQ(run_test_program({"work", "--hard"}).code, kWrongUsage);
}

TEST(Program, FailsIfItsOutputIsLost) {
  std::ostream closed(nullptr);
  std::ostringstream err;
  const std::vector<std::string> args = {"work"};
  EXPECT_EQ(run(kCommands, args, closed, err), kFailed);
  EXPECT_THAT(err.str(), HasSubstr("output cannot be written"));
}

TEST(Program, PassesNoControlCharactersToTheTerminal) {
  const Result result = run_program({"keygen", "--\x1B[2J\n"});
  EXPECT_EQ(result.code, kWrongUsage);
  EXPECT_TRUE(is_plain_ascii(result.err));
  EXPECT_THAT(run_program({"\x1B[2J\x7F"}).err, AllOf(HasSubstr("'?[2J?'"), StartsWith("blindfl: ")));
}

}  // namespace
}  // namespace blindfl::app::run_test

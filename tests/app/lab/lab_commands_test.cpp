#include "blindfl/app/lab/lab_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "blindfl/app/commands/run.h"
#include "testing/scratch_folder.h"

namespace blindfl::app::lab_commands_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct Said {
  int code = -1;
  std::string out;
  std::string err;
};

Said run_lab(const std::vector<std::string>& words) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = run(lab_commands(), words, out, err, kLab);
  return {.code = code, .out = out.str(), .err = err.str()};
}

TEST(LabCommands, CallThemselvesByTheirProgramsName) {
  const Said help = run_lab({"--help"});
  EXPECT_EQ(help.code, kDone);
  EXPECT_THAT(help.out, AllOf(HasSubstr("usage: blindfl_lab COMMAND [OPTIONS]"), HasSubstr("\n  paper ")));
  EXPECT_THAT(run_lab({"--version"}).out, StartsWith("blindfl_lab "));
  EXPECT_EQ(run_lab({"--manual"}).code, kWrongUsage);
  const Said wrong = run_lab({"papr"});
  EXPECT_EQ(wrong.code, kWrongUsage);
  EXPECT_THAT(wrong.err, AllOf(StartsWith("blindfl_lab: there is no command 'papr'; did you mean paper?"),
                               HasSubstr("See: blindfl_lab --help")));
}

TEST(LabCommands, PapersHelpHasTheNamesOfAllTablesAndFigures) {
  const Said help = run_lab({"paper", "--help"});
  EXPECT_EQ(help.code, kDone);
  EXPECT_THAT(help.out, HasSubstr("usage: blindfl_lab paper --out FOLDER"));
  for (const char* name : {"table:efficiency", "figure:convergence", "table:width", "table:depth", "table:features"}) {
    EXPECT_THAT(help.out, HasSubstr(std::string("\n  ") + name + " "));
  }
}

TEST(LabCommands, AnUnknownTableIsAnErrorThatNamesTheNearest) {
  const testing::ScratchFolder folder;
  const std::string out = folder.path().string();
  const Said near = run_lab({"paper", "--out", out, "--only", "table:widht"});
  EXPECT_EQ(near.code, kWrongUsage);
  EXPECT_THAT(near.err, HasSubstr("there is no table or figure 'table:widht'; did you mean table:width?"));
  const Said far = run_lab({"paper", "--out", out, "--only", "q"});
  EXPECT_EQ(far.code, kWrongUsage);
  EXPECT_THAT(far.err, HasSubstr("there are table:efficiency, "));
  EXPECT_EQ(folder.count(), 0);  // nothing was begun
  const Said nowhere = run_lab({"paper", "--only", "table:width"});
  EXPECT_THAT(nowhere.err, HasSubstr("--out is missing"));
}

}  // namespace
}  // namespace blindfl::app::lab_commands_test

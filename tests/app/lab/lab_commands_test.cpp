#include "blindfl/app/lab/lab_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "blindfl/app/commands/run.h"
#include "blindfl/lab/paper/machine.h"
#include "testing/scratch_folder.h"

namespace blindfl::app::lab_commands_test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
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
  for (const char* name :
       {"table:efficiency", "figure:convergence", "table:width", "table:depth", "table:features", "table:parties"}) {
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
  const Said whole = run_lab({"paper", "--out", out, "--quick", "--whole", "table:widht"});
  EXPECT_THAT(whole.err, HasSubstr("there is no table or figure 'table:widht'; did you mean table:width?"));
  EXPECT_THAT(run_lab({"paper", "--out", out, "--whole", "table:width"}).err, HasSubstr("--whole is for --quick"));
  EXPECT_EQ(folder.count(), 0);  // nothing was begun
  const Said nowhere = run_lab({"paper", "--only", "table:width"});
  EXPECT_THAT(nowhere.err, HasSubstr("--out is missing"));
}

/// Puts a folder in the place of PATH, so that its programs are all that is installed.
class OnlyPrograms {
 public:
  explicit OnlyPrograms(const std::filesystem::path& folder) : path_(std::getenv("PATH")) {
    EXPECT_EQ(setenv("PATH", folder.c_str(), 1), 0);
  }
  OnlyPrograms(const OnlyPrograms&) = delete;
  OnlyPrograms& operator=(const OnlyPrograms&) = delete;
  ~OnlyPrograms() { (void)setenv("PATH", path_.c_str(), 1); }

 private:
  std::string path_;
};

void install(const std::filesystem::path& program, const std::string& script) {
  std::ofstream(program) << "#!/bin/sh\n" << script;
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
}

TEST(LabCommands, PeersMeasuresOurOwnAndSaysWhatIsNotInstalled) {
  const testing::ScratchFolder nothing;
  const OnlyPrograms none(nothing.path());
  const Said said = run_lab({"peers"});
  EXPECT_EQ(said.code, kDone) << said.err;
  const std::string batch = "s, a mini-batch of 128 rows: logistic regression, 123 features of which 14 are 1\n";
  for (const char* name : {"BlindFL, open top", "BlindFL, shared top", "plain libtorch, all columns at one party"}) {
    EXPECT_THAT(said.out, ContainsRegex(std::string("\n") + name + ": [0-9.]+ m?" + batch));
  }
  EXPECT_THAT(said.out, HasSubstr("python-paillier: not installed: python3 has no module 'phe'\n"));
  EXPECT_THAT(said.out, HasSubstr("CrypTen: not installed: python3 has no module 'crypten'\n"));
  EXPECT_THAT(said.out, HasSubstr("MP-SPDZ: not installed: there is no semi2k-party.x in the folders of PATH\n"));
}

TEST(LabCommands, PeersSaysWhatIsInstalled) {
  const testing::ScratchFolder programs;
  // All that is asked of it: two modules, their measurements, and MP-SPDZ's script, in the folder with the program.
  install(programs / "python3",
          "case \"$2\" in\n"
          "*find_spec*) echo True;;\n"
          "*generate_paillier_keypair*) printf 'encrypt a number, 2048 bits\\t0.25\\ndecrypt it\\t0.125\\n';;\n"
          "*crypten*) printf 'a mini-batch of its own\\t0.5\\n';;\n"
          "-E) case \"$1 $3 $4\" in\n"
          "  */Scripts/compile-run.py\\ semi2k\\ blindfl_peer.mpc) read -r first < blindfl_peer.mpc; echo \"$first\"\n"
          "    echo 'Compiling file blindfl_peer.mpc'\n"
          "    echo 'Time = 0.9 seconds '; echo 'Time1 = 0.75 seconds (1.5 MB, 90 rounds)';;\n"
          "  esac;;\n"
          "esac\n");
  install(programs / "semi2k-party.x", "");
  std::filesystem::create_directory(programs / "Scripts");
  install(programs / "Scripts" / "compile-run.py", "");
  const OnlyPrograms these(programs.path());
  const Said said = run_lab({"peers"});
  EXPECT_EQ(said.code, kDone) << said.err;
  EXPECT_THAT(said.out, AllOf(HasSubstr("python-paillier: 250 ms, encrypt a number, 2048 bits\n"),
                              HasSubstr("python-paillier: 125 ms, decrypt it\n")));
  EXPECT_THAT(said.out, HasSubstr("CrypTen: 500 ms, a mini-batch of its own\n"));
  EXPECT_THAT(said.out, HasSubstr("MP-SPDZ: 75 ms, semi2k, triplets included, and dense: a mini-batch of 128 rows"));
  EXPECT_THAT(said.out, Not(HasSubstr("installed")));
}

TEST(LabCommands, PeersSaysWhyAnInstalledPeerWasNotMeasured) {
  const testing::ScratchFolder programs;
  install(programs / "python3",
          "case \"$2\" in\n"
          "*find_spec*) echo True;;\n"
          "*generate_paillier_keypair*) echo 'ValueError: no' >&2; exit 1;;\n"
          "-E) echo 'Time1 = soon'; echo 'Fatal error: no triplets' >&2;;\n"
          "esac\n");
  install(programs / "semi2k-party.x", "");
  const OnlyPrograms these(programs.path());
  const Said without = run_lab({"peers"});
  EXPECT_THAT(without.out, HasSubstr("python-paillier: installed, but its measurement failed: ValueError: no\n"));
  EXPECT_THAT(without.out, HasSubstr("CrypTen: installed, but its measurement failed\n"));
  EXPECT_THAT(without.out, HasSubstr("compile-run.py is missing, with which its programs are run\n"));
  std::filesystem::create_directory(programs / "Scripts");
  install(programs / "Scripts" / "compile-run.py", "");
  EXPECT_THAT(run_lab({"peers"}).out,
              HasSubstr("MP-SPDZ: installed, but its measurement failed: Fatal error: no triplets\n"));
}

TEST(LabCommands, PapersCellsAreOfThisBuild) {
  const testing::ScratchFolder folder;
  const Said said = run_lab({"paper", "--out", folder.path().string(), "--quick", "--only", "table:parties"});
  EXPECT_EQ(said.code, kDone) << said.err;
  EXPECT_THAT(said.out, HasSubstr("cell 4 of 4  5 A's, LR  "));
  const std::string build = lab::paper::this_build();
  std::size_t cells = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "cells")) {
    EXPECT_THAT(testing::content_of(entry.path()), HasSubstr("\"build\":\"" + build + "\""));
    ++cells;
  }
  EXPECT_EQ(cells, 4U);
  EXPECT_THAT(testing::content_of(folder / "paper.md"), HasSubstr("\n| 5 | "));
}

TEST(LabCommands, PapersPageSaysWhatIsWholeInAQuickRun) {
  const testing::ScratchFolder folder;
  const Said said = run_lab(
      {"paper", "--out", folder.path().string(), "--quick", "--whole", "table:parties", "--only", "table:parties"});
  EXPECT_EQ(said.code, kDone) << said.err;
  const std::string page = testing::content_of(folder / "paper.md");
  EXPECT_THAT(page, AllOf(HasSubstr("`blindfl_lab paper --out FOLDER --quick --whole table:parties`"),
                          HasSubstr("some of the rows; whole: table:parties\n"),
                          HasSubstr("\n`blindfl_lab paper --out FOLDER --only table:parties`\n")));
}

}  // namespace
}  // namespace blindfl::app::lab_commands_test

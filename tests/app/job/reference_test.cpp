#include "blindfl/app/job/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "blindfl/app/job/job.h"
#include "blindfl/base/error.h"
#include "blindfl/base/text.h"
#include "testing/scratch_folder.h"
#include "testing/thrown.h"

namespace blindfl::app::job::reference_test {
namespace {

using blindfl::testing::content_of;
using blindfl::testing::message_of;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Reference, IsThePageInTheDocuments) {
  const std::string page = content_of(BLINDFL_DOCS "/parameters.md");
  EXPECT_EQ(page == reference_page(), true) << "docs/parameters.md is not what the structs say; write it again:\n"
                                               "  build/release/bin/blindfl parameters --markdown > docs/parameters.md";
}

void expect_described(const Entries& section, const std::string& key) {
  std::set<std::string_view> names;
  for (const Entry& entry : section.all) {
    const std::string inner = joined(key, entry.name);
    EXPECT_THAT(std::string(entry.name), MatchesRegex("[a-z][a-z0-9_]*"));
    EXPECT_TRUE(names.insert(entry.name).second) << inner;
    EXPECT_FALSE(entry.meaning.empty()) << inner;
    EXPECT_TRUE(is_printable(entry.meaning)) << inner;
    EXPECT_FALSE(entry.meaning.ends_with('.')) << inner;
    EXPECT_EQ(entry.meaning.find('|'), std::string_view::npos) << inner << ": it is in a table";
    for (const std::string_view synonym : entry.rule.synonyms) {
      EXPECT_EQ(section.find(synonym), nullptr) << inner << ": " << synonym << " is an option itself";
    }
    if (entry.form == Entry::Form::kOption) {
      EXPECT_TRUE(entry.rule.needed || !entry.write().empty() || !entry.rule.otherwise.empty())
          << inner << " has no default, and does not say what happens without";
    } else {
      expect_described(entry.entries, inner);
    }
  }
}

TEST(Reference, DescribesEveryOption) {
  Job job;
  expect_described(entries_of(job), {});
}

void expect_rows(const Entries& section, const std::string& key, const std::string& page, const std::string& text) {
  for (const Entry& entry : section.all) {
    const std::string inner = joined(key, entry.name);
    if (entry.form != Entry::Form::kSection) {
      EXPECT_THAT(page, HasSubstr("\n| `" + std::string(entry.name) + "` | " + entry.type.one + " | "));
      EXPECT_THAT(page, HasSubstr("| " + std::string(entry.meaning) + " |\n"));
      EXPECT_THAT(text, HasSubstr("\n  " + std::string(entry.name) + " "));
    }
    const std::string table = entry.form == Entry::Form::kList ? inner + "[]" : inner;
    if (entry.form != Entry::Form::kOption) expect_rows(entry.entries, table, page, text);
  }
}

TEST(Reference, HasARowForEveryOption) {
  Job job;
  const std::string page = reference_page();
  expect_rows(entries_of(job), {}, page, reference_text());
  for (const std::string section : {"shared.model", "shared.model.dlrm", "shared.training.schedule[]", "private",
                                    "private.data.columns[]", "private.data.columns[].vocabulary", "private.run"}) {
    EXPECT_THAT(page, HasSubstr("\n## " + section + "\n"));
  }
  EXPECT_THAT(
      page,
      HasSubstr(
          "| `epochs` | whole number from 1 to 1000000 | 10, or as many as make 1000 steps | passes over the training "
          "rows |"));
  EXPECT_THAT(page, HasSubstr("| `threads` | whole number from 1 to 4096 | one per core | threads that compute |"));
  EXPECT_THAT(page, HasSubstr("| `party` | one of a, b | needed |"));
}

TEST(Reference, ShowsAJobThatIsOne) {
  const std::string page = reference_page();
  const std::size_t begin = page.find("```yaml\n") + 8;
  const Job job = parse_job(page.substr(begin, page.find("```\n", begin) - begin), {.source = "docs"});
  EXPECT_EQ(job.own.data.label_column, "defaulted");
}

TEST(ReferenceText, CanBeOfOneSectionOrOption) {
  const std::string training = reference_text("shared.training");
  EXPECT_THAT(training, StartsWith("shared.training: how it is trained\n  epochs "));
  EXPECT_THAT(training, HasSubstr("\nshared.training.early_stopping: "));
  EXPECT_THAT(training, HasSubstr("\nshared.training.schedule[]: "));
  EXPECT_THAT(training, Not(HasSubstr("shared.model")));
  EXPECT_EQ(reference_text("shared.training.epochs"),
            "shared.training: how it is trained\n"
            "  epochs              passes over the training rows (whole number from 1 to 1000000; if left out: 10, or "
            "as many "
            "as make\n"
            "                      1000 steps)\n");
  EXPECT_THAT(reference_text("private.data.columns"), HasSubstr("\nprivate.data.columns[].vocabulary: "));
  EXPECT_THAT(reference_text("private"), HasSubstr("\nprivate.run: "));
  EXPECT_EQ(message_of<ConfigError>([] { (void)reference_text("shared.trainin"); }),
            "there is no 'shared.trainin' in a job file; did you mean shared.training?");
  EXPECT_EQ(message_of<ConfigError>([] { (void)reference_text("xyzzy"); }), "there is no 'xyzzy' in a job file");
}

TEST(ReferenceText, FitsATerminal) {
  std::istringstream lines(reference_text());
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 120U) << line;
    EXPECT_TRUE(is_printable(line)) << line;
  }
}

}  // namespace
}  // namespace blindfl::app::job::reference_test

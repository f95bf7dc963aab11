#include "blindfl/app/torch/resume_options.h"

#include <algorithm>
#include <string_view>

#include "blindfl/app/job/kept_job.h"
#include "blindfl/base/error.h"
#include "blindfl/base/text.h"

namespace blindfl::app {

train::ResumeOptions ResumeOptions::program_words() {
  train::ResumeOptions words;
  words.way_back = "`blindfl resume --go-back`";
  words.way_out =
      "check that private.run.folder names the same run at both, or start a new run with `blindfl train` and another "
      "folder";
  return words;
}

void require_same_as(std::vector<std::string> names, const job::Job& job, std::string_view was,
                     std::string_view wanted) {
  std::vector<std::string> said = job.own.link.names_of_as();
  const bool is_b = job.own.party == Party::kB;
  if (!is_b) {
    std::ranges::sort(names);
    std::ranges::sort(said);
  }
  const auto words = [](const std::vector<std::string>& all) { return all.empty() ? "one A" : listed(all); };
  require<ConfigError>(names == said, is_b ? "private.link.peers" : "private.link.others", ": ", was, " with ",
                       words(names), ", and the job is with ", words(said), "; ", wanted, ", in B's order");
}

void require_same_options(const std::filesystem::path& folder, const job::Job& job) {
  const std::filesystem::path kept = folder / "job.yaml";
  if (!std::filesystem::exists(kept)) return;
  const job::Job began = job::load_kept(kept);
  require_same_as(began.own.link.names_of_as(), job, "the run began", "all that began it resume it");
  const std::vector<std::string> changes = job::changes(began, job);
  if (changes.empty()) return;
  std::string text;
  for (const std::string& change : changes) text.append(text.empty() ? "" : "; ").append(change);
  const bool longer = std::ranges::any_of(
      changes, [](std::string_view change) { return change.starts_with("shared.training.epochs "); });
  fail<ConfigError>("this run began with other options: ", text,
                    ". Resume it with those that it began with, which are in ", kept.string(),
                    longer ? "; how far it goes is said by `blindfl resume --epochs N`" : "",
                    "; or start a new run with another private.run.folder");
}

}  // namespace blindfl::app

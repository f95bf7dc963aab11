#include "blindfl/app/torch/resume_options.h"

#include <algorithm>
#include <string_view>

#include "blindfl/app/job/kept_job.h"
#include "blindfl/base/error.h"

namespace blindfl::app {

train::ResumeOptions ResumeOptions::program_words() {
  train::ResumeOptions words;
  words.way_back = "`blindfl resume --go-back`";
  words.way_out =
      "check that private.run.folder names the same run at both, or start a new run with `blindfl train` and another "
      "folder";
  return words;
}

void require_same_options(const std::filesystem::path& folder, const job::Job& job) {
  const std::filesystem::path kept = folder / "job.yaml";
  if (!std::filesystem::exists(kept)) return;
  const std::vector<std::string> changes = job::changes(job::load_kept(kept), job);
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

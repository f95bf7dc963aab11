#include "blindfl/app/resume_options.h"

#include <algorithm>
#include <string_view>

#include "blindfl/app/job/kept_job.h"
#include "blindfl/base/error.h"

namespace blindfl::app {

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

void confirm_going_back(const ResumeOptions& options, const RunOffer& mine, const RunOffer& theirs,
                        std::uint64_t step) {
  if (newer_than(mine, step) <= 1 || options.go_back) return;
  const std::string words = words_of_going_back(mine, theirs, step);
  if (options.confirm && options.confirm(words + ". Go back?")) return;
  fail<ConfigError>(words,
                    ". `blindfl resume --go-back` does that; or let the peer bring its newer checkpoints back first");
}

}  // namespace blindfl::app

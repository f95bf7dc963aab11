#include "blindfl/train/run_start.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <utility>

#include "blindfl/base/error.h"

namespace blindfl::train {

namespace {

namespace fs = std::filesystem;

/// Whether all that is in a folder is what a process leaves that was killed while it made a run's folder.
bool is_only_begun(const fs::path& folder) {
  const std::set<std::string> known = {"run.lock", "events", "checkpoints", "model"};
  return std::ranges::all_of(fs::directory_iterator(folder), [&](const fs::directory_entry& entry) {
    const std::string name = entry.path().filename().string();
    return known.contains(name) || name.ends_with(".blindfl-part");
  });
}

run::RunFolder new_run(Party party, const std::string& name, const fs::path& path) {
  run::RunSummary summary;
  summary.party = party;
  summary.run = name;
  summary.started = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return run::RunFolder::create(path, summary);
}

}  // namespace

std::optional<run::RunFolder> open_run(const fs::path& path, Party party, std::string_view option) {
  if (!fs::exists(path) || (fs::is_directory(path) && fs::is_empty(path))) return std::nullopt;
  if (!fs::exists(path / "summary.json")) {
    require<ConfigError>(fs::is_directory(path) && is_only_begun(path), path.string(),
                         ": is not the folder of a run; name another ", option);
    fs::remove_all(path);
    return std::nullopt;
  }
  return run::RunFolder::reopen(path, party, run::read_summary(path).run);
}

void remove_run(const fs::path& folder) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename() != "summary.json") fs::remove_all(entry.path());
  }
  fs::remove_all(folder);
}

RunOffer offer_of(const run::RunFolder& folder) {
  RunOffer offer;
  offer.run = folder.summary().run;
  for (const run::SavedStep& saved : folder.checkpoints()) {
    if (offer.steps.size() < RunOffer::kMostSteps) offer.steps.push_back(saved.step);
  }
  return offer;
}

StartedRun start_run(const protocol::Sessions& sessions, const fs::path& path, const ResumeOptions& options) {
  std::optional<run::RunFolder> folder = open_run(path, sessions.party());
  const RunOffer mine = folder ? offer_of(*folder) : RunOffer{};
  const std::vector<RunOffer> theirs = exchange_offers(sessions, mine);
  const std::optional<std::uint64_t> step = common_step(mine, theirs, options);
  if (step) {
    confirm_going_back(options, mine, theirs, *step);
    return {.folder = std::move(folder.value()), .resumed = step};
  }
  // Nothing was trained yet: all begin anew.
  if (folder) {
    folder.reset();
    remove_run(path);
  }
  return {.folder = new_run(sessions.party(), name_of_new_run(sessions, theirs), path)};
}

}  // namespace blindfl::train

#include "blindfl/app/torch/early_ledger.h"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <string>
#include <system_error>

namespace blindfl::app {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLedgerEnding = ".ledger";

std::string early_ledger_prefix(const fs::path& absolute_folder) {
  std::string name(1, '.');
  return name.append(absolute_folder.filename().string()).append(".");
}

/// Of several links, `number` is from 2 on for all but the first.
fs::path early_ledger_path(const fs::path& folder, std::size_t number) {
  const fs::path path = fs::absolute(folder);
  std::string name = early_ledger_prefix(path).append(std::to_string(::getpid()));
  if (number > 1) name.append("-").append(std::to_string(number));
  return path.parent_path() / name.append(kLedgerEnding);
}

/// Whether the middle of a name is the number of a process that is gone.
bool is_of_the_dead(std::string_view digits) {
  pid_t process = 0;
  digits = digits.substr(0, digits.find('-'));
  const char* const end = digits.data() + digits.size();
  const std::from_chars_result read = std::from_chars(digits.data(), end, process);
  if (read.ec != std::errc{} || read.ptr != end || process <= 0) return false;
  return ::kill(process, 0) != 0 && errno == ESRCH;
}

}  // namespace

LedgerPlace::LedgerPlace(bool is_written, const fs::path& folder, const job::Link& link,
                         const std::optional<run::RunFolder>& opened) {
  for (const job::PeerLink& peer : link.peers) names_.push_back(peer.name);
  if (names_.empty()) names_.emplace_back();
  for (std::size_t i = 0; i < names_.size(); ++i) early_.push_back(early_ledger_path(folder, i + 1));
  if (!is_written) return;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (!opened) fs::remove(early_[i]);
    paths_.push_back(opened ? opened->new_ledger_path(names_[i]) : early_[i]);
  }
}

LedgerPlace::~LedgerPlace() {
  std::error_code ignored;
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    if (paths_[i] == early_[i]) fs::remove(early_[i], ignored);
  }
}

void LedgerPlace::leave_folder() {
  for (std::size_t i = 0; i < paths_.size(); ++i) move_to(i, early_[i]);
}

void LedgerPlace::enter_folder(const run::RunFolder& folder) {
  for (std::size_t i = 0; i < paths_.size(); ++i) move_to(i, folder.new_ledger_path(names_[i]));
}

void LedgerPlace::move_to(std::size_t link, const fs::path& place) {
  fs::rename(paths_[link], place);
  paths_[link] = place;
}

void remove_old_early_ledgers(const fs::path& folder) {
  const fs::path path = fs::absolute(folder);
  const std::string prefix = early_ledger_prefix(path);
  for (const fs::directory_entry& entry : fs::directory_iterator(path.parent_path())) {
    const std::string name = entry.path().filename().string();
    if (name.size() <= prefix.size() + kLedgerEnding.size()) continue;
    if (!name.starts_with(prefix) || !name.ends_with(kLedgerEnding)) continue;
    const std::string_view number =
        std::string_view(name).substr(prefix.size(), name.size() - prefix.size() - kLedgerEnding.size());
    std::error_code ignored;
    if (is_of_the_dead(number)) fs::remove(entry.path(), ignored);
  }
}

}  // namespace blindfl::app

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

fs::path early_ledger_path(const fs::path& folder) {
  const fs::path path = fs::absolute(folder);
  return path.parent_path() / early_ledger_prefix(path).append(std::to_string(::getpid())).append(kLedgerEnding);
}

/// Whether the middle of a name is the number of a process that is gone.
bool is_of_the_dead(std::string_view digits) {
  pid_t process = 0;
  const char* const end = digits.data() + digits.size();
  const std::from_chars_result read = std::from_chars(digits.data(), end, process);
  if (read.ec != std::errc{} || read.ptr != end || process <= 0) return false;
  return ::kill(process, 0) != 0 && errno == ESRCH;
}

}  // namespace

LedgerPlace::LedgerPlace(bool is_written, const fs::path& folder, const std::optional<run::RunFolder>& opened)
    : early_(early_ledger_path(folder)) {
  if (!is_written) return;
  if (opened) {
    path_ = opened->new_ledger_path();
  } else {
    fs::remove(early_);
    path_ = early_;
  }
}

LedgerPlace::~LedgerPlace() {
  std::error_code ignored;
  if (path_ == early_) fs::remove(early_, ignored);
}

void LedgerPlace::move_to(const fs::path& place) {
  if (!path_) return;
  fs::rename(*path_, place);
  path_ = place;
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

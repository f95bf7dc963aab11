#include "blindfl/run/run_folder.h"

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <functional>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include "blindfl/base/atomic_file.h"
#include "blindfl/base/disk_file.h"
#include "blindfl/base/error.h"

namespace blindfl::run {

namespace {

constexpr mode_t kOwnerOnly = 0700;
constexpr std::string_view kLockName = "run.lock";
constexpr std::string_view kCheckpoints = "checkpoints";
constexpr std::string_view kLedger = "transcript";
constexpr std::string_view kLedgerEnding = ".ledger";
constexpr std::string_view kStepPrefix = "step-";
constexpr std::string_view kStepEnding = ".ckpt";
constexpr std::size_t kStepDigits = 12;

std::string reason(int error) {
  return std::generic_category().message(error);
}

void make_folder(const std::filesystem::path& path) {
  const bool made = mkdir(path.c_str(), kOwnerOnly) == 0;
  const int problem = errno;
  require<ConfigError>(made || problem == EEXIST, path.string(), ": cannot be created: ", reason(problem),
                       "; check that the folder above it exists and that you may write to it");
  std::error_code unreadable;
  require<ConfigError>(std::filesystem::is_directory(path, unreadable), path.string(),
                       ": is not a folder; choose another one for the run");
}

/// The number that the process with the lock wrote down, for the error: nothing hangs on it.
std::string holder(DiskFile& lock) {
  std::array<std::byte, 16> bytes{};
  const std::size_t have = lock.read_some(bytes);
  std::string digits;
  for (const std::byte b : std::span(bytes).first(have)) {
    const char c = static_cast<char>(b);
    if (c < '0' || c > '9') break;
    digits += c;
  }
  return digits.empty() ? "" : ", number " + digits + ",";
}

// The system drops the lock when its process ends, however it ends. The file stays: unlinked, two could lock two files.
DiskFile locked(const std::filesystem::path& folder) {
  DiskFile lock = DiskFile::open_or_create(folder / kLockName, Readers::kOwner);
  const bool done = flock(lock.descriptor(), LOCK_EX | LOCK_NB) == 0;
  const int problem = errno;
  require<ConfigError>(done || problem != EWOULDBLOCK, folder.string(), ": another process", done ? "" : holder(lock),
                       " uses this run's folder; wait for its end, or name another folder");
  require<ConfigError>(done, folder.string(), ": cannot be locked: ", reason(problem),
                       "; put the run's folder on a disk that has locks");
  lock.cut(0);
  lock.seek(0);
  lock.write(as_bytes(std::to_string(getpid()) + "\n"));
  return lock;
}

void require_empty(const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    require<ConfigError>(entry.path().filename() == kLockName, folder.string(),
                         ": holds another run, or other files, and nothing is overwritten; name another folder, or "
                         "resume the run that is there");
  }
}

/// The number in a file's name; nothing if it has another form.
std::optional<std::uint64_t> number_in(std::string_view name, std::string_view prefix, std::string_view ending) {
  if (name.size() <= prefix.size() + ending.size() || !name.starts_with(prefix) || !name.ends_with(ending)) {
    return std::nullopt;
  }
  const std::string_view digits = name.substr(prefix.size(), name.size() - prefix.size() - ending.size());
  std::uint64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const std::from_chars_result read = std::from_chars(digits.data(), end, value);
  return read.ec == std::errc{} && read.ptr == end ? std::optional(value) : std::nullopt;
}

std::filesystem::path numbered_ledger(const std::filesystem::path& folder, std::string_view link,
                                      std::uint64_t number) {
  std::string name(kLedger);
  if (!link.empty()) name.append("-").append(link);
  if (number > 1) name.append("-").append(std::to_string(number));
  return folder / name.append(kLedgerEnding);
}

bool is_there(const std::filesystem::path& path) {
  std::error_code unreadable;
  return std::filesystem::exists(std::filesystem::symlink_status(path, unreadable));
}

}  // namespace

RunFolder::RunFolder(std::filesystem::path path)
    : path_(std::move(path)), lock_(std::make_unique<DiskFile>(locked(path_))) {}
RunFolder::RunFolder(RunFolder&&) noexcept = default;
RunFolder::~RunFolder() = default;

RunFolder RunFolder::create(const std::filesystem::path& path, const RunSummary& summary) {
  // First, so that a summary that cannot be written leaves no folder.
  (void)summary_text(summary);
  make_folder(path);
  RunFolder folder(path);
  remove_leftovers(path);
  require_empty(path);
  // One that was there may have been open to others.
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  for (const auto& inside : {folder.events_path(), path / kCheckpoints, folder.model_path()}) make_folder(inside);
  folder.summary_ = summary;
  folder.write_summary(summary);
  flush_name_to_disk(path);
  return folder;
}

RunSummary read_summary(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "summary.json";
  DiskFile file = DiskFile::open(path);
  // One byte more than there may be: `parse_summary` refuses what fills it.
  std::string text(kMaxSummaryBytes + 1, '\0');
  text.resize(file.read_some(std::as_writable_bytes(std::span(text))));
  return parse_summary(text, path.string());
}

RunFolder RunFolder::reopen(const std::filesystem::path& path, Party party, std::string_view run) {
  require<ConfigError>(is_there(path / "summary.json"), path.string(),
                       ": holds no run; name the folder of a run that stopped");
  RunFolder folder(path);
  folder.summary_ = read_summary(folder.path_);
  const RunSummary& found = folder.summary_;
  require<ConfigError>(found.party == party && found.run == run, path.string(), ": belongs to ", folder.owner(),
                       ", and not to party ", blindfl::name_of(party), " of run ", run, "; name another folder");
  for (const auto& inside : {path, folder.events_path(), path / kCheckpoints, folder.model_path()}) {
    make_folder(inside);
    remove_leftovers(inside);
  }
  if (is_there(folder.view_path())) remove_leftovers(folder.view_path());
  return folder;
}

std::string RunFolder::owner() const {
  return "party " + std::string(blindfl::name_of(summary_.party)) + " of run " + summary_.run;
}

std::filesystem::path RunFolder::checkpoint_path(std::uint64_t step) const {
  std::string digits = std::to_string(step);
  digits.insert(0, kStepDigits - std::min(kStepDigits, digits.size()), '0');
  return path_ / kCheckpoints / std::string(kStepPrefix).append(digits).append(kStepEnding);
}

std::filesystem::path RunFolder::new_ledger_path(std::string_view link) const {
  for (std::uint64_t number = 1;; ++number) {
    std::filesystem::path path = numbered_ledger(path_, link, number);
    if (!is_there(path)) return path;
  }
}

std::vector<SavedStep> RunFolder::checkpoints() const {
  std::vector<SavedStep> found;
  for (const auto& entry : std::filesystem::directory_iterator(path_ / kCheckpoints)) {
    const auto step = number_in(entry.path().filename().string(), kStepPrefix, kStepEnding);
    if (step) found.push_back({*step, entry.path()});
  }
  std::ranges::sort(found, std::greater{}, &SavedStep::step);
  return found;
}

void RunFolder::write_summary(const RunSummary& summary) {
  require<InvalidArgument>(summary.party == summary_.party && summary.run == summary_.run, path_.string(),
                           ": belongs to ", owner(), "; the summary is another run's");
  write_text_atomically(summary_path(), summary_text(summary), Readers::kOwner);
  summary_ = summary;
}

void RunFolder::write_report(std::string_view html) {
  std::filesystem::remove(attacks_path());
  write_text_atomically(report_path(), html, Readers::kOwner);
}

void RunFolder::write_attacks(std::string_view html, const std::optional<std::string>& report) {
  write_text_atomically(attacks_path(), html, Readers::kOwner);
  if (report) write_text_atomically(report_path(), *report, Readers::kOwner);
}

void RunFolder::make_view_folder() const {
  make_folder(view_path());
}

}  // namespace blindfl::run

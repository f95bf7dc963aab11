#include "blindfl/base/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>

#include "blindfl/base/error.h"

namespace blindfl {

namespace {

constexpr std::size_t kBufferBytes = std::size_t{64} << 10;
constexpr std::string_view kEnding = ".blindfl-part";

// Several threads may write files at once.
std::atomic<unsigned> next_number = 0;

std::filesystem::path temporary_path(const std::filesystem::path& path) {
  std::ostringstream name;
  name << '.' << path.filename().string() << '.' << getpid() << '-' << next_number++ << kEnding;
  return path.parent_path() / name.str();
}

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_temporary_name(std::string_view name) {
  if (!name.starts_with('.') || !name.ends_with(kEnding)) return false;
  name.remove_suffix(kEnding.size());
  const std::size_t dot = name.rfind('.');
  const std::string_view numbers = name.substr(dot + 1);
  const std::size_t dash = numbers.find('-');
  return dot > 1 && dash != std::string_view::npos && is_number(numbers.substr(0, dash)) &&
         is_number(numbers.substr(dash + 1));
}

// A file that somebody else unlinked has no name any more, and could not be renamed.
bool has_name(int file) {
  struct stat status {};
  return fstat(file, &status) == 0 && status.st_nlink > 0;
}

// Whoever looks for leftovers may find a new file before it is locked. Then it is gone, and another is made.
DiskFile create_temporary(const std::filesystem::path& path, Readers readers) {
  require<ConfigError>(path.has_filename(), "'", path.string(), "': is not the name of a file");
  while (true) {
    const std::filesystem::path temporary = temporary_path(path);
    std::error_code unreadable;
    // Another machine's process, or one that was killed long ago, may have had the same number.
    if (std::filesystem::exists(std::filesystem::symlink_status(temporary, unreadable))) continue;
    DiskFile file = DiskFile::create(temporary, readers);
    // File systems without locks keep their leftovers.
    if (flock(file.descriptor(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) continue;
    if (has_name(file.descriptor())) return file;
  }
}

/// Removes a file if nobody writes to it any more, and says whether it did.
bool remove_abandoned(const std::filesystem::path& path) {
  const int file = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (file < 0) return false;
  struct stat status {};
  const bool abandoned = fstat(file, &status) == 0 && S_ISREG(status.st_mode) && flock(file, LOCK_EX | LOCK_NB) == 0;
  // Unlinked while it is locked: its writer, if it has one that was too slow to lock it, sees that it lost its name.
  const bool removed = abandoned && unlink(path.c_str()) == 0;
  close(file);
  return removed;
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path path, Readers readers)
    : path_(std::move(path)), file_(create_temporary(path_, readers)) {
  buffer_.reserve(kBufferBytes);
}

AtomicFile::~AtomicFile() {
  if (!committed_) unlink(file_.path().c_str());
}

void AtomicFile::write(ByteView bytes) {
  require<InvalidArgument>(!committed_, path_.string(), ": is complete, nothing can be added");
  if (buffer_.size() + bytes.size() > kBufferBytes) flush();
  if (bytes.size() > kBufferBytes) {
    file_.write(bytes);
  } else {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }
}

void AtomicFile::rewrite_beginning(ByteView bytes) {
  flush();
  file_.seek(0);
  file_.write(bytes);
  file_.seek(file_.size());
}

void AtomicFile::commit() {
  require<InvalidArgument>(!committed_, path_.string(), ": is complete already");
  flush();
  file_.flush_to_disk();
  // Renamed while it is open, and so locked: it must not be taken for a leftover.
  const int renamed = std::rename(file_.path().c_str(), path_.c_str());
  const int problem = errno;
  require<Error>(renamed == 0, path_.string(),
                 ": cannot be put in its place: ", std::generic_category().message(problem),
                 "; check what has that name");
  committed_ = true;
  file_.close();
  flush_name_to_disk(path_);
}

void AtomicFile::flush() {
  file_.write(buffer_);
  buffer_.clear();
}

void write_text_atomically(const std::filesystem::path& path, std::string_view text, Readers readers) {
  AtomicFile file(path, readers);
  file.write(as_bytes(text));
  file.commit();
}

std::vector<std::filesystem::path> remove_leftovers(const std::filesystem::path& folder) {
  std::error_code problem;
  std::filesystem::directory_iterator entries(folder.empty() ? "." : folder, problem);
  std::vector<std::filesystem::path> found;
  for (; !problem && entries != std::filesystem::directory_iterator(); entries.increment(problem)) {
    if (is_temporary_name(entries->path().filename().string())) found.push_back(entries->path());
  }
  require<DataError>(!problem, folder.string(), ": cannot be listed: ", problem.message());
  std::erase_if(found, [](const std::filesystem::path& path) { return !remove_abandoned(path); });
  std::ranges::sort(found);
  return found;
}

}  // namespace blindfl

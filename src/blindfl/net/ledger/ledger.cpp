#include "blindfl/net/ledger/ledger.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "blindfl/base/error.h"

namespace blindfl::net {

namespace {

constexpr mode_t kOwnerOnly = 0600;

std::string reason(int error) {
  return std::generic_category().message(error);
}

int create(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kOwnerOnly);
  if (file >= 0) return file;
  const int error = errno;
  require<DataError>(error != EEXIST, path.string(),
                     ": is there already, and a ledger is never overwritten; name another file, or move this one away");
  fail<DataError>(path.string(), ": cannot make the ledger (", reason(error),
                  "); check that its folder exists and that you may write there");
}

}  // namespace

Ledger::Ledger(std::filesystem::path path, const LedgerHead& head) : path_(std::move(path)) {
  // First, so that a head that cannot be written leaves no file.
  const std::string line = lines_.head(head);
  file_ = create(path_);
  try {
    append(line);
    flush();
  } catch (...) {
    release();
    // Nothing is in it yet, and the next attempt would stumble over it.
    ::unlink(path_.c_str());
    throw;
  }
}

Ledger::~Ledger() {
  try {
    close();
  } catch (...) {
    // Nobody can be told any more, but whoever reads the file will miss its closing line.
  }
  release();
}

void Ledger::write(Direction direction, const Message& message, std::uint32_t checksum) {
  const std::lock_guard lock(mutex_);
  require<InvalidArgument>(!closed_, path_.string(), ": the ledger is closed, a message came after its closing line");
  check_writable();
  append(lines_.message(direction, {message, checksum}));
  if (++unwritten_lines_ >= kLinesPerFlush) flush();
}

void Ledger::close() {
  const std::lock_guard lock(mutex_);
  check_writable();
  if (std::exchange(closed_, true)) return;
  append(lines_.closing());
  flush();
  if (::fsync(file_) != 0) fail_writing(errno);
  // Some file systems tell only now that there was no room.
  if (::close(std::exchange(file_, -1)) != 0) fail_writing(errno);
}

void Ledger::append(const std::string& line) {
  unwritten_ += line;
  unwritten_ += '\n';
}

void Ledger::flush() {
  std::string_view rest = unwritten_;
  while (!rest.empty()) {
    const ssize_t written = ::write(file_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_writing(errno);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  unwritten_.clear();
  unwritten_lines_ = 0;
}

void Ledger::fail_writing(int error) {
  failure_ = path_.string() + ": writing the ledger failed (" + reason(error) +
             "), and messages that are not recorded must not leave; make room on the disk, or write it elsewhere, "
             "and start again";
  throw DataError(failure_);
}

// After a failure the file may end within a line: what came later would not belong there.
void Ledger::check_writable() const {
  if (!failure_.empty()) throw DataError(failure_);
}

void Ledger::release() noexcept {
  if (file_ >= 0) ::close(std::exchange(file_, -1));
}

}  // namespace blindfl::net

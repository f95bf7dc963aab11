#include "blindfl/base/disk_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>

#include "blindfl/base/error.h"

namespace blindfl {

namespace {

constexpr mode_t kForOthers = S_IRWXG | S_IRWXO;

mode_t mode_for(Readers readers) {
  return readers == Readers::kOwner ? 0600 : 0644;
}

std::string reason(int error) {
  return std::generic_category().message(error);
}

struct stat status_of(int file, const std::filesystem::path& path) {
  struct stat status {};
  const bool done = fstat(file, &status) == 0;
  const int problem = errno;
  require<DataError>(done, path.string(), ": cannot be looked at: ", reason(problem));
  return status;
}

}  // namespace

DiskFile DiskFile::open(const std::filesystem::path& path) {
  return open_with(path, O_RDONLY);
}

DiskFile DiskFile::open_to_append(const std::filesystem::path& path) {
  return open_with(path, O_WRONLY | O_APPEND);
}

DiskFile DiskFile::open_with(const std::filesystem::path& path, int flags) {
  // Without waiting: a pipe, or a device, would keep whoever opens it until somebody writes.
  const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  const int problem = errno;
  DiskFile file(path, descriptor);
  require<DataError>(descriptor >= 0, path.string(), ": cannot be opened: ", reason(problem),
                     "; check the path and who may read it");
  require<DataError>(S_ISREG(status_of(descriptor, path).st_mode), path.string(),
                     ": is not an ordinary file; check the path");
  return file;
}

DiskFile DiskFile::create(const std::filesystem::path& path, Readers readers) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const int descriptor = ::open(path.c_str(), kFlags, mode_for(readers));
  const int problem = errno;
  DiskFile file(path, descriptor);
  require<ConfigError>(descriptor >= 0 || problem != EEXIST, path.string(),
                       ": exists already and is never overwritten; move it away, or choose another name or folder");
  require<ConfigError>(descriptor >= 0, path.string(), ": cannot be created: ", reason(problem),
                       "; check the folder and who may write to it");
  return file;
}

DiskFile DiskFile::open_or_create(const std::filesystem::path& path, Readers readers) {
  constexpr int kFlags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  const int descriptor = ::open(path.c_str(), kFlags, mode_for(readers));
  const int problem = errno;
  DiskFile file(path, descriptor);
  require<ConfigError>(descriptor >= 0, path.string(), ": cannot be opened or created: ", reason(problem),
                       "; check the folder and who may write to it");
  require<ConfigError>(S_ISREG(status_of(descriptor, path).st_mode), path.string(),
                       ": is not an ordinary file; move it away");
  return file;
}

DiskFile DiskFile::create_unnamed(const std::filesystem::path& folder) {
  std::string name = (folder / ".blindfl-XXXXXX").string();
  const int descriptor = ::mkostemp(name.data(), O_CLOEXEC);  // with mode 0600
  const int problem = errno;
  DiskFile file(folder, descriptor);
  require<ConfigError>(descriptor >= 0, folder.string(), ": no file can be made in this folder: ", reason(problem),
                       "; check that it is there and who may write to it");
  const bool unnamed = ::unlink(name.c_str()) == 0;
  require<ConfigError>(unnamed, folder.string(), ": a file that was made in this folder cannot be removed again");
  return file;
}

DiskFile::DiskFile(std::filesystem::path path, int file) : path_(std::move(path)), file_(file) {}

DiskFile::DiskFile(DiskFile&& other) noexcept : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)) {}

DiskFile::~DiskFile() {
  if (file_ >= 0) ::close(file_);
}

std::uint64_t DiskFile::size() const {
  return static_cast<std::uint64_t>(status_of(file_, path_).st_size);
}

bool DiskFile::is_private() const {
  return (status_of(file_, path_).st_mode & kForOthers) == 0;
}

std::size_t DiskFile::read_some(std::span<std::byte> out) {
  std::size_t have = 0;
  while (have < out.size()) {
    const ssize_t got = ::read(file_, out.data() + have, out.size() - have);
    if (got < 0 && errno == EINTR) continue;
    const int problem = errno;
    require<DataError>(got >= 0, path_.string(), ": cannot be read: ", reason(problem));
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  return have;
}

void DiskFile::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got = ::pread(file_, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    const int problem = errno;
    require<DataError>(got >= 0, path_.string(), ": cannot be read: ", reason(problem));
    require<DataError>(got > 0, path_.string(), ": ends too early; did something else write to it?");
    out = out.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
}

void DiskFile::seek(std::uint64_t offset) {
  const off_t reached = lseek(file_, static_cast<off_t>(offset), SEEK_SET);
  const int problem = errno;
  require<Error>(reached >= 0, path_.string(), ": cannot be read from another place: ", reason(problem));
}

void DiskFile::cut(std::uint64_t size) {
  require_written(ftruncate(file_, static_cast<off_t>(size)) == 0);
}

void DiskFile::require_written(bool done) const {
  const int problem = errno;
  require<Error>(done, path_.string(), ": cannot be written: ", reason(problem), "; check the disk");
}

void DiskFile::write(ByteView bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(file_, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    require_written(put >= 0);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

void DiskFile::flush_to_disk() {
  require_written(fsync(file_) == 0);
}

void DiskFile::close() {
  require_written(::close(std::exchange(file_, -1)) == 0);
}

void flush_name_to_disk(const std::filesystem::path& path) {
  const std::filesystem::path parent = path.parent_path();
  const int folder = ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // Some file systems cannot do this, or not for who may only write there: the file itself is complete all the same.
  if (folder < 0) return;
  (void)fsync(folder);
  ::close(folder);
}

}  // namespace blindfl

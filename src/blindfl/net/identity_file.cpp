#include "blindfl/net/identity_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "blindfl/base/error.h"

namespace blindfl::net {

namespace {

constexpr mode_t kForOthers = S_IRWXG | S_IRWXO;

class OpenFile {
 public:
  // Without waiting: a pipe, or a device, would keep whoever opens it until somebody writes.
  explicit OpenFile(const std::filesystem::path& path)
      : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {
    const int problem = errno;
    require<DataError>(file_ >= 0, path.string(), ": cannot be opened: ", std::strerror(problem),
                       "; check the path and who may read it");
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() { close(file_); }

  [[nodiscard]] struct stat status(const std::filesystem::path& path) const {
    struct stat status {};
    require<DataError>(fstat(file_, &status) == 0 && S_ISREG(status.st_mode), path.string(),
                       ": is not an ordinary file; name a .crt or .key file");
    return status;
  }

  [[nodiscard]] SecretVector<char> read_all(const std::filesystem::path& path, std::size_t size) const {
    require<DataError>(size <= kMaxIdentityFileBytes, path.string(), ": is longer than ", kMaxIdentityFileBytes,
                       " bytes, which no certificate or key is; name a .crt or .key file");
    // One byte more than there should be: a file that grows meanwhile fills it.
    SecretVector<char> content(size + 1);
    std::size_t have = 0;
    while (have < content.size()) {
      const ssize_t got = read(file_, content.data() + have, content.size() - have);
      if (got < 0 && errno == EINTR) continue;
      require<DataError>(got >= 0, path.string(), ": cannot be read: ", std::strerror(errno));
      if (got == 0) break;
      have += static_cast<std::size_t>(got);
    }
    require<DataError>(have == size, path.string(), ": changed while it was read; try again");
    content.resize(size);
    return content;
  }

 private:
  int file_;
};

// The name of a new file is in its folder, which is written separately.
void put_name_on_disk(const std::filesystem::path& path) {
  const std::filesystem::path parent = path.parent_path();
  const int folder = open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // Some file systems cannot do this, or not for who may only write there: the file itself is complete all the same.
  if (folder < 0) return;
  (void)fsync(folder);
  close(folder);
}

}  // namespace

NewFile::NewFile(std::filesystem::path path, For readers) : path_(std::move(path)) {
  const mode_t mode = readers == For::kOwner ? 0600 : 0644;
  file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  const int problem = errno;
  require<ConfigError>(file_ >= 0 || problem != EEXIST, path_.string(),
                       ": exists already and is never overwritten; move it away, or choose another name or folder");
  require<ConfigError>(file_ >= 0, path_.string(), ": cannot be created: ", std::strerror(problem),
                       "; check the folder and who may write to it");
}

NewFile::~NewFile() {
  if (file_ >= 0) close(file_);
  if (!kept_) unlink(path_.c_str());
}

void NewFile::write(std::string_view content) {
  const auto require_written = [this](bool done) {
    require<Error>(done, path_.string(), ": cannot be written: ", std::strerror(errno), "; check the disk");
  };
  while (!content.empty()) {
    const ssize_t put = ::write(file_, content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    require_written(put >= 0);
    content.remove_prefix(static_cast<std::size_t>(put));
  }
  require_written(fsync(file_) == 0);
  // Some file systems report only now that they could not store it.
  require_written(close(std::exchange(file_, -1)) == 0);
  put_name_on_disk(path_);
}

SecretVector<char> read_identity_file(const std::filesystem::path& path) {
  const OpenFile file(path);
  return file.read_all(path, static_cast<std::size_t>(file.status(path).st_size));
}

SecretVector<char> read_key_file(const std::filesystem::path& path) {
  const OpenFile file(path);
  const struct stat status = file.status(path);
  require<ConfigError>((status.st_mode & kForOthers) == 0, path.string(),
                       ": others than its owner may read or change this private key; run `chmod 600 '", path.string(),
                       "'`, and make a new identity if somebody may have read it");
  return file.read_all(path, static_cast<std::size_t>(status.st_size));
}

}  // namespace blindfl::net

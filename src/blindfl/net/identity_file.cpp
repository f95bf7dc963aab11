#include "blindfl/net/identity_file.h"

#include <unistd.h>

#include <span>

#include "blindfl/base/error.h"

namespace blindfl::net {

namespace {

SecretVector<char> read_all(DiskFile& file) {
  const std::uint64_t size = file.size();
  require<DataError>(size <= kMaxIdentityFileBytes, file.path().string(), ": is longer than ", kMaxIdentityFileBytes,
                     " bytes, which no certificate or key is; name a .crt or .key file");
  // One byte more than there should be: a file that grows meanwhile fills it.
  SecretVector<char> content(static_cast<std::size_t>(size) + 1);
  const std::size_t have = file.read_some(std::as_writable_bytes(std::span(content)));
  require<DataError>(have == size, file.path().string(), ": changed while it was read; try again");
  content.resize(have);
  return content;
}

}  // namespace

NewFile::NewFile(const std::filesystem::path& path, Readers readers) : file_(DiskFile::create(path, readers)) {}

NewFile::~NewFile() {
  if (!kept_) unlink(file_.path().c_str());
}

void NewFile::write(std::string_view content) {
  file_.write(as_bytes(content));
  file_.flush_to_disk();
  file_.close();
  flush_name_to_disk(file_.path());
}

SecretVector<char> read_identity_file(const std::filesystem::path& path) {
  DiskFile file = DiskFile::open(path);
  return read_all(file);
}

SecretVector<char> read_key_file(const std::filesystem::path& path) {
  DiskFile file = DiskFile::open(path);
  require<ConfigError>(file.is_private(), path.string(),
                       ": others than its owner may read or change this private key; run `chmod 600 '", path.string(),
                       "'`, and make a new identity if somebody may have read it");
  return read_all(file);
}

}  // namespace blindfl::net

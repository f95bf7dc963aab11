#include "blindfl/app/link/identity_files.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "blindfl/base/error.h"
#include "blindfl/net/identity.h"

namespace blindfl::app {

namespace {

constexpr mode_t kOwnerOnly = 0700;

void make_folder(const std::filesystem::path& folder) {
  if (mkdir(folder.c_str(), kOwnerOnly) == 0) return;
  const int problem = errno;
  std::error_code unreadable;
  if (problem == EEXIST && std::filesystem::is_directory(folder, unreadable)) return;
  require<ConfigError>(problem != EEXIST, folder.string(), ": is not a folder; choose another one for --out");
  fail<ConfigError>(folder.string(), ": cannot be created: ", std::strerror(problem),
                    "; check that the folder above it exists and that you may write to it");
}

}  // namespace

IdentityFiles make_identity_files(const std::string& name, const std::filesystem::path& folder, int days) {
  const net::Identity identity = net::generate_identity(name, days);
  IdentityFiles files{.certificate = folder / (name + ".crt"), .key = folder / (name + ".key")};
  make_folder(folder);
  net::save_identity(identity, files.certificate, files.key);
  return files;
}

}  // namespace blindfl::app

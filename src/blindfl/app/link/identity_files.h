#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace blindfl::app {

/// A party's certificate and private key, as files.
struct IdentityFiles {
  std::filesystem::path certificate;
  std::filesystem::path key;
};

/// How long a certificate is valid if nobody says otherwise.
constexpr int kUsualDays = 825;

/// Makes an identity, and writes `folder`/`name`.crt and .key, the key for its owner only; makes the folder if it is
/// not there. Nothing is replaced. Throws ConfigError if a file is there already, or the folder cannot be made.
[[nodiscard]] IdentityFiles make_identity_files(const std::string& name, const std::filesystem::path& folder, int days);

}  // namespace blindfl::app

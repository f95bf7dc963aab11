#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace blindfl::testing {

/// An empty folder, gone with all it contains at the end of the scope.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = ::testing::TempDir() + "blindfl_XXXXXX";
    EXPECT_NE(mkdtemp(name.data()), nullptr) << "cannot make a scratch folder";
    path_ = name;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  [[nodiscard]] std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

  /// Writes a file that only its owner may read, and returns its path.
  [[nodiscard]] std::filesystem::path write(std::string_view name, std::string_view content) const {
    std::filesystem::path file_path = path_ / name;
    std::ofstream file(file_path, std::ios::binary | std::ios::trunc);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    file.close();
    EXPECT_TRUE(file.good()) << "cannot write a scratch file";
    std::filesystem::permissions(file_path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    return file_path;
  }

  /// How many files it contains.
  [[nodiscard]] std::ptrdiff_t count() const {
    return std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator());
  }

 private:
  std::filesystem::path path_;
};

/// The content of a file; a failure if there is none.
inline std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path << " does not exist";
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// The permissions of a file or folder, as in chmod.
inline unsigned mode_of(const std::filesystem::path& path) {
  return static_cast<unsigned>(std::filesystem::status(path).permissions());
}

}  // namespace blindfl::testing

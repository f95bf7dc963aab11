#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>

namespace blindfl::testing {

/// An empty folder for a test's files, gone with them at the end of the scope.
class ScratchFolder {
 public:
  ScratchFolder() {
    // Tests may run at the same time, each in a process of its own.
    static int count = 0;
    path_ = std::filesystem::path(::testing::TempDir()) /
            ("blindfl_folder_" + std::to_string(getpid()) + "_" + std::to_string(count++));
    EXPECT_TRUE(std::filesystem::create_directory(path_)) << "cannot make the scratch folder";
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_text(const std::filesystem::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  EXPECT_TRUE(file.good()) << "cannot write the scratch file";
}

}  // namespace blindfl::testing

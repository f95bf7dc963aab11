#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace blindfl::testing {

/// A file with the given content, gone at the end of the scope.
class ScratchFile {
 public:
  explicit ScratchFile(std::string_view content) {
    // Tests may run at the same time, each in a process of its own.
    static int count = 0;
    path_ = std::filesystem::path(::testing::TempDir()) /
            ("blindfl_data_" + std::to_string(getpid()) + "_" + std::to_string(count++));
    std::ofstream file(path_, std::ios::binary);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    file.close();
    EXPECT_TRUE(file.good()) << "cannot write the scratch file";
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  ~ScratchFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace blindfl::testing

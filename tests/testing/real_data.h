#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace blindfl::testing {

/// Where a real data set should be: in the folder that BLINDFL_DATA names, or in the default one.
inline std::filesystem::path real_data(const std::string& file) {
  const char* folder = std::getenv("BLINDFL_DATA");
  return std::filesystem::path(folder != nullptr ? folder : BLINDFL_DATA_DEFAULT) / file;
}

/// `few` epochs show that a federated model follows the joined one; with BLINDFL_LONG_RUNS set, as many as README's
/// table has.
inline std::size_t epochs(std::size_t few, std::size_t as_in_the_table) {
  return std::getenv("BLINDFL_LONG_RUNS") == nullptr ? few : as_in_the_table;
}

}  // namespace blindfl::testing

/// Skips the test, saying why, where a data set is missing.
#define BLINDFL_NEEDS_DATA(file)                                                                             \
  if (!std::filesystem::exists(blindfl::testing::real_data(file))) {                                         \
    GTEST_SKIP() << "real data set " << (file) << " is missing; set BLINDFL_DATA to the folder that has it"; \
  }                                                                                                          \
  static_assert(true)

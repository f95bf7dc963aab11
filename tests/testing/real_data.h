#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace blindfl::testing {

/// Where a real data set should be: in the folder that BLINDFL_DATA names, or in the default one.
inline std::filesystem::path real_data(const std::string& file) {
  const char* folder = std::getenv("BLINDFL_DATA");
  return std::filesystem::path(folder != nullptr ? folder : BLINDFL_DATA_DEFAULT) / file;
}

/// Whether runs are as long as those of README's table.
inline bool long_runs() {
  return std::getenv("BLINDFL_LONG_RUNS") != nullptr;
}

/// `few` epochs show that a federated model follows the joined one; with BLINDFL_LONG_RUNS set, as many as README's
/// table has.
inline std::size_t epochs(std::size_t few, std::size_t as_in_the_table) {
  return long_runs() ? as_in_the_table : few;
}

/// One row in `some` shows it, too, as both models have the same rows; with BLINDFL_LONG_RUNS set, all of them.
inline std::size_t every(std::size_t some) {
  return long_runs() ? 1 : some;
}

/// Every `step`-th of so many rows.
inline std::vector<std::uint32_t> some_rows(std::size_t rows, std::size_t step) {
  std::vector<std::uint32_t> some;
  for (std::size_t i = 0; i < rows; i += step) some.push_back(static_cast<std::uint32_t>(i));
  return some;
}

}  // namespace blindfl::testing

/// Skips the test, saying why, where a data set is missing.
#define BLINDFL_NEEDS_DATA(file)                                                                             \
  if (!std::filesystem::exists(blindfl::testing::real_data(file))) {                                         \
    GTEST_SKIP() << "real data set " << (file) << " is missing; set BLINDFL_DATA to the folder that has it"; \
  }                                                                                                          \
  static_assert(true)

#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "blindfl/base/bytes.h"

// How often A has let each file be scored with each model. A B that does not follow the protocol can ask for something
// else each time, which A cannot notice: so A counts, and stops.

namespace blindfl::app {

struct ScoringCount {
  std::string model;  ///< `ModelFacts::name`
  Bytes digest;       ///< of the file that was scored
  std::uint64_t count = 0;
};

/// What the model's folder says; nothing if nothing was scored. `owner` as in `RunFolder::owner`.
/// Throws DataError, naming the file, if it is damaged or another's.
[[nodiscard]] std::vector<ScoringCount> read_scorings(const std::filesystem::path& model_folder,
                                                      const std::string& owner);

/// Throws ConfigError, naming private.limits.scorings, if one more would be more than `most`.
void check_scorings(const std::filesystem::path& model_folder, const std::string& owner, const std::string& model,
                    ByteView digest, std::uint64_t most);

/// Counts one more, and returns how many there are now. On the disk when it returns: call it before anything is opened.
/// Throws as `check_scorings` does, and counts nothing then.
std::uint64_t count_scoring(const std::filesystem::path& model_folder, const std::string& owner,
                            const std::string& model, ByteView digest, std::uint64_t most);

/// Counts the test at the end of a training, whatever the limit is: a run that has come so far must be able to end.
void count_test(const std::filesystem::path& model_folder, const std::string& owner, const std::string& model,
                ByteView digest);

}  // namespace blindfl::app

#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "blindfl/base/bytes.h"
#include "blindfl/base/disk_file.h"

// How often A has let each file be scored with each model. A B that does not follow the protocol can ask for something
// else each time, which A cannot notice: so A counts, and stops. Under a shared top each scoring of a row rounds its
// score anew, and several tell more of it than one, also a B that follows the protocol: there A stops after the first,
// unless its job says otherwise.

namespace blindfl::app {

/// Held while what was scored with the models of a folder is read and written: two processes that score at the same
/// time count to two. Throws ConfigError where the disk has no locks.
class ScoringsLock {
 public:
  explicit ScoringsLock(const std::filesystem::path& model_folder);

 private:
  DiskFile file_;
};

struct ScoringCount {
  std::string model;  ///< `ModelFacts::name`
  Bytes digest;       ///< of the file that was scored
  std::uint64_t count = 0;
};

/// What the model's folder says; nothing if nothing was scored. `owner` as in `RunFolder::owner`.
/// Throws DataError, naming the file, if it is damaged or another's.
[[nodiscard]] std::vector<ScoringCount> read_scorings(const std::filesystem::path& model_folder,
                                                      const std::string& owner);

/// What a scoring that is repeated tells B.
enum class Repeats { kSame, kRoundedAnew };

/// How many A lets happen, and why there is a limit.
struct ScoringLimit {
  std::uint64_t most = 0;
  Repeats repeats = Repeats::kSame;
};

/// Throws ConfigError, naming private.limits.scorings, if one more would be more than `limit` allows.
void check_scorings(const std::filesystem::path& model_folder, const std::string& owner, const std::string& model,
                    ByteView digest, const ScoringLimit& limit);

/// Counts one more, and returns how many there are now. On the disk when it returns: call it before anything is opened.
/// Throws as `check_scorings` does, and counts nothing then.
std::uint64_t count_scoring(const std::filesystem::path& model_folder, const std::string& owner,
                            const std::string& model, ByteView digest, const ScoringLimit& limit);

/// Counts the test at the end of a training, whatever the limit is: a run that has come so far must be able to end.
void count_test(const std::filesystem::path& model_folder, const std::string& owner, const std::string& model,
                ByteView digest);

}  // namespace blindfl::app

#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <istream>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "blindfl/base/disk_file.h"
#include "blindfl/run/measure.h"

// `metrics.jsonl`: what was measured while training, one JSON object per line.
//
//   {"step":120,"epoch":2,"seconds":34.5,"set":"train","values":{"loss":0.4375,"rows_per_second":5120}}
//
// Steps are counted over all epochs, seconds since the start. A value that is not finite is null. docs/formats.md.

namespace blindfl::run {

/// No line is longer, its end included.
constexpr std::size_t kMaxMetricsLineBytes = std::size_t{1} << 16;
/// The set of rows that is measured once, when training is over.
constexpr std::string_view kTestSet = "test";

struct MetricsLine {
  std::uint64_t step = 0;
  std::uint64_t epoch = 0;
  double seconds = 0;
  std::string set = {};  ///< the rows that were measured, as in "train" or "test"
  std::vector<Measure> values = {};
};

/// A `metrics.jsonl` that is being written.
class MetricsLog {
 public:
  /// Makes the file, which must not be there yet. Throws ConfigError if that fails.
  MetricsLog(const std::filesystem::path& path, Party party);

  /// Goes on with a file that a run left, after `last_step`: lines beyond it, and half a line at its end, are cut off,
  /// and so is a test: the run will test again.
  /// Throws DataError if it is not such a file.
  [[nodiscard]] static MetricsLog resume(const std::filesystem::path& path, Party party, std::uint64_t last_step);

  /// Writes a line, which is with the operating system when this returns.
  /// Throws InvalidArgument if it holds something that A may not keep, a name twice or more than a line takes; Error if
  /// the disk does not take it.
  void write(const MetricsLine& line);

 private:
  MetricsLog(DiskFile file, Party party);

  DiskFile file_;
  Party party_;
};

/// A `metrics.jsonl` that was read.
struct MetricsFile {
  std::vector<MetricsLine> lines;  ///< null is read as not-a-number
  /// Whether it ends within a line, which was then left out: its party was stopped.
  bool cut_within_line = false;
};

/// Throws DataError, naming file and line, if there is something else in it.
[[nodiscard]] MetricsFile read_metrics(const std::filesystem::path& path);
/// The same from a stream, to its end; `name` is what errors call it.
[[nodiscard]] MetricsFile read_metrics(std::istream& in, const std::string& name);

}  // namespace blindfl::run

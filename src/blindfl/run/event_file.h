#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "blindfl/base/disk_file.h"
#include "blindfl/run/measure.h"

// Event files for TensorBoard, written without its library: TFRecord frames around a few protobuf messages.
//
//   frame     u64 length, u32 masked CRC-32C of these 8 bytes, the message, u32 masked CRC-32C of the message
//   Event     1: double wall_time   2: int64 step   3: string file_version   5: Summary   7: SessionLog
//   Summary   1: Value, one per scalar          Value   1: string tag   2: float simple_value
//   SessionLog   1: status, 1 for a start
//
// The first event of a file has file_version "brain.Event:2" and nothing else but the time.

namespace blindfl::run {

/// An event file that is being written.
class EventFile {
 public:
  /// Makes a file in `folder` whose name TensorBoard recognises; `wall_time` is in seconds since 1970. Nothing in it
  /// tells of the machine. Throws ConfigError if that fails.
  EventFile(const std::filesystem::path& folder, Party party, double wall_time);

  [[nodiscard]] const std::filesystem::path& path() const { return file_.path(); }

  /// Tells TensorBoard to forget what earlier files say of this step and later ones: to call when a run resumes from a
  /// checkpoint.
  void restart(std::uint64_t step, double wall_time);

  /// Adds scalars, shown as `set`/name; they are with the operating system when this returns. Values are rounded to
  /// floats. Throws InvalidArgument if one of them is nothing that A may keep; Error if the disk does not take it.
  void write(std::uint64_t step, double wall_time, std::string_view set, std::span<const Measure> values);

 private:
  void append(ByteView event);

  DiskFile file_;
  Party party_;
};

}  // namespace blindfl::run

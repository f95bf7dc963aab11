#include "blindfl/run/metrics_log.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "blindfl/base/error.h"
#include "blindfl/run/strict_json.h"

namespace blindfl::run {

namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const MetricsLine& line) {
  Json values = Json::object();
  for (const Measure& measure : line.values) values[measure.name] = json_number<Json>(measure.value);
  return json_line(Json{{"step", line.step},
                        {"epoch", line.epoch},
                        {"seconds", json_number<Json>(line.seconds)},
                        {"set", line.set},
                        {"values", std::move(values)}});
}

bool is_number_or_null(const Json& value) {
  return value.is_number() || value.is_null();
}

double number_of(const Json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

/// Nothing if it is not a line of metrics.
std::optional<MetricsLine> line_of(const Json& json) {
  const Json& step = json_member(json, "step");
  const Json& epoch = json_member(json, "epoch");
  const Json& seconds = json_member(json, "seconds");
  const Json& set = json_member(json, "set");
  const Json& values = json_member(json, "values");
  if (!step.is_number_unsigned() || !epoch.is_number_unsigned() || !json.contains("seconds") ||
      !is_number_or_null(seconds) || !set.is_string() || !values.is_object()) {
    return std::nullopt;
  }
  MetricsLine line{.step = step.get<std::uint64_t>(),
                   .epoch = epoch.get<std::uint64_t>(),
                   .seconds = number_of(seconds),
                   .set = set.get<std::string>(),
                   .values = {}};
  for (const auto& [name, value] : values.items()) {
    if (!is_number_or_null(value)) return std::nullopt;
    line.values.push_back({name, number_of(value)});
  }
  return line;
}

/// Goes through a file line by line.
class Reader {
 public:
  Reader(std::istream& in, std::string name) : in_(in), name_(std::move(name)), buffer_(kMaxMetricsLineBytes, '\0') {}

  /// The next line; nothing at the end.
  [[nodiscard]] std::optional<MetricsLine> next();
  [[nodiscard]] bool cut_within_line() const { return cut_within_line_; }
  /// Bytes of the lines so far.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  std::istream& in_;
  std::string name_;
  std::string buffer_;
  std::uint64_t number_ = 0;
  std::uint64_t bytes_ = 0;
  bool cut_within_line_ = false;
};

std::optional<MetricsLine> Reader::next() {
  ++number_;
  in_.getline(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  require<DataError>(!in_.bad(), name_, ": reading failed; check the disk and the file");
  const auto length = static_cast<std::size_t>(in_.gcount());
  if (in_.eof()) {
    cut_within_line_ = length > 0;
    return std::nullopt;
  }
  require<DataError>(!in_.fail(), name_, ": line ", number_, ": is longer than ", kMaxMetricsLineBytes,
                     " bytes; this is not a file of metrics");
  std::optional<MetricsLine> line;
  try {
    line = line_of(parse_strictly<Json>(std::string_view(buffer_).substr(0, length - 1)));
  } catch (const DataError& error) {
    fail<DataError>(name_, ": line ", number_, ": ", error.what());
  }
  require<DataError>(line.has_value(), name_, ": line ", number_,
                     ": has not the step, epoch, seconds, set and values of a line of metrics");
  bytes_ += length;
  return line;
}

std::ifstream open_to_read(const std::filesystem::path& path) {
  // A pipe could keep the reader waiting for ever.
  std::error_code unreadable;
  require<DataError>(std::filesystem::is_regular_file(path, unreadable), path.string(),
                     ": is not there or not an ordinary file; name the metrics that a run wrote");
  std::ifstream file(path, std::ios::binary);
  require<DataError>(file.is_open(), path.string(), ": cannot be opened; check who may read it");
  return file;
}

/// Where the first line beyond a step begins, or that of a test, or half a line: all from there on is to be forgotten.
std::uint64_t end_of_step(const std::filesystem::path& path, std::uint64_t last_step) {
  std::ifstream file = open_to_read(path);
  Reader reader(file, path.string());
  while (true) {
    const std::uint64_t before = reader.bytes();
    const auto line = reader.next();
    if (!line || line->step > last_step || line->set == kTestSet) return before;
  }
}

}  // namespace

MetricsLog::MetricsLog(const std::filesystem::path& path, Party party)
    : MetricsLog(DiskFile::create(path, Readers::kOwner), party) {}

MetricsLog::MetricsLog(DiskFile file, Party party) : file_(std::move(file)), party_(party) {}

MetricsLog MetricsLog::resume(const std::filesystem::path& path, Party party, std::uint64_t last_step) {
  const std::uint64_t end = end_of_step(path, last_step);
  DiskFile file = DiskFile::open_to_append(path);
  file.cut(end);
  return {std::move(file), party};
}

void MetricsLog::write(const MetricsLine& line) {
  check_may_keep(party_, line.values, "metrics");
  const std::string text = text_of(line);
  require<InvalidArgument>(text.size() <= kMaxMetricsLineBytes, "metrics: a line has at most ", kMaxMetricsLineBytes,
                           " bytes; measure less, or under shorter names");
  file_.write(as_bytes(text));
}

MetricsFile read_metrics(const std::filesystem::path& path) {
  std::ifstream file = open_to_read(path);
  return read_metrics(file, path.string());
}

MetricsFile read_metrics(std::istream& in, const std::string& name) {
  Reader reader(in, name);
  MetricsFile file;
  while (auto line = reader.next()) file.lines.push_back(std::move(*line));
  file.cut_within_line = reader.cut_within_line();
  return file;
}

}  // namespace blindfl::run

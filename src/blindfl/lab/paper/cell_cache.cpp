#include "blindfl/lab/paper/cell_cache.h"

#include <fstream>
#include <iterator>
#include <limits>
#include <system_error>

#include <nlohmann/json.hpp>

#include "blindfl/base/atomic_file.h"
#include "blindfl/base/error.h"
#include "blindfl/run/strict_json.h"

namespace blindfl::lab::paper {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "BlindFL measurement";
constexpr std::uint64_t kVersion = 1;
constexpr std::uintmax_t kMostBytes = 64 << 20;

Json json_of(const Settings& settings) {
  Json json = Json::object();
  for (const auto& [name, value] : settings.all()) json[name] = value;
  return json;
}

Json json_of(const Settings& settings, const CellResult& result) {
  Json json = {{"format", kFormat}, {"version", kVersion}, {"settings", json_of(settings)}};
  if (!result.measured()) json["refused"] = result.refused;
  json["numbers"] = Json::object();
  for (const auto& [name, value] : result.numbers) json["numbers"][name] = run::json_number<Json>(value);
  json["words"] = Json::object();
  for (const auto& [name, value] : result.words) json["words"][name] = value;
  json["series"] = Json::object();
  for (const auto& [name, points] : result.series) {
    Json list = Json::array();
    for (const run::ChartPoint& point : points) {
      list.push_back({run::json_number<Json>(point.x), run::json_number<Json>(point.y)});
    }
    json["series"][name] = std::move(list);
  }
  return json;
}

/// What is not finite is null in JSON.
double number_in(const Json& json) {
  require<DataError>(json.is_number() || json.is_null(), "a number is missing");
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

const Json& object_in(const Json& json, std::string_view name) {
  const Json& member = run::json_member(json, name);
  require<DataError>(member.is_object(), "'", name, "' is missing");
  return member;
}

std::string text_in(const Json& json) {
  require<DataError>(json.is_string(), "a text is missing");
  return json.get<std::string>();
}

CellResult result_in(const Json& json, const Settings& settings) {
  require<DataError>(run::json_member(json, "format") == kFormat && run::json_member(json, "version") == kVersion,
                     "it is no measurement of this version");
  require<DataError>(run::json_member(json, "settings") == json_of(settings), "it is of other settings");
  CellResult result;
  if (json.contains("refused")) result.refused = text_in(json["refused"]);
  for (const auto& [name, value] : object_in(json, "numbers").items()) result.numbers[name] = number_in(value);
  for (const auto& [name, value] : object_in(json, "words").items()) result.words[name] = text_in(value);
  for (const auto& [name, list] : object_in(json, "series").items()) {
    require<DataError>(list.is_array(), "a series is missing");
    std::vector<run::ChartPoint>& points = result.series[name];
    for (const Json& point : list) {
      require<DataError>(point.is_array() && point.size() == 2, "a point of a series is missing");
      points.push_back({number_in(point[0]), number_in(point[1])});
    }
  }
  return result;
}

std::string whole_file(const std::filesystem::path& path) {
  std::error_code problem;
  const std::uintmax_t size = std::filesystem::file_size(path, problem);
  require<DataError>(!problem && size <= kMostBytes, "it cannot be read");
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  require<DataError>(file.good() || file.eof(), "it cannot be read");
  return text;
}

}  // namespace

CellCache::CellCache(std::filesystem::path folder) : folder_(std::move(folder)) {
  std::error_code problem;
  std::filesystem::create_directories(folder_, problem);
  require<ConfigError>(!problem && std::filesystem::is_directory(folder_), folder_.string(),
                       ": cannot be made: ", problem.message(), "; choose another folder with --out");
  (void)remove_leftovers(folder_);
}

std::filesystem::path CellCache::path_of(const Settings& settings) const {
  return folder_ / (settings.digest() + ".json");
}

std::optional<CellResult> CellCache::find(const Settings& settings) {
  const std::filesystem::path path = path_of(settings);
  std::error_code missing;
  if (!std::filesystem::exists(path, missing)) return std::nullopt;
  try {
    return result_in(run::parse_strictly<Json>(whole_file(path)), settings);
  } catch (const DataError& error) {
    complaints_.push_back(path.string() + ": " + error.what() + "; it is measured again");
    return std::nullopt;
  }
}

void CellCache::keep(const Settings& settings, const CellResult& result) const {
  write_text_atomically(path_of(settings), run::json_line(json_of(settings, result)), Readers::kEveryone);
}

}  // namespace blindfl::lab::paper

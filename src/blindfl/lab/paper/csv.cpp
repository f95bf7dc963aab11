#include "blindfl/lab/paper/csv.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "blindfl/base/number_text.h"

namespace blindfl::lab::paper {

namespace {

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += c;
    quoted += c;
  }
  return quoted + "\"";
}

std::string csv_number(double value) {
  return std::isfinite(value) ? exact_text(value) : std::string();
}

void add_line(std::string& out, const std::vector<std::string>& fields) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) out += ',';
    out += csv_field(fields[i]);
  }
  out += '\n';
}

void add_name(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

/// All names there are, each once.
struct CsvColumns {
  std::vector<std::string> settings{};
  std::vector<std::string> numbers{};
  std::vector<std::string> words{};

  explicit CsvColumns(const Measured& measured) {
    for (const Cell& cell : measured.exhibit->cells) {
      for (const auto& [name, value] : cell.settings.all()) add_name(settings, name);
    }
    for (const CellResult& result : measured.results) {
      for (const auto& [name, value] : result.numbers) add_name(numbers, name);
      for (const auto& [name, value] : result.words) add_name(words, name);
    }
  }
};

}  // namespace

std::string cells_csv(const Measured& measured) {
  const CsvColumns columns(measured);
  std::vector<std::string> header{"cell"};
  for (const auto* names : {&columns.settings, &columns.numbers, &columns.words}) {
    header.insert(header.end(), names->begin(), names->end());
  }
  header.emplace_back("not measured because");
  std::string out;
  add_line(out, header);
  for (std::size_t i = 0; i < measured.results.size(); ++i) {
    const Cell& cell = measured.exhibit->cells[i];
    const CellResult& result = measured.results[i];
    std::vector<std::string> line{cell.name};
    for (const std::string& name : columns.settings) line.push_back(cell.settings.value(name));
    for (const std::string& name : columns.numbers) line.push_back(csv_number(result.number(name)));
    for (const std::string& name : columns.words) line.push_back(result.word(name));
    line.push_back(result.refused);
    add_line(out, line);
  }
  return out;
}

std::string series_csv(const Measured& measured) {
  std::string out;
  for (std::size_t i = 0; i < measured.results.size(); ++i) {
    for (const auto& [name, points] : measured.results[i].series) {
      if (out.empty()) add_line(out, {"cell", "series", "x", "y"});
      for (const run::ChartPoint& point : points) {
        add_line(out, {measured.exhibit->cells[i].name, name, csv_number(point.x), csv_number(point.y)});
      }
    }
  }
  return out;
}

}  // namespace blindfl::lab::paper

#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blindfl/run/chart.h"

namespace blindfl::lab::paper {

/// What a measurement is of, in order: "data set" is "a9a", "steps" is "20". Two measurements with the same settings
/// are the same one.
class Settings {
 public:
  /// Throws InvalidArgument if there is one of that name.
  Settings& set(std::string_view name, std::string_view value);
  Settings& set(std::string_view name, std::size_t value);

  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& all() const { return all_; }
  /// The value of that name; empty if there is none.
  [[nodiscard]] std::string value(std::string_view name) const;
  /// 32 hexadecimal digits that other settings do not have.
  [[nodiscard]] std::string digest() const;

  bool operator==(const Settings&) const = default;

 private:
  std::vector<std::pair<std::string, std::string>> all_;
};

/// What came out: numbers, words and series by name; or why nothing did.
struct CellResult {
  std::map<std::string, double> numbers{};
  std::map<std::string, std::string> words{};
  std::map<std::string, std::vector<run::ChartPoint>> series{};
  std::string refused{};  ///< "needs 160 GB"; empty if it was measured

  [[nodiscard]] bool measured() const { return refused.empty(); }
  /// NaN if there is none.
  [[nodiscard]] double number(const std::string& name) const;
  [[nodiscard]] std::string word(const std::string& name) const;
  [[nodiscard]] std::vector<run::ChartPoint> line(const std::string& name) const;
};

/// One measurement.
struct Cell {
  std::string name;  ///< for people: "a9a LR, open top"
  Settings settings;
  double expected_seconds = 1;  ///< about, on any machine: only for the time that is left
  std::function<CellResult()> measure;
};

}  // namespace blindfl::lab::paper

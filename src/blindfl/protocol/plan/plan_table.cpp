#include "blindfl/protocol/plan/plan_table.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "blindfl/base/number_text.h"
#include "blindfl/protocol/plan/plan_words.h"

namespace blindfl::protocol {

namespace {

constexpr std::size_t kColumns = 6;
using Line = std::array<std::string, kColumns>;
constexpr std::string_view kGap = "  ";

bool is_number(std::size_t column) {
  return column == 3 || column == 4;
}

/// The place of a reason in the list below the table, from 1.
std::size_t number_of(std::vector<std::string>& reasons, const std::string& reason) {
  auto found = std::ranges::find(reasons, reason);
  if (found == reasons.end()) found = reasons.insert(found, reason);
  return static_cast<std::size_t>(found - reasons.begin()) + 1;
}

std::string remark_of(const PlanRow& row, std::vector<std::string>& reasons) {
  if (row.chosen) return row.asked ? "chosen, as asked" : "chosen";
  if (row.refused.empty()) return "";
  return std::string("not possible [").append(std::to_string(number_of(reasons, row.refused))).append("]");
}

Line line_of(const PlanRow& row, const PlanRow* before, const Link& link, std::vector<std::string>& reasons) {
  const bool same_layer = before != nullptr && before->layer == row.layer;
  const bool same_part = same_layer && part_in_words(*before) == part_in_words(row);
  const bool possible = row.refused.empty();
  return {same_layer ? "" : row.layer,
          same_part ? "" : part_in_words(row),
          way_in_words(row),
          possible ? seconds_text(row.step.seconds(link)) : "-",
          possible ? bytes_text(static_cast<double>(row.step.bytes())) : "-",
          remark_of(row, reasons)};
}

std::string joined(const Line& line, const std::array<std::size_t, kColumns>& widths) {
  std::string text;
  for (std::size_t i = 0; i < kColumns; ++i) {
    const std::string fill(widths[i] - line[i].size(), ' ');
    text.append(i > 0 ? kGap : "").append(is_number(i) ? fill + line[i] : line[i] + fill);
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

}  // namespace

std::string part_in_words(const PlanRow& row) {
  return (row.party ? whose(*row.party) + " " : "the ") + row.part;
}

std::string way_in_words(const PlanRow& row) {
  return row.update ? way_in_words(*row.update, row.scheme) : "over " + row.scheme;
}

std::string table_text(const std::vector<PlanRow>& rows, const Link& link) {
  if (rows.empty()) return "";
  std::vector<std::string> reasons;
  std::vector<Line> lines = {{"layer", "features", "way", "time a step", "bytes a step", ""}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    lines.push_back(line_of(rows[i], i > 0 ? &rows[i - 1] : nullptr, link, reasons));
  }
  std::array<std::size_t, kColumns> widths{};
  for (const Line& line : lines) {
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (const Line& line : lines) text += joined(line, widths);
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    text.append("[").append(std::to_string(i + 1)).append("] ").append(reasons[i]).append("\n");
  }
  return text;
}

std::string choice_text(const std::vector<PlanRow>& rows) {
  std::string text;
  for (auto row = rows.begin(); row != rows.end(); ++row) {
    if (!row->chosen) continue;
    if (row->fields == 0) {
      append(text, "; ", part_in_words(*row) + ": " + way_in_words(*row));
      continue;
    }
    // Tables that learn alike are counted together, where the first of them is.
    const auto same = [&](const PlanRow& other) {
      return other.chosen && other.fields > 0 && other.party == row->party && way_in_words(other) == way_in_words(*row);
    };
    if (std::find_if(rows.begin(), row, same) != row) continue;
    std::size_t tables = 0;
    for (const PlanRow& other : rows) tables += same(other) ? other.fields : 0;
    append(text, "; ", counted(tables, "table") + " of " + whose(*row->party) + ": " + way_in_words(*row));
  }
  return text;
}

std::vector<std::string> choice_lines(const std::vector<PlanRow>& rows) {
  std::vector<std::string> lines;
  for (auto first = rows.begin(); first != rows.end();) {
    const auto end = std::find_if(first, rows.end(), [&](const PlanRow& row) { return row.layer != first->layer; });
    lines.push_back("layer '" + first->layer + "': " + choice_text({first, end}));
    first = end;
  }
  return lines;
}

}  // namespace blindfl::protocol

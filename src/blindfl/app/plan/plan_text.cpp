#include "blindfl/app/plan/plan_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <string_view>

#include "blindfl/app/job/shared.h"
#include "blindfl/base/number_text.h"
#include "blindfl/base/text.h"
#include "blindfl/he/plan.h"

namespace blindfl::app {

namespace {

using protocol::FeaturesPart;
using protocol::FieldsPart;
using protocol::PlanRow;
using protocol::TopPart;
using protocol::WeightsPart;

std::string whose(Party party) {
  return std::string(name_of(party)) + "'s";
}

/// "500,000 features, 7 a row".
std::string part_words(const FeaturesPart& part) {
  std::string text = counted(part.features, "feature");
  if (part.most_nonzeros < part.features) text += ", " + count_text(part.most_nonzeros) + " a row";
  return text;
}

/// "field 3, 100 categories", "fields 0 to 12 and 20, 4 to 1,000 categories, up to 3 a row".
std::string part_words(const FieldsPart& part) {
  std::string text = (part.fields.size() == 1 ? "field " : "fields ") + ranges_text(part.fields) + ", ";
  if (part.fewest_categories < part.most_categories) text += count_text(part.fewest_categories) + " to ";
  text += counted(part.most_categories, "category", "categories");
  return part.most_per_row == 1 ? text : text + ", up to " + count_text(part.most_per_row) + " a row";
}

std::string part_words(const WeightsPart& part) {
  return count_text(part.inputs) + " x " + count_text(part.out) + " weights";
}

/// "layers 64-16-1, relu, and the loss, on shares", "products of 8 factors and the loss, on shares".
std::string part_words(const TopPart& part) {
  const std::string factors = part.factors > 0 ? "products of " + counted(part.factors, "factor") : "";
  if (part.widths.size() == 1) return (factors.empty() ? "" : factors + " and the ") + "loss, on shares";
  std::string widths;
  for (const std::size_t width : part.widths) append(widths, "-", std::to_string(width));
  return (factors.empty() ? "" : factors + ", ") + "layers " + widths + ", " +
         job::Value<Activation>::write(part.activation) + ", and the loss, on shares";
}

/// How many categorical fields a row is about; 0: it is about none.
std::size_t fields_of(const PlanRow& row) {
  const auto* part = std::get_if<FieldsPart>(&row.part);
  return part == nullptr ? 0 : part->fields.size();
}

constexpr std::size_t kColumns = 6;
using Line = std::array<std::string, kColumns>;
constexpr std::string_view kGap = "  ";

bool is_number(std::size_t column) {
  return column == 3 || column == 4;
}

/// The place of a reason in the list below the table, from 1.
std::size_t number_of_reason(std::vector<std::string>& reasons, const std::string& reason) {
  auto found = std::ranges::find(reasons, reason);
  if (found == reasons.end()) found = reasons.insert(found, reason);
  return static_cast<std::size_t>(found - reasons.begin()) + 1;
}

std::string remark_of(const PlanRow& row, std::vector<std::string>& reasons) {
  if (row.chosen) return row.asked ? "chosen, as asked" : "chosen";
  if (row.refused.empty()) return "";
  return std::string("not possible [").append(std::to_string(number_of_reason(reasons, row.refused))).append("]");
}

Line line_of(const PlanRow& row, const PlanRow* before, const protocol::Link& link, std::vector<std::string>& reasons) {
  const bool same_layer = before != nullptr && before->layer == row.layer;
  const bool same_part = same_layer && before->party == row.party && before->part == row.part;
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
  return (row.party ? whose(*row.party) + " " : "the ") +
         std::visit([](const auto& part) { return part_words(part); }, row.part);
}

std::string way_in_words(const PlanRow& row) {
  if (!row.update) return "over " + row.scheme;
  if (row.scheme == protocol::kByOt) return "exchanged by oblivious transfer";
  return (row.update == protocol::Update::kEncrypted ? "encrypted updates over " : "exchanged over ") + row.scheme;
}

std::string security_in_words(int bits) {
  if (bits == 0) return "none";
  return std::to_string(bits) + " bits" + (bits < 128 ? " (NIST: until 2030)" : "");
}

bool hides_enough(const he::Exposure& exposure) {
  return std::max({exposure.divergence, exposure.distance, exposure.lift_failure}) <=
         std::ldexp(1.0, -he::kHidingOfRun);
}

std::string hiding_in_words(const he::Exposure& exposure) {
  std::string figures;
  const auto add = [&](const char* name, double figure) {
    if (figure <= 0) return;
    // Rounded towards what hides less, and no chance is above 1.
    const int bits = std::max(static_cast<int>(std::floor(-std::log2(figure))), 0);
    append(figures, ", ", std::string(name) + " 2^-" + std::to_string(bits));
  };
  add("divergence", exposure.divergence);
  add("statistical distance", exposure.distance);
  add("failed lifts", exposure.lift_failure);
  // Nothing travels masked where one party has no features and the other no product.
  if (figures.empty()) return "nothing is masked";
  figures += " (for the whole run)";
  if (hides_enough(exposure)) return figures;
  return figures + ", where 2^-" + std::to_string(he::kHidingOfRun) +
         " is aimed at: there is no room for more at so many values. Fewer fractional bits of features, or Paillier, "
         "hide more";
}

std::string table_text(const std::vector<PlanRow>& rows, const protocol::Link& link) {
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
    if (fields_of(*row) == 0) {
      append(text, "; ", part_in_words(*row) + ": " + way_in_words(*row));
      continue;
    }
    // Tables that learn alike are counted together, where the first of them is.
    const auto same = [&](const PlanRow& other) {
      return other.chosen && fields_of(other) > 0 && other.party == row->party && other.update == row->update &&
             other.scheme == row->scheme;
    };
    if (std::find_if(rows.begin(), row, same) != row) continue;
    std::size_t tables = 0;
    for (const PlanRow& other : rows) tables += same(other) ? fields_of(other) : 0;
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

}  // namespace blindfl::app

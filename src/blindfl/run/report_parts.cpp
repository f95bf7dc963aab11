#include "blindfl/run/report_parts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "blindfl/base/number_text.h"
#include "blindfl/run/report_style.h"

namespace blindfl::run {

namespace {

// The page could not load or run anything, even if a mistake of ours let somebody's words become markup.
constexpr std::string_view kPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

struct MeasureWords {
  std::string_view name;
  std::string_view words;
};

constexpr std::array<MeasureWords, 18> kWords = {{
    {"auc", "AUC"},
    {"pr_auc", "PR-AUC"},
    {"ks", "KS"},
    {"f1", "F1"},
    {"rmse", "RMSE"},
    {"mae", "MAE"},
    {"r2", "R\xC2\xB2"},
    {"lift", "lift"},
    {"log_loss", "log loss"},
    {"deviance", "Poisson deviance"},
    {"rows_per_second", "rows a second"},
    {"seconds_per_step", "time of a step"},
    {"seconds_computing", "time computing"},
    {"seconds_waiting", "time waiting"},
    {"bytes_sent", "sent per log line"},
    {"bytes_received", "received per log line"},
    {"memory_bytes", "memory"},
    {"learning_rate", "learning rate"},
}};

}  // namespace

void write_head(Markup& out, std::string_view title) {
  out.open("head");
  out.leaf("meta", {{"charset", "utf-8"}});
  out.leaf("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}});
  out.leaf("meta", {{"http-equiv", "Content-Security-Policy"}, {"content", kPolicy}});
  out.element("title", title);
  out.open("style").verbatim(kReportStyle).close();
  out.close();
}

Table::Table(Markup& out, std::size_t words, const std::vector<std::string_view>& headings) : out_(out), words_(words) {
  out_.open("div", {{"class", "scroll"}}).open("table");
  if (!headings.empty()) {
    out_.open("thead").open("tr");
    for (std::size_t i = 0; i < headings.size(); ++i) cell("th", i, headings[i]);
    out_.close().close();
  }
  out_.open("tbody");
}

void Table::row(const std::vector<std::string>& cells, std::string_view kind) {
  out_.open("tr", {{"class", kind}});
  for (std::size_t i = 0; i < cells.size(); ++i) cell("td", i, cells[i]);
  out_.close();
}

void Table::end() {
  out_.close().close().close();
}

void Table::cell(std::string_view tag, std::size_t column, std::string_view text) {
  out_.element(tag, text, {{"class", column < words_ ? "" : "n"}});
}

void tile(Markup& out, std::string_view name, std::string_view value, std::string_view beside) {
  out.open("div", {{"class", "card"}}).element("b", value).element("span", name);
  if (!beside.empty()) out.element("span", beside, {{"class", "beside"}});
  out.close();
}

std::string words_for(std::string_view measure) {
  const auto* const found = std::ranges::find(kWords, measure, &MeasureWords::name);
  if (found != kWords.end()) return std::string(found->words);
  std::string words(measure);
  std::ranges::replace(words, '_', ' ');
  return words;
}

Unit unit_of(std::string_view measure) {
  if (measure.starts_with("bytes_") || measure.ends_with("_bytes")) return Unit::kBytes;
  return measure.starts_with("seconds_") ? Unit::kSeconds : Unit::kNumber;
}

std::string value_text(std::string_view measure, double value) {
  return amount_text(value, unit_of(measure));
}

void write_plan(Markup& out, const std::vector<PlanFact>& plan) {
  if (plan.empty()) return;
  std::vector<std::string> reasons;
  out.open("details").element("summary", "What the planner weighed for each layer, and what it chose");
  Table table(out, 4, {"layer", "features", "way", "", "time a step", "bytes a step"});
  for (const PlanFact& fact : plan) {
    const bool possible = fact.refused.empty();
    if (!possible && std::ranges::find(reasons, fact.refused) == reasons.end()) reasons.push_back(fact.refused);
    table.row({fact.layer, fact.features, fact.way, fact.chosen ? "chosen" : (possible ? "" : "not possible"),
               possible ? seconds_text(fact.seconds) : "-", possible ? bytes_text(fact.bytes) : "-"},
              fact.chosen ? "sum" : "");
  }
  table.end();
  for (const std::string& reason : reasons) out.element("p", "Not possible: " + reason + ".", {{"class", "note"}});
  out.close();
}

void write_phases(Markup& out, const RunReport& report) {
  if (report.phases.empty()) return;
  out.element("h2", "Where the time went");
  double all = 0;
  for (const PhaseTime& phase : report.phases) all += std::isfinite(phase.seconds) ? std::max(phase.seconds, 0.0) : 0;
  BarChart chart{.title = "Time by phase", .series = {"time"}, .rows = {}};
  for (const PhaseTime& phase : report.phases) {
    std::string words = seconds_text(phase.seconds);
    if (all > 0 && phase.seconds >= 0) words += ", " + fixed_text(100 * phase.seconds / all, 0) + "%";
    chart.rows.push_back({phase.name, {{phase.seconds, words}}});
  }
  figure(out, chart);
}

void write_costs(Markup& out, const RunReport& report) {
  if (report.costs.empty()) return;
  out.element("h2", "What was planned, and what it took");
  Table table(out, 1, {"", "predicted", "measured", "measured / predicted"});
  for (const CostComparison& cost : report.costs) {
    table.row({cost.what, amount_text(cost.predicted, cost.unit), amount_text(cost.measured, cost.unit),
               cost.predicted > 0 ? decimal_text(cost.measured / cost.predicted, 3) : "-"});
  }
  table.end();
}

}  // namespace blindfl::run

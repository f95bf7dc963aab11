#include "blindfl/run/report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/net/step.h"
#include "blindfl/run/markup.h"
#include "blindfl/run/number_text.h"
#include "blindfl/run/report_style.h"

namespace blindfl::run {

namespace {

// The page could not load or run anything, even if a mistake of ours let somebody's words become markup.
constexpr std::string_view kPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

void check_report(const RunReport& report) {
  if (report.summary.party == Party::kB) return;
  for (const Measure& measure : report.summary.results) check_may_keep(Party::kA, measure.name, "report");
  for (const Measure& measure : report.summary.baseline) check_may_keep(Party::kA, measure.name, "report");
  for (const MeasureCurve& curve : report.curves) check_may_keep(Party::kA, curve.name, "report");
  require<InvalidArgument>(
      report.summary.confusion.empty() && !report.summary.still_falling,
      "report: a confusion matrix and the course of the loss tell of labels and scores, and nothing "
      "of A's may");
  require<InvalidArgument>(report.roc.empty() && report.calibration.empty(),
                           "report: a ROC curve and calibration tell of labels and scores, and nothing of A's may");
}

/// A table, row by row, with headings or without. Columns after the first `words` hold numbers.
class Table {
 public:
  Table(Markup& out, std::size_t words, const std::vector<std::string_view>& headings) : out_(out), words_(words) {
    out_.open("div", {{"class", "scroll"}}).open("table");
    if (!headings.empty()) {
      out_.open("thead").open("tr");
      for (std::size_t i = 0; i < headings.size(); ++i) cell("th", i, headings[i]);
      out_.close().close();
    }
    out_.open("tbody");
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  void row(const std::vector<std::string>& cells, std::string_view kind = "") {
    out_.open("tr", {{"class", kind}});
    for (std::size_t i = 0; i < cells.size(); ++i) cell("td", i, cells[i]);
    out_.close();
  }
  void end() { out_.close().close().close(); }

 private:
  void cell(std::string_view tag, std::size_t column, std::string_view text) {
    out_.element(tag, text, {{"class", column < words_ ? "" : "n"}});
  }

  Markup& out_;
  std::size_t words_;
};

void write_head(Markup& out, const RunSummary& summary) {
  const std::string title = "Run " + summary.run + ", party " + std::string(blindfl::name_of(summary.party));
  out.open("head");
  out.leaf("meta", {{"charset", "utf-8"}});
  out.leaf("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}});
  out.leaf("meta", {{"http-equiv", "Content-Security-Policy"}, {"content", kPolicy}});
  out.element("title", title + " - BlindFL");
  out.open("style").verbatim(kReportStyle).close();
  out.close();
}

std::string_view sentence_for(RunState state) {
  switch (state) {
    case RunState::kRunning:
      return "Still running when this was written.";
    case RunState::kFinished:
      return "Finished.";
    case RunState::kInterrupted:
      return "Interrupted, and can be resumed from its last checkpoint.";
    case RunState::kFailed:
      return "Failed.";
  }
  return "";
}

std::string result_text(double value) {
  constexpr double kLarge = 1000;
  return decimal_text(value, std::abs(value) < kLarge ? 4 : 6);
}

void card(Markup& out, std::string_view name, std::string_view value) {
  out.open("div", {{"class", "card"}}).element("b", value).element("span", name).close();
}

void write_overview(Markup& out, const RunReport& report) {
  const RunSummary& summary = report.summary;
  out.element("p", "BlindFL run report", {{"class", "lead"}});
  out.element("h1", summary.run + ", party " + std::string(blindfl::name_of(summary.party)));
  out.element("p", std::string(sentence_for(summary.state)) + " Started " + net::time_text(summary.started) +
                       (summary.ended ? ", ended " + net::time_text(*summary.ended) : "") + ".");
  out.open("div", {{"class", "cards"}});
  for (const Measure& measure : summary.results) card(out, measure.name, result_text(measure.value));
  card(out, "steps", count_text(summary.steps));
  card(out, "epochs", count_text(summary.epochs));
  card(out, "time", seconds_text(summary.seconds));
  card(out, "sent", bytes_text(static_cast<double>(summary.sent.bytes)));
  card(out, "received", bytes_text(static_cast<double>(summary.received.bytes)));
  out.close();
  if (summary.party == Party::kA) {
    out.element("p",
                "This party has no labels. How good the model is, B knows; nothing on this page, and nothing in this "
                "folder, tells of labels or scores.",
                {{"class", "note"}});
  }
}

/// What the federated model gets beside what B gets alone, and what else there is to say about it.
void write_baseline(Markup& out, const RunSummary& summary) {
  if (summary.best) {
    out.element("p", "Results are of the model of step " + count_text(summary.best->step) + " (epoch " +
                         count_text(summary.best->epoch) + "), the best in validation" +
                         (summary.stopped_early ? "; training stopped early." : "."));
  }
  if (summary.still_falling.value_or(false) && !summary.stopped_early) {
    out.element("p", "The loss was still falling when training ended: train longer.", {{"class", "note"}});
  }
  if (summary.baseline.empty()) return;
  out.element("h2", "What the other party adds");
  Table table(out, 1, {"test rows", "federated", "B alone"});
  for (const Measure& alone : summary.baseline) {
    const auto both = std::ranges::find(summary.results, alone.name, &Measure::name);
    if (both != summary.results.end()) table.row({alone.name, result_text(both->value), result_text(alone.value)});
  }
  table.end();
  out.element(
      "p", "B alone: a plain model of the same kind, trained on B's features of the same rows, with the same options.",
      {{"class", "note"}});
}

void write_facts(Markup& out, const RunReport& report) {
  if (report.facts.empty() && report.summary.model.empty()) return;
  out.element("h2", "The model");
  if (!report.summary.model.empty()) out.element("p", report.summary.model);
  if (report.facts.empty()) return;
  Table table(out, 2, {});
  for (const ReportFact& fact : report.facts) table.row({fact.name, fact.value});
  table.end();
}

void figure(Markup& out, const LineChart& chart) {
  out.open("figure").element("figcaption", chart.title);
  draw(out, chart);
  out.close();
}

/// One chart for each measure, with a line for each set of rows.
void write_curves(Markup& out, const RunReport& report) {
  if (report.curves.empty()) return;
  std::vector<LineChart> charts;
  std::size_t longest = 0;
  for (const MeasureCurve& curve : report.curves) {
    auto chart = std::ranges::find(charts, curve.name, &LineChart::title);
    if (chart == charts.end()) chart = charts.insert(chart, {.title = curve.name, .x_label = "step", .lines = {}});
    chart->lines.push_back({curve.set, curve.points});
    longest = std::max(longest, curve.points.size());
  }
  out.element("h2", "Curves");
  out.open("div", {{"class", "grid2"}});
  for (LineChart& chart : charts) {
    if (chart.lines.size() == 1) chart.x_label = "step (" + chart.lines.front().name + ")";
    figure(out, chart);
  }
  out.close();
  if (longest > kMostChartPoints) {
    const std::size_t each = (longest + kMostChartPoints - 1) / kMostChartPoints;
    out.element("p", "A line of many points is drawn with means of up to " + count_text(each) + " points each.",
                {{"class", "note"}});
  }
}

void write_scores(Markup& out, const RunReport& report) {
  if (report.roc.empty() && report.calibration.empty()) return;
  out.element("h2", "Scores");
  out.open("div", {{"class", "grid2"}});
  if (!report.roc.empty()) {
    LineChart chart{.title = "ROC: positives found, by false alarms",
                    .x_label = "share of negatives taken for positive",
                    .lines = {{"ROC", {}}},
                    .unit_square = true};
    for (const RocPoint& p : report.roc) {
      chart.lines.front().points.push_back({p.false_positive_rate, p.true_positive_rate});
    }
    figure(out, chart);
  }
  if (!report.calibration.empty()) {
    LineChart chart{.title = "Calibration: share of positives, by predicted probability",
                    .x_label = "predicted probability",
                    .lines = {{"calibration", {}}},
                    .unit_square = true,
                    .markers = true};
    for (const CalibrationBin& bin : report.calibration) {
      chart.lines.front().points.push_back({bin.predicted, bin.observed});
    }
    figure(out, chart);
  }
  out.close();
}

net::Traffic sum(const std::vector<net::StepTotals>& steps, net::Traffic net::StepTotals::*direction) {
  net::Traffic all;
  for (const net::StepTotals& step : steps) {
    all.messages += (step.*direction).messages;
    all.bytes += (step.*direction).bytes;
  }
  return all;
}

std::vector<std::string> traffic_cells(std::string_view name, std::string_view protection, const net::Traffic& sent,
                                       const net::Traffic& received, std::uint64_t steps) {
  std::vector<std::string> cells = {std::string(name),      std::string(protection),       count_text(sent.messages),
                                    count_text(sent.bytes), count_text(received.messages), count_text(received.bytes)};
  if (steps > 0) {
    const double bytes = static_cast<double>(sent.bytes) + static_cast<double>(received.bytes);
    cells.push_back(bytes_text(bytes / static_cast<double>(steps)));
  }
  return cells;
}

void write_traffic_table(Markup& out, const RunReport& report) {
  std::vector<std::string_view> headings = {"message",    "protection", "sent",
                                            "bytes sent", "received",   "bytes received"};
  const std::uint64_t steps = report.summary.steps;
  if (steps > 0) headings.emplace_back("per training step");
  Table table(out, 2, headings);
  for (const net::StepTotals& totals : report.traffic) {
    const net::StepInfo& step = net::describe(totals.step);
    table.row(traffic_cells(step.name, net::name_of(step.protection), totals.sent, totals.received, steps));
  }
  table.row(traffic_cells("all", "", sum(report.traffic, &net::StepTotals::sent),
                          sum(report.traffic, &net::StepTotals::received), steps),
            "sum");
  table.end();
}

void write_traffic(Markup& out, const RunReport& report) {
  if (report.traffic.empty()) return;
  out.element("h2", "What crossed the link");
  BarChart chart{.title = "Bytes by kind of message", .series = {"sent", "received"}, .rows = {}};
  for (const net::StepTotals& totals : report.traffic) {
    const auto sent = static_cast<double>(totals.sent.bytes);
    const auto received = static_cast<double>(totals.received.bytes);
    chart.rows.push_back(
        {std::string(net::describe(totals.step).name), {{sent, bytes_text(sent)}, {received, bytes_text(received)}}});
  }
  out.open("figure").element("figcaption", chart.title);
  draw(out, chart);
  out.close();
  write_traffic_table(out, report);
  out.element("h3", "What these messages contain, and what they tell their receiver");
  Table words(out, 3, {"message", "contains", "tells"});
  for (const net::StepTotals& totals : report.traffic) {
    const net::StepInfo& step = net::describe(totals.step);
    words.row({std::string(step.name), std::string(step.contains), std::string(step.reveals)});
  }
  words.end();
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
  out.open("figure").element("figcaption", chart.title);
  draw(out, chart);
  out.close();
}

std::string cost_text(double value, CostComparison::Unit unit) {
  switch (unit) {
    case CostComparison::Unit::kBytes:
      return bytes_text(value);
    case CostComparison::Unit::kSeconds:
      return seconds_text(value);
    case CostComparison::Unit::kCount:
      return decimal_text(value, 6);
  }
  return "-";
}

void write_costs(Markup& out, const RunReport& report) {
  if (report.costs.empty()) return;
  out.element("h2", "What was planned, and what it took");
  Table table(out, 1, {"", "predicted", "measured", "measured / predicted"});
  for (const CostComparison& cost : report.costs) {
    table.row({cost.what, cost_text(cost.predicted, cost.unit), cost_text(cost.measured, cost.unit),
               cost.predicted > 0 ? decimal_text(cost.measured / cost.predicted, 3) : "-"});
  }
  table.end();
}

void write_list(Markup& out, std::string_view heading, const std::vector<std::string>& texts) {
  out.element("h3", heading).open("ul");
  for (const std::string& text : texts) out.element("li", text);
  out.close();
}

void write_disclosure(Markup& out, const RunReport& report) {
  out.element("h2", "Who learned what");
  out.element("p",
              "This follows from the protocol, not from what either party says. With TLS, whoever else is on the line "
              "sees sizes and times and nothing more.",
              {{"class", "note"}});
  out.open("div", {{"class", "known"}});
  for (const Party party : {report.summary.party, peer_of(report.summary.party)}) {
    const Disclosure disclosure = disclosure_of(party, report.model);
    const std::string name(blindfl::name_of(party));
    out.open("section", {{"class", "party"}});
    out.element("h3", "Party " + name + (party == report.summary.party ? " (this one)" : ""));
    write_list(out, "What " + name + " learned", disclosure.learned);
    write_list(out, "What " + name + " could work out", disclosure.could_work_out);
    write_list(out, "What " + name + " never saw", disclosure.never_saw);
    out.close();
  }
  out.close();
}

}  // namespace

std::vector<MeasureCurve> curves_of(const MetricsFile& metrics) {
  std::vector<MeasureCurve> curves;
  for (const MetricsLine& line : metrics.lines) {
    for (const Measure& measure : line.values) {
      auto curve = std::ranges::find_if(
          curves, [&](const MeasureCurve& c) { return c.set == line.set && c.name == measure.name; });
      if (curve == curves.end()) curve = curves.insert(curve, {line.set, measure.name, {}});
      curve->points.push_back({static_cast<double>(line.step), measure.value});
    }
  }
  return curves;
}

std::string report_html(const RunReport& report) {
  check_report(report);
  Markup out;
  out.verbatim("<!DOCTYPE html>\n").open("html", {{"lang", "en"}});
  write_head(out, report.summary);
  out.open("body");
  write_overview(out, report);
  write_baseline(out, report.summary);
  write_curves(out, report);
  write_scores(out, report);
  write_facts(out, report);
  write_traffic(out, report);
  write_phases(out, report);
  write_costs(out, report);
  write_disclosure(out, report);
  out.element("footer",
              "Written by BlindFL " + report.summary.release + ". This page loads nothing and runs no script.");
  out.close().close();
  return out.take();
}

}  // namespace blindfl::run

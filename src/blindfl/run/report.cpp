#include "blindfl/run/report.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "blindfl/base/error.h"
#include "blindfl/base/number_text.h"
#include "blindfl/run/attack_page.h"
#include "blindfl/run/markup.h"
#include "blindfl/run/report_parts.h"

namespace blindfl::run {

namespace {

void check_report(const RunReport& report) {
  const std::size_t classes = report.classes.classes.size();
  require<InvalidArgument>(report.classes.counts.size() == classes * classes &&
                               report.regression.predicted.size() == report.regression.actual.size(),
                           "report: counts of classes or predictions do not fit together");
  if (report.summary.party == Party::kB) return;
  check_may_keep(Party::kA, report.summary.results, "report");
  check_may_keep(Party::kA, report.summary.baseline, "report");
  for (const MeasureCurve& curve : report.curves) check_may_keep(Party::kA, curve.name, "report");
  require<InvalidArgument>(
      report.roc.empty() && report.calibration.empty() && report.classes.empty() && report.regression.actual.empty(),
      "report: a ROC curve, calibration, classes and predictions tell of labels and scores, and "
      "nothing of A's may");
  require<InvalidArgument>(
      report.summary.confusion.empty() && !report.summary.still_falling,
      "report: a confusion matrix and the course of the loss tell of labels and scores, and nothing "
      "of A's may");
}

/// "Logistic regression, 16 Nov 2026, party B".
std::string title_of(const RunReport& report) {
  constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(report.summary.started));
  std::string name = report.model_name.empty() ? report.summary.model : report.model_name;
  if (name.empty()) name = "Run " + report.summary.run;
  return name + ", " + std::to_string(static_cast<unsigned>(day.day())) + " " +
         std::string(kMonths[static_cast<unsigned>(day.month()) - 1]) + " " +
         std::to_string(static_cast<int>(day.year())) + ", party " +
         std::string(blindfl::name_of(report.summary.party));
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

std::string baseline_text(const RunReport& report, const std::string& name) {
  const auto found = std::ranges::find(report.summary.baseline, name, &Measure::name);
  return found == report.summary.baseline.end() ? "" : "B alone: " + value_text(name, found->value);
}

void write_overview(Markup& out, const RunReport& report) {
  const RunSummary& summary = report.summary;
  out.element("p", "BlindFL run report", {{"class", "lead"}});
  out.element("h1", title_of(report));
  out.element("p", std::string(sentence_for(summary.state)) + " Started " + net::time_text(summary.started) +
                       (summary.ended ? ", ended " + net::time_text(*summary.ended) : "") + ". Run " + summary.run +
                       ".");
  out.open("div", {{"class", "cards"}});
  for (const Measure& measure : summary.results) {
    tile(out, words_for(measure.name), value_text(measure.name, measure.value), baseline_text(report, measure.name));
  }
  write_single_values(out, report);
  tile(out, "steps", count_text(summary.steps));
  tile(out, "epochs", count_text(summary.epochs));
  if (summary.best) tile(out, "best epoch: its model is kept", count_text(summary.best->epoch));
  tile(out, "time", seconds_text(summary.seconds));
  tile(out, "sent", bytes_text(static_cast<double>(summary.sent.bytes)));
  tile(out, "received", bytes_text(static_cast<double>(summary.received.bytes)));
  out.close();
  if (summary.party == Party::kA) {
    out.element("p",
                "This party has no labels. How good the model is, B knows; nothing on this page, and nothing in this "
                "folder, tells of labels or scores.",
                {{"class", "note"}});
  }
}

/// Which model the results are of, and whether a longer training would have had a better one.
void write_outcome(Markup& out, const RunSummary& summary) {
  if (summary.best) {
    out.element("p", "Results are of the model of step " + count_text(summary.best->step) + " (epoch " +
                         count_text(summary.best->epoch) + "), the best in validation" +
                         (summary.stopped_early ? "; training stopped early." : "."));
  }
  if (summary.still_falling.value_or(false) && !summary.stopped_early) {
    out.element("p", "The loss was still falling when training ended: train longer.", {{"class", "note"}});
  }
}

void write_facts(Markup& out, const RunReport& report) {
  if (report.facts.empty() && report.summary.model.empty() && report.plan.empty()) return;
  out.element("h2", "The model");
  // Where the title has another name for it.
  if (!report.summary.model.empty() && report.model_name.empty()) out.element("p", report.summary.model);
  if (!report.facts.empty()) {
    Table table(out, 2, {});
    for (const ReportFact& fact : report.facts) table.row({fact.name, fact.value});
    table.end();
  }
  write_plan(out, report.plan);
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
  out.verbatim(place_of_attacks_link());
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
  write_head(out, title_of(report) + " - BlindFL");
  out.open("body");
  write_overview(out, report);
  write_outcome(out, report.summary);
  write_quality(out, report);
  write_facts(out, report);
  write_work(out, report);
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

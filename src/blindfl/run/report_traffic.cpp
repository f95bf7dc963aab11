#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "blindfl/base/number_text.h"
#include "blindfl/net/step.h"
#include "blindfl/run/report_parts.h"

namespace blindfl::run {

namespace {

// Bars are for what matters: so many kinds of messages at most, and none of less than a hundredth of all bytes.
constexpr std::size_t kMostBars = 6;
constexpr double kLeastShare = 0.01;

double bytes_of(const net::StepTotals& totals) {
  return static_cast<double>(totals.sent.bytes) + static_cast<double>(totals.received.bytes);
}

net::Traffic sum(const std::vector<net::StepTotals>& steps, net::Traffic net::StepTotals::*direction) {
  net::Traffic all;
  for (const net::StepTotals& step : steps) {
    all.messages += (step.*direction).messages;
    all.bytes += (step.*direction).bytes;
  }
  return all;
}

/// The largest first.
std::vector<net::StepTotals> by_size(std::vector<net::StepTotals> traffic) {
  std::ranges::stable_sort(traffic, std::greater<>(), bytes_of);
  return traffic;
}

/// How many of them get bars; at least one that has any bytes.
std::size_t bars_for(const std::vector<net::StepTotals>& traffic) {
  double all = 0;
  for (const net::StepTotals& totals : traffic) all += bytes_of(totals);
  std::size_t bars = 0;
  while (bars < traffic.size() && bars < kMostBars && bytes_of(traffic[bars]) >= kLeastShare * all) ++bars;
  // One more takes no more room than the words that there is one more.
  return bars + 1 == traffic.size() ? traffic.size() : bars;
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

void write_table(Markup& out, const std::vector<net::StepTotals>& traffic, std::uint64_t steps) {
  std::vector<std::string_view> headings = {"message",    "protection", "sent",
                                            "bytes sent", "received",   "bytes received"};
  if (steps > 0) headings.emplace_back("per training step");
  Table table(out, 2, headings);
  for (const net::StepTotals& totals : traffic) {
    const net::StepInfo& step = net::describe(totals.step);
    table.row(traffic_cells(step.name, net::name_of(step.protection), totals.sent, totals.received, steps));
  }
  table.row(
      traffic_cells("all", "", sum(traffic, &net::StepTotals::sent), sum(traffic, &net::StepTotals::received), steps),
      "sum");
  table.end();
}

BarChart bars_of(std::string title, std::span<const net::StepTotals> traffic) {
  BarChart chart{.title = std::move(title), .series = {"sent", "received"}, .rows = {}};
  for (const net::StepTotals& totals : traffic) {
    const auto sent = static_cast<double>(totals.sent.bytes);
    const auto received = static_cast<double>(totals.received.bytes);
    chart.rows.push_back(
        {std::string(net::describe(totals.step).name), {{sent, bytes_text(sent)}, {received, bytes_text(received)}}});
  }
  return chart;
}

void write_words(Markup& out, const std::vector<net::StepTotals>& traffic) {
  Table words(out, 3, {"message", "contains", "tells"});
  for (const net::StepTotals& totals : traffic) {
    const net::StepInfo& step = net::describe(totals.step);
    words.row({std::string(step.name), std::string(step.contains), std::string(step.reveals)});
  }
  words.end();
}

}  // namespace

void write_traffic(Markup& out, const RunReport& report) {
  if (report.traffic.empty()) return;
  const std::vector<net::StepTotals> traffic = by_size(report.traffic);
  const auto shown = std::span(traffic).first(bars_for(traffic));
  const auto rest = std::span(traffic).subspan(shown.size());
  out.element("h2", "What crossed the link");
  figure(out, bars_of("Bytes by kind of message", shown));
  if (!rest.empty()) {
    double bytes = 0;
    for (const net::StepTotals& totals : rest) bytes += bytes_of(totals);
    out.open("details").element("summary", "other: " + counted(rest.size(), "kind") + ", " + bytes_text(bytes));
    figure(out, bars_of("Bytes by kind of message, to another scale", rest));
    out.close();
  }
  out.open("details").element("summary", "All " + counted(traffic.size(), "kind") + " of messages in numbers");
  write_table(out, traffic, report.summary.steps);
  out.close();
  out.open("details").element("summary", "What these messages contain, and what they tell their receiver");
  write_words(out, traffic);
  out.close();
}

}  // namespace blindfl::run

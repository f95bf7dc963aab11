#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "blindfl/base/error.h"
#include "blindfl/base/number_text.h"
#include "blindfl/run/report_parts.h"

namespace blindfl::run {

namespace {

constexpr std::string_view kTrainSet = "train";
constexpr std::string_view kValidationSet = "validation";
constexpr std::string_view kLoss = "loss";
constexpr std::string_view kLogLoss = "log_loss";
// A line of fewer points is not smoothed; each point becomes the mean of a tenth of the line.
constexpr std::size_t kFewPoints = 20;
constexpr std::size_t kSmoothedParts = 20;
constexpr std::size_t kMostMarkers = 60;
constexpr std::size_t kHistogramBins = 30;
// More classes than this are not told apart on paper: the rarest are counted together.
constexpr std::size_t kMostClasses = 15;

bool is_work(const MeasureCurve& curve) {
  return std::ranges::find(work_measures(), curve.name) != work_measures().end();
}

/// The one value of a curve: there is but one, or it never changes.
std::optional<double> single_value(const MeasureCurve& curve) {
  constexpr double kAlike = 1e-3;
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  double last = 0;
  std::size_t finite = 0;
  for (const ChartPoint& point : curve.points) {
    if (!std::isfinite(point.y)) continue;
    ++finite;
    last = point.y;
    low = std::min(low, point.y);
    high = std::max(high, point.y);
  }
  if (finite == 0) return std::nullopt;
  const bool constant = is_work(curve) && high - low <= kAlike * std::abs(high);
  return finite == 1 || constant ? std::optional(last) : std::nullopt;
}

/// Whether there is nothing to see in a chart: no line has two values.
bool is_single(const std::vector<const MeasureCurve*>& curves) {
  return std::ranges::all_of(curves, [](const MeasureCurve* curve) {
    return single_value(*curve).has_value() ||
           std::ranges::none_of(curve->points, [](const ChartPoint& point) { return std::isfinite(point.y); });
  });
}

/// Curves that are drawn together: those of one measure, or of what is sent and what is received.
struct CurveGroup {
  std::string name;
  std::vector<const MeasureCurve*> curves;
};

bool has_curve(const RunReport& report, std::string_view set, std::string_view name) {
  return std::ranges::any_of(report.curves,
                             [&](const MeasureCurve& curve) { return curve.set == set && curve.name == name; });
}

/// Training measures the loss; where validation has none of that name, the log-loss is the same of other rows.
std::string group_name(const RunReport& report, const MeasureCurve& curve) {
  if (curve.name == kLogLoss && has_curve(report, kTrainSet, kLoss) && !has_curve(report, curve.set, kLoss)) {
    return std::string(kLoss);
  }
  if (curve.name == "bytes_sent" || curve.name == "bytes_received") return "bytes";
  return curve.name;
}

std::vector<CurveGroup> groups_of(const RunReport& report, bool of_work) {
  std::vector<CurveGroup> groups;
  for (const MeasureCurve& curve : report.curves) {
    if (is_work(curve) != of_work) continue;
    const std::string name = group_name(report, curve);
    auto group = std::ranges::find(groups, name, &CurveGroup::name);
    if (group == groups.end()) group = groups.insert(group, {name, {}});
    group->curves.push_back(&curve);
  }
  return groups;
}

std::size_t colour_of(const MeasureCurve& curve) {
  if (curve.set == kTrainSet) return curve.name == "bytes_received" ? 1 : 0;
  if (curve.set == kValidationSet) return 1;
  return curve.set == kTestSet ? 2 : 3;
}

std::string line_name(const CurveGroup& group, const MeasureCurve& curve) {
  if (group.name == "bytes") return curve.name == "bytes_sent" ? "sent" : "received";
  return curve.name == group.name ? curve.set : curve.set + " (" + words_for(curve.name) + ")";
}

void add_lines(LineChart& chart, const CurveGroup& group, const MeasureCurve& curve, const RunReport& report) {
  ChartLine line{line_name(group, curve), curve.points, LineStyle::kLine, colour_of(curve)};
  if (curve.set == kTestSet) {
    line.style = LineStyle::kDots;
    // The model that was tested is that of the best epoch.
    if (report.summary.best) {
      for (ChartPoint& point : line.points) point.x = static_cast<double>(report.summary.best->step);
    }
  } else if (curve.set != kTrainSet && curve.points.size() <= kMostMarkers) {
    line.style = LineStyle::kMarked;
  } else if (curve.points.size() > kFewPoints) {
    line.points = thinned(curve.points, kMostChartPoints);
    chart.lines.push_back({"", line.points, LineStyle::kBehind, line.colour});
    line.points = smoothed(line.points, line.points.size() / kSmoothedParts);
  }
  chart.lines.push_back(std::move(line));
}

LineChart chart_of(const CurveGroup& group, const RunReport& report) {
  LineChart chart{.title = words_for(group.name), .x_label = "step", .lines = {}};
  chart.y_unit = group.name == "bytes" ? Unit::kBytes : unit_of(group.name);
  if (group.name == "bytes") chart.title = "bytes per log line";
  for (const MeasureCurve* curve : group.curves) add_lines(chart, group, *curve, report);
  const bool judged = std::ranges::any_of(group.curves, [](const MeasureCurve* c) { return c->set != kTrainSet; });
  if (report.summary.best && judged) {
    chart.mark = ChartMark{static_cast<double>(report.summary.best->step),
                           "best: epoch " + count_text(report.summary.best->epoch)};
  }
  return chart;
}

/// Returns how many charts there are.
std::size_t write_charts(Markup& out, const std::vector<CurveGroup>& groups, const RunReport& report) {
  std::size_t charts = 0;
  for (const CurveGroup& group : groups) {
    if (is_single(group.curves)) continue;
    figure(out, chart_of(group, report));
    ++charts;
  }
  return charts;
}

void say_what_is_smoothed(Markup& out, const RunReport& report, bool of_work) {
  std::size_t longest = 0;
  for (const MeasureCurve& curve : report.curves) {
    if (is_work(curve) == of_work) longest = std::max(longest, curve.points.size());
  }
  if (longest <= kFewPoints) return;
  std::string words = "Lines are smoothed: moving means, with what was measured behind in a lighter colour.";
  if (longest > kMostChartPoints) {
    const std::size_t each = (longest + kMostChartPoints - 1) / kMostChartPoints;
    words += " A line of many points is drawn with means of up to " + counted(each, "point") + " each.";
  }
  out.element("p", words, {{"class", "note"}});
}

void write_roc(Markup& out, const RunReport& report) {
  if (report.roc.empty()) return;
  LineChart chart{.title = "ROC: true positive rate (TPR) by false positive rate (FPR)",
                  .x_label = "FPR: negatives taken for positive",
                  .lines = {{"ROC", {}}},
                  .unit_square = true};
  for (const RocPoint& p : report.roc) {
    chart.lines.front().points.push_back({p.false_positive_rate, p.true_positive_rate});
  }
  figure(out, chart);
}

void write_calibration(Markup& out, const RunReport& report) {
  if (report.calibration.empty()) return;
  LineChart chart{.title = "Calibration: share of positives by predicted probability",
                  .x_label = "predicted probability",
                  .lines = {{"calibration", {}, LineStyle::kMarked}},
                  .unit_square = true};
  for (const CalibrationBin& bin : report.calibration) {
    chart.lines.front().points.push_back({bin.predicted, bin.observed});
  }
  figure(out, chart);
}

void write_regression(Markup& out, const PredictedActual& rows) {
  if (rows.actual.empty()) return;
  LineChart chart{.title = "Predicted by actual",
                  .x_label = "actual",
                  .lines = {{"rows", {}, LineStyle::kDots}},
                  .equal_axes = true};
  std::vector<double> residuals;
  residuals.reserve(rows.actual.size());
  for (std::size_t i = 0; i < rows.actual.size(); ++i) {
    chart.lines.front().points.push_back({rows.actual[i], rows.predicted[i]});
    residuals.push_back(rows.predicted[i] - rows.actual[i]);
  }
  const std::size_t points = chart.lines.front().points.size();
  if (points > kMostChartDots) {
    chart.x_label = "actual (" + count_text(kMostChartDots) + " of " + counted(points, "row") + ")";
  }
  figure(out, chart);
  Histogram histogram = histogram_of(std::move(residuals), kHistogramBins);
  histogram.title = "Residuals: how many rows";
  histogram.x_label = "predicted - actual";
  figure(out, histogram);
}

/// The most frequent classes, and the others as one.
ConfusionMatrix without_rare(const ConfusionMatrix& all) {
  const std::size_t count = all.classes.size();
  if (count <= kMostClasses) return all;
  std::vector<double> rows(count, 0);
  for (std::size_t i = 0; i < all.counts.size(); ++i) rows[i / count] += all.counts[i];
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return rows[i]; });
  order.resize(kMostClasses - 1);
  std::ranges::sort(order);
  std::vector<std::size_t> place(count, kMostClasses - 1);
  ConfusionMatrix few;
  for (const std::size_t i : order) {
    place[i] = few.classes.size();
    few.classes.push_back(all.classes[i]);
  }
  few.classes.push_back(counted(count - order.size(), "other"));
  few.counts.assign(kMostClasses * kMostClasses, 0);
  for (std::size_t i = 0; i < all.counts.size(); ++i) {
    few.counts[place[i / count] * kMostClasses + place[i % count]] += all.counts[i];
  }
  return few;
}

/// How dark a cell is, by its share of a row: 0 to 10.
std::string heat_class(double count, double row, bool right) {
  const double share = row > 0 ? count / row : 0;
  const auto level = static_cast<int>(std::ceil(share * 10 - 1e-9));
  return (right ? "heat right h" : "heat wrong h") + std::to_string(level);
}

/// Rows as numbers of rows; weights with a few digits.
std::string weight_text(double weight) {
  const bool whole = weight >= 0 && weight < 1e15 && weight == std::floor(weight);
  return whole ? count_text(static_cast<std::uint64_t>(weight)) : decimal_text(weight);
}

void write_class_row(Markup& out, const ConfusionMatrix& classes, std::size_t row) {
  const std::size_t count = classes.classes.size();
  const auto first = classes.counts.begin() + static_cast<std::ptrdiff_t>(row * count);
  const double all = std::accumulate(first, first + static_cast<std::ptrdiff_t>(count), 0.0);
  out.open("tr").element("th", classes.classes[row], {{"scope", "row"}});
  for (std::size_t i = 0; i < count; ++i) {
    const double cell = classes.counts[row * count + i];
    out.element("td", weight_text(cell), {{"class", heat_class(cell, all, i == row)}});
  }
  const double right = classes.counts[row * count + row];
  out.element("td", all > 0 ? fixed_text(100 * right / all, 1) + "%" : "-", {{"class", "n"}});
  out.close();
}

}  // namespace

void write_classes(Markup& out, const ConfusionMatrix& all) {
  if (all.empty()) return;
  const ConfusionMatrix classes = without_rare(all);
  out.open("figure", {{"class", "wide"}}).element("figcaption", "Confusion matrix: rows by actual and predicted class");
  out.open("div", {{"class", "scroll"}}).open("table", {{"class", "confusion"}}).open("thead").open("tr");
  out.element("th", "actual \\ predicted", {{"scope", "col"}});
  for (const std::string& name : classes.classes) out.element("th", name, {{"class", "n"}, {"scope", "col"}});
  out.element("th", "recall", {{"class", "n"}, {"scope", "col"}}).close().close().open("tbody");
  for (std::size_t row = 0; row < classes.classes.size(); ++row) write_class_row(out, classes, row);
  out.close().close().close().close();
}

void write_quality(Markup& out, const RunReport& report) {
  const std::vector<CurveGroup> groups = groups_of(report, false);
  const bool any_chart = std::ranges::any_of(groups, [](const CurveGroup& g) { return !is_single(g.curves); });
  if (!any_chart && report.roc.empty() && report.calibration.empty() && report.classes.empty() &&
      report.regression.actual.empty()) {
    return;
  }
  out.element("h2", "How good the model is");
  out.open("div", {{"class", "grid2"}});
  if (any_chart) write_charts(out, groups, report);
  write_roc(out, report);
  write_calibration(out, report);
  write_regression(out, report.regression);
  out.close();
  if (any_chart) say_what_is_smoothed(out, report, false);
  write_classes(out, report.classes);
}

void write_work(Markup& out, const RunReport& report) {
  const std::vector<CurveGroup> groups = groups_of(report, true);
  if (std::ranges::all_of(groups, [](const CurveGroup& g) { return is_single(g.curves); })) return;
  out.element("h2", "How the work went");
  out.open("div", {{"class", "grid2"}});
  write_charts(out, groups, report);
  out.close();
  say_what_is_smoothed(out, report, true);
}

void write_single_values(Markup& out, const RunReport& report) {
  for (const bool of_work : {false, true}) {
    for (const CurveGroup& group : groups_of(report, of_work)) {
      if (!is_single(group.curves)) continue;
      for (const MeasureCurve* curve : group.curves) {
        const std::optional<double> value = single_value(*curve);
        const bool is_result =
            curve->set == kTestSet &&
            std::ranges::find(report.summary.results, curve->name, &Measure::name) != report.summary.results.end();
        if (!value || is_result) continue;
        const std::string set = of_work ? "" : curve->set + " ";
        tile(out, set + words_for(curve->name), value_text(curve->name, *value));
      }
    }
  }
}

}  // namespace blindfl::run

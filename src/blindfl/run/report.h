#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "blindfl/net/ledger/ledger_file.h"
#include "blindfl/run/chart.h"
#include "blindfl/run/confusion.h"
#include "blindfl/run/disclosure.h"
#include "blindfl/run/metrics.h"
#include "blindfl/run/metrics_log.h"
#include "blindfl/run/summary.h"

// `report.html`: a run on one page that needs nothing else, for people. It shows on a phone and on paper, light and
// dark, runs no script and loads nothing.

namespace blindfl::run {

/// A line about the run, as in "batch size" and "128".
struct ReportFact {
  std::string name;
  std::string value;
};

/// One measure of one set of rows, by step.
struct MeasureCurve {
  std::string set;   ///< as in "train"
  std::string name;  ///< as in "loss"
  std::vector<ChartPoint> points;
};

struct PhaseTime {
  std::string name;  ///< as in "waiting for the peer"
  double seconds = 0;
};

/// Predictions of a regression beside what they should have been, at B.
struct PredictedActual {
  std::vector<double> predicted = {};
  std::vector<double> actual = {};
};

/// One way to run a part of a layer that the planner weighed.
struct PlanFact {
  std::string layer;
  std::string features;  ///< "A's 300 features"
  std::string way;       ///< "exchanged over lattice"
  double seconds = 0;    ///< a step
  double bytes = 0;      ///< a step
  bool chosen = false;
  std::string refused = {};  ///< why it is not possible
};

/// What the planner expected of the run, and what it took.
struct CostComparison {
  std::string what;
  double predicted = 0;
  double measured = 0;
  Unit unit = Unit::kBytes;
};

/// All that a report shows. What is empty is left out.
struct RunReport {
  RunSummary summary{};                          ///< whose run it was, how it ended, and its results
  std::string model_name = {};                   ///< for the title: "Logistic regression"; else the summary's
  std::vector<ReportFact> facts = {};            ///< shapes, options
  std::vector<PlanFact> plan = {};               ///< what the planner weighed and chose
  std::vector<MeasureCurve> curves = {};         ///< at A measures of the work alone
  std::vector<RocPoint> roc = {};                ///< at B only
  std::vector<CalibrationBin> calibration = {};  ///< at B only
  ConfusionMatrix classes{};                     ///< at B only, of any number of classes
  PredictedActual regression{};                  ///< at B only
  std::vector<net::StepTotals> traffic = {};     ///< of the ledger: see net::audit
  std::vector<PhaseTime> phases = {};
  std::vector<CostComparison> costs = {};
  DisclosureFacts model{};  ///< for the words on who learned what
};

/// Curves of what a run measured, one for each set and name, in the order in which they first appear.
[[nodiscard]] std::vector<MeasureCurve> curves_of(const MetricsFile& metrics);

/// The whole page, well-formed as HTML and as XML. All texts of the report are escaped.
/// Throws InvalidArgument if the report is A's and holds anything that may tell of labels or scores: ROC, calibration,
/// classes, predictions, a baseline, or a result or curve that is not one of `work_measures()`; or if counts of classes
/// or predictions do not fit together.
[[nodiscard]] std::string report_html(const RunReport& report);

}  // namespace blindfl::run

#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "blindfl/run/report.h"
#include "testing/steps.h"

// Reports as runs leave them, of every kind of model and of both parties, for tests that look at whole pages.

namespace blindfl::testing {

/// Numbers between 0 and 1 that look like chance and are the same every time.
class Wobble {
 public:
  double next() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<double>(state_ >> 11) * 0x1p-53;
  }

 private:
  std::uint64_t state_ = 2026;
};

/// What reports of both parties have: summary, curves of the work, traffic, times, the plan.
inline run::RunReport sample_of(Party party, std::string model, double scale) {
  run::RunReport report;
  report.model_name = std::move(model);
  report.summary = {.party = party,
                    .run = "3f6a0c1db27e4a58",
                    .release = "0.9.0",
                    .model = "lr",
                    .state = run::RunState::kFinished,
                    .started = std::chrono::sys_seconds(std::chrono::seconds(1794753005)),
                    .ended = std::chrono::sys_seconds(std::chrono::seconds(1794756605)),
                    .steps = 2400,
                    .epochs = 10,
                    .seconds = 3580,
                    .sent = {.messages = 9600, .bytes = 6'650'000'000},
                    .received = {.messages = 9500, .bytes = 812'000'000}};
  report.facts = {{"this party's features", "40 numeric features, 6 categorical fields"},
                  {"the peer's features", "300 numeric features"},
                  {"rows", "307,511"},
                  {"batch size", "128"}};
  report.plan = {{"source", "A's 300 features", "exchanged over lattice", 0.0123, 1.5e6, true},
                 {"source", "A's 300 features", "exchanged over paillier", 0.35, 2.1e5, false},
                 {"source", "A's 300 features", "encrypted updates over paillier", 0, 0, false,
                  "layer 'source': updates under encryption need the most steps that will be taken (sgd.steps)"}};
  Wobble wobble;
  run::MeasureCurve rows{"train", "rows_per_second", {}};
  run::MeasureCurve sent{"train", "bytes_sent", {}};
  run::MeasureCurve received{"train", "bytes_received", {}};
  run::MeasureCurve time{"train", "seconds_per_step", {}};
  run::MeasureCurve rate{"train", "learning_rate", {}};
  for (int step = 6; step <= 2400; step += 6) {
    rows.points.push_back({static_cast<double>(step), 5000 + 900 * wobble.next()});
    sent.points.push_back({static_cast<double>(step), scale * (1 + 0.1 * wobble.next())});
    received.points.push_back({static_cast<double>(step), scale * (0.4 + 0.1 * wobble.next())});
    time.points.push_back({static_cast<double>(step), 0.021 + 0.01 * wobble.next()});
    rate.points.push_back({static_cast<double>(step), 0.05});
  }
  report.curves = {rows, sent, received, time, rate};
  std::uint64_t bytes = 4'200'000'000;
  for (const net::Step& step : program_steps().steps()) {
    report.traffic.push_back({step, {.messages = 2400, .bytes = bytes}, {.messages = 2400, .bytes = bytes / 3}});
    bytes = bytes * 2 / 5;
  }
  report.phases = {{"reading, meeting, aligning", 63.2},
                   {"training: private products", 1892},
                   {"training: top layers, optimizer, batches, logs", 0.0421},
                   {"training: waiting for the peer", 1560},
                   {"training: handing over to the link", 64}};
  report.costs = {{"training", 3100, 3480, Unit::kSeconds}, {"sent in a step", 2.77e6, 2.771e6, Unit::kBytes}};
  report.model = {.numeric = true, .categorical = true, .matching = run::Matching::kIntersection, .stops_early = true};
  return report;
}

/// Adds a loss and a metric as validation and test leave them.
inline void add_quality(run::RunReport& report, const std::string& metric, double best, double loss) {
  Wobble wobble;
  run::MeasureCurve train{"train", "loss", {}};
  for (int step = 6; step <= 2400; step += 6) {
    const double fallen = std::exp(-step / 500.0);
    train.points.push_back({static_cast<double>(step), loss * (0.6 + 0.4 * fallen + 0.3 * wobble.next())});
  }
  run::MeasureCurve held{"validation", "log_loss", {}};
  run::MeasureCurve value{"validation", metric, {}};
  for (int epoch = 1; epoch <= 10; ++epoch) {
    const double far = epoch / 10.0 - 0.7;
    held.points.push_back({epoch * 240.0, loss * (0.75 + far * far)});
    value.points.push_back({epoch * 240.0, best * (1 - far * far)});
  }
  report.curves.push_back(train);
  report.curves.push_back(held);
  report.curves.push_back(value);
  report.curves.push_back({"test", "log_loss", {{2400, loss * 0.8}}});
  report.curves.push_back({"test", metric, {{2400, best}}});
  report.curves.push_back({"validation", "ks", {{2400, 0.42}}});
  report.summary.best = {.step = 1680, .epoch = 7};
  report.summary.results = {{metric, best}, {"log_loss", loss * 0.8}};
  report.summary.baseline = {{metric, best * 0.9}};
}

inline run::RunReport sample_of_a() {
  return sample_of(Party::kA, "Logistic regression", 2.1e6);
}

inline run::RunReport sample_of_two_classes() {
  run::RunReport report = sample_of(Party::kB, "Logistic regression", 2.1e6);
  add_quality(report, "auc", 0.9123, 0.69);
  for (int i = 0; i <= 400; ++i) {
    const double x = i / 400.0;
    report.roc.push_back({1 - x, x, std::pow(x, 0.2)});
  }
  for (int i = 0; i < 10; ++i) report.calibration.push_back({0.05 + 0.1 * i, 0.03 + 0.098 * i, 100});
  report.classes = {{"no", "yes"}, {33'120, 2'041, 1'502, 4'870}};
  return report;
}

inline run::RunReport sample_of_many_classes(std::size_t count = 18) {
  run::RunReport report = sample_of(Party::kB, "Multinomial regression", 950);
  add_quality(report, "accuracy", 0.871, 2.3);
  for (std::size_t i = 0; i < count; ++i) report.classes.classes.push_back("class of number " + std::to_string(i));
  for (std::size_t row = 0; row < count; ++row) {
    const double right = 9000 - 300 * static_cast<double>(row);
    for (std::size_t column = 0; column < count; ++column) report.classes.counts.push_back(row == column ? right : 37);
  }
  return report;
}

inline run::RunReport sample_of_regression(double unit = 1, std::size_t rows = 5000) {
  run::RunReport report = sample_of(Party::kB, "Linear regression", 3.3e9);
  add_quality(report, "rmse", 0.31 * unit, 0.5 * unit * unit);
  Wobble wobble;
  for (std::size_t i = 0; i < rows; ++i) {
    const double actual = 10 * wobble.next() - 3;
    report.regression.actual.push_back(unit * actual);
    report.regression.predicted.push_back(unit * (actual + (wobble.next() + wobble.next() - 1) * 2));
  }
  return report;
}

/// All of them, by the name of their file.
inline std::vector<std::pair<std::string, run::RunReport>> sample_reports() {
  return {{"a.html", sample_of_a()},
          {"two_classes.html", sample_of_two_classes()},
          {"many_classes.html", sample_of_many_classes()},
          {"regression.html", sample_of_regression()},
          {"large_numbers.html", sample_of_regression(1.7e15)},
          {"small_numbers.html", sample_of_regression(3e-9, 40)}};
}

}  // namespace blindfl::testing
